package wizard

import (
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// tone returns the glyph and the style of a state.
func tone(e *frame.Env, x guide.Tone) (string, widget.Ink) {
	t, g := e.Theme, e.Theme.Glyphs
	switch x {
	case guide.Good:
		return g.OK, t.Good
	case guide.Warn:
		return g.Ignored, t.Warn
	case guide.Bad:
		return g.Failed, t.Bad
	case guide.Busy:
		return g.Running, t.Busy
	case guide.Current:
		return g.Running, t.Chosen
	case guide.Idle:
		return g.Waiting, t.Idle
	case guide.Accent:
		return "", t.Accent
	}
	return "", ""
}

// summary counts.
func (n *nodes) summary(e *frame.Env, w int) string {
	t := e.Theme
	d := n.p.g.Draft
	line := new(widget.Line).Add(t.Strong, e.P.T("wizard.nodes.count", "count", itoa(len(d.Machines))))
	roles := new(widget.Line)
	for _, r := range guide.Roles() {
		if k := len(d.With(r)); k > 0 {
			roles.Space(3).Add(t.Accent, guide.RoleLetter(r)+" "+itoa(k)).Space(1).Add(t.Dim,
				e.P.T("ui.role."+string(r)))
		}
	}
	states := new(widget.Line)
	for _, x := range n.p.g.Tally().Counts() {
		glyph, st := tone(e, x.Tone)
		states.Space(3).Add(st, glyph+" "+itoa(x.N)+" "+e.P.T(x.Word))
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
