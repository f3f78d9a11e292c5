package wizard

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// How far a look at a machine is, in its row and counted. Green is only what was checked and has no error.

// stage is the glyph, the style and the words of how far a look is; wrong is how many errors the machine's settings
// have.
func stage(e *frame.Env, l *draft.Probe, wrong int) (string, widget.Ink, string) {
	t, g := e.Theme, e.Theme.Glyphs
	word := "wizard.look.none"
	switch {
	case wrong > 0:
		return g.Failed, t.Bad, e.P.T("wizard.errors", "count", itoa(wrong+l.Errors()))
	case l == nil:
		return g.Waiting, t.Idle, e.P.T(word)
	}
	switch l.Stage {
	case draft.Reaching:
		word = "wizard.look.reaching"
	case draft.LogIn:
		word = "wizard.look.login"
	case draft.Inspecting:
		word = "wizard.look.looking"
	case draft.Asking:
		return g.Ignored, t.Warn, e.P.T("wizard.look.asking")
	case draft.Failed:
		return g.Failed, t.Bad, e.P.T(draft.FailedWord(l.Fault))
	case draft.Seen:
		if n := l.Errors(); n > 0 {
			return g.Failed, t.Bad, e.P.T("wizard.errors", "count", itoa(n))
		}
		return g.OK, t.Good, e.P.T("wizard.look.seen")
	}
	return g.Running, t.Busy, e.P.T(word)
}

// tally is how many machines are in which state; none is in two of them. Those that failed are also counted by word.
type tally struct {
	failed, errors, asking, busy, ready, none int
	failedBy                                  map[string]int
}

// tally counts the machines that the wizard looks at.
func (n *nodes) tally() tally {
	c := tally{failedBy: map[string]int{}}
	wrong := map[int]bool{}
	for _, x := range n.p.g.Problems {
		if i := machineOf(x.Key); i >= 0 && x.Severity == event.Error {
			wrong[i] = true
		}
	}
	for i, m := range n.p.g.Draft.Machines {
		if n.p.g.Members[draft.MachineKey(m)] {
			continue
		}
		l := n.p.probed[draft.MachineKey(m)]
		switch {
		case l != nil && l.Stage == draft.Failed:
			c.failed++
			c.failedBy[draft.FailedWord(l.Fault)]++
		case wrong[i] || l.Errors() > 0:
			c.errors++
		case l == nil:
			c.none++
		case l.Stage == draft.Seen:
			c.ready++
		case l.Stage == draft.Asking:
			c.asking++
		default:
			c.busy++
		}
	}
	return c
}

// machineOf is the index of the machine that a problem is of, -1 if it is of none.
func machineOf(key string) int {
	rest, is := strings.CutPrefix(key, "machines[")
	number, _, end := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !is || !end || err != nil {
		return -1
	}
	return i
}

// standing implements stander: machines that fail or have errors, whether their settings are wrong or what was found on
// them.
func (n *nodes) standing() standing {
	if len(n.p.g.Draft.Machines) == 0 && n.p.steps[n.p.g.At] == step(n) {
		return standing{open: true} // the list has only just begun
	}
	c := n.tally()
	own := 0 // what is wrong with no machine by itself
	for _, x := range n.p.g.ProblemsOf(n.id()) {
		if x.Severity == event.Error && machineOf(x.Key) < 0 {
			own++
		}
	}
	return standing{errors: own + c.failed + c.errors, asks: c.asking, busy: c.busy > 0}
}

// summary counts.
func (n *nodes) summary(e *frame.Env, w int) string {
	t := e.Theme
	d := n.p.g.Draft
	c := n.tally()
	line := new(widget.Line).Add(t.Strong, e.P.T("wizard.nodes.count", "count", itoa(len(d.Machines))))
	roles := new(widget.Line)
	for i, r := range allRoles() {
		if k := len(d.With(r)); k > 0 {
			roles.Space(3).Add(t.Accent, string("MWEL"[i])+" "+itoa(k)).Space(1).Add(t.Dim, e.P.T("ui.role."+string(r)))
		}
	}
	states := new(widget.Line)
	type count struct {
		n     int
		glyph string
		st    widget.Ink
		word  string
	}
	var counts []count
	for _, word := range []string{draft.Unreachable, draft.AuthFailed, draft.NoPassword, draft.NoKey,
		draft.KeyRefused, draft.NoSudo} {
		counts = append(counts, count{c.failedBy[word], t.Glyphs.Failed, t.Bad, word})
	}
	for _, x := range append(counts,
		count{c.errors, t.Glyphs.Failed, t.Bad, "wizard.nodes.errors"},
		count{c.asking, t.Glyphs.Ignored, t.Warn, "wizard.look.asking"},
		count{c.busy, t.Glyphs.Running, t.Busy, "wizard.look.looking"},
		count{c.ready, t.Glyphs.OK, t.Good, "wizard.look.seen"}) {
		if x.n > 0 && n.p.svc.Probe != nil {
			states.Space(3).Add(x.st, x.glyph+" "+itoa(x.n)+" "+e.P.T(x.word))
		}
	}
	if line.Width()+roles.Width()+states.Width() <= w {
		// where there is no room for both, how the machines are is what counts
		line.Raw(roles.String())
	}
	line.Raw(states.String())
	on := 0
	for _, v := range n.marked {
		if v {
			on++
		}
	}
	if on > 0 {
		line.Space(3).Add(t.Accent, e.P.T("wizard.nodes.marked", "count", itoa(on)))
	}
	return widget.Cut(line.String(), w, t.Glyphs.Cut)
}
