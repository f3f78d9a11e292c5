package wizard

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// preflight is the look at everything before anything is touched, with what can be done about each finding.
type preflight struct {
	p        *Page
	stop     context.CancelFunc
	of       string // the deploy.yaml and the login that it was made with
	busy     bool
	ended    bool
	machines []string // that were looked at
	reading  Check    // the bundle that is read
	fault    *event.Fault
	findings []event.Finding
	at, top  int
	rows     []int
}

func newPreflight(p *Page) step { return &preflight{p: p} }

func (f *preflight) typing() bool     { return false }
func (f *preflight) id() string       { return "preflight" }
func (f *preflight) leave()           {}
func (f *preflight) owns(string) bool { return false }
func (f *preflight) wheel(n int)      { f.at += n }
func (f *preflight) scrolls() bool    { return len(f.findings) > 8 }

// checkNews is a Check of a run of preflight.
type checkNews struct {
	of string
	Check
}

func (f *preflight) enter(*frame.Env) tea.Cmd {
	if f.of == f.now() && (f.busy || f.ended && f.fault == nil) {
		return nil
	}
	return f.look()
}

func (f *preflight) now() string { return string(f.p.draft.YAML()) + loginText(f.p.draft) }

// look begins anew.
func (f *preflight) look() tea.Cmd {
	if f.stop != nil {
		f.stop()
	}
	p := f.p
	f.of, f.ended, f.fault, f.findings, f.machines, f.reading = f.now(), false, nil, nil, nil, Check{}
	if _, problems := p.draft.Check("deploy.yaml"); problems.HasErrors() {
		f.busy = false
		return nil
	}
	f.busy = true
	var ctx context.Context
	ctx, f.stop = context.WithCancel(p.ctx)
	d, file, of := p.draft.Clone(), p.target(), f.of
	return tells(ctx, func(tell func(tea.Msg)) {
		p.svc.Preflight(ctx, d, file, func(c Check) { tell(checkNews{of, c}) })
	})
}

func (f *preflight) update(m tea.Msg, _ *frame.Env) tea.Cmd {
	n, is := m.(checkNews)
	if !is || n.of != f.of {
		return nil
	}
	switch {
	case n.Finding != nil:
		f.findings = append(f.findings, *n.Finding)
		slices.SortStableFunc(f.findings, func(a, b event.Finding) int { return strings.Compare(string(a.Severity), string(b.Severity)) })
	case n.Machine != "" && !slices.Contains(f.machines, n.Machine):
		f.machines = append(f.machines, n.Machine)
	case n.Bundle != "":
		f.reading = n.Check
	}
	if n.Fault != nil {
		f.fault = n.Fault
	}
	if n.End {
		f.busy, f.ended, f.reading = false, true, Check{}
	}
	return nil
}

// passed says whether preflight of the draft as it is now found no error.
func (f *preflight) passed() bool {
	return f.ended && f.fault == nil && f.of == f.now() && !slices.ContainsFunc(f.findings, func(x event.Finding) bool { return x.Severity == event.Error })
}

// standing implements stander. What is wrong with the draft is told at the steps that it is of.
func (f *preflight) standing() standing {
	if f.p.problems.HasErrors() || f.of != f.now() {
		return standing{open: true}
	}
	errors := f.count(event.Error)
	if f.fault != nil {
		errors++
	}
	return standing{errors: errors, busy: f.busy, open: !f.ended}
}

// count is how many findings are of a severity.
func (f *preflight) count(sev event.Severity) int {
	n := 0
	for _, x := range f.findings {
		if x.Severity == sev {
			n++
		}
	}
	return n
}

func (f *preflight) typed(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }
func (f *preflight) paste(string, *frame.Env) tea.Cmd                  { return nil }
func (f *preflight) back(*frame.Env) bool                              { return false }

func (f *preflight) click(_, y int, _ *frame.Env) tea.Cmd {
	if y >= 0 && y < len(f.rows) && f.rows[y] >= 0 {
		f.at = f.rows[y]
	}
	return nil
}

// mend is what the wizard can do about a finding: the word for it, and the doing.
func (f *preflight) mend(x event.Finding, e *frame.Env) (word string, do func() tea.Cmd) {
	p := f.p
	word, change, to := Mend(&p.draft, x)
	switch {
	case change != nil:
		return word, func() tea.Cmd {
			p.snapshot()
			change()
			p.snapshot()
			return tea.Batch(p.changed(), p.save(), f.look())
		}
	case x.Fault.Code == "ssh.hostkey-unknown":
		return "wizard.key.keys", func() tea.Cmd { return p.toKeys(e) }
	case to != "":
		return word, func() tea.Cmd { return p.toStep(to, e) }
	}
	return "", nil
}

func (f *preflight) chosen() (event.Finding, bool) {
	f.at = min(max(f.at, 0), max(0, len(f.findings)-1))
	if len(f.findings) == 0 {
		return event.Finding{}, false
	}
	return f.findings[f.at], true
}

func (f *preflight) keys(e *frame.Env) []frame.Binding {
	var list []frame.Binding
	if _, problems := f.p.problems.Count(); f.p.problems.HasErrors() && problems >= 0 {
		list = append(list, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.to-problem", Do: func() tea.Cmd { return f.p.toProblem(e) }})
	} else if f.fault != nil && (f.fault.Class == event.ClassAuth || f.fault.Code == "usage.secret") {
		list = append(list, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.mend.login", Do: func() tea.Cmd { return f.p.toStep("login", e) }})
	} else if x, ok := f.chosen(); ok && !f.passed() {
		word, do := f.mend(x, e)
		if do == nil { // it is mended on the machine itself
			word, do = "wizard.key.again", f.look
		}
		list = append(list, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: word, Do: do})
		if x.Host != "" && len(f.p.draft.Machines) > 1 {
			list = append(list, frame.Binding{Keys: []string{"x"}, Word: "wizard.mend.without", Do: func() tea.Cmd { return f.without(x.Host) }})
		}
	} else {
		list = append(list, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.on", Do: func() tea.Cmd { return f.p.next(e) }})
	}
	return append(list,
		frame.Binding{Keys: []string{"r"}, Word: "wizard.key.again", Do: f.look},
		frame.Binding{Keys: []string{"u"}, Word: "wizard.key.undo", Do: func() tea.Cmd { return tea.Batch(f.p.undo(e), f.look()) }},
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "wizard.key.move", Do: func() tea.Cmd { f.at--; return nil }, Help: true},
		frame.Binding{Keys: []string{"down", "j"}, Do: func() tea.Cmd { f.at++; return nil }, Help: true},
		frame.Binding{Keys: []string{"pgup"}, Do: func() tea.Cmd { f.at -= 10; return nil }, Help: true},
		frame.Binding{Keys: []string{"pgdown"}, Do: func() tea.Cmd { f.at += 10; return nil }, Help: true})
}

// without leaves a machine out.
func (f *preflight) without(name string) tea.Cmd {
	p := f.p
	p.snapshot()
	for i, m := range p.draft.Machines {
		if m.Name == name {
			p.draft.Machines = slices.Delete(p.draft.Machines, i, i+1)
			break
		}
	}
	p.snapshot()
	return tea.Batch(p.changed(), p.save(), f.look())
}

// toKeys goes to the machines, whose keys are shown there.
func (p *Page) toKeys(e *frame.Env) tea.Cmd {
	c := p.toStep("nodes", e)
	for _, s := range p.steps {
		if n, is := s.(*nodes); is {
			if asks := n.asking(); len(asks) > 0 {
				return tea.Batch(c, n.askKeys(asks))
			}
		}
	}
	return c
}

// toProblem goes to the first step that has an error.
func (p *Page) toProblem(e *frame.Env) tea.Cmd {
	for i, s := range p.steps {
		if p.problemsOf(s).HasErrors() {
			return p.goTo(i, e)
		}
	}
	return nil
}

func (f *preflight) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	out := f.head(e, w)
	f.rows = nil
	for range out {
		f.rows = append(f.rows, -1)
	}
	f.chosen()
	first, last := len(out), len(out)
	apart := len(out)+4*len(f.findings) <= h // there is room for a blank line between them
	for i, x := range f.findings {
		if apart && i > 0 {
			out, f.rows = append(out, ""), append(f.rows, -1)
		}
		text, next := e.P.Fault(&x.Fault)
		pointer := " "
		if i == f.at {
			first, pointer = len(out), t.Chosen.Render(g.Pointer)
		}
		lines := complaint(e, x.Severity, event.Clean(text), event.Clean(next), w-2)
		if i == f.at {
			if word, do := f.mend(x, e); do != nil {
				lines = append(lines, "    "+new(widget.Line).Add(t.Key, "Enter").Space(1).Add(t.KeyWord, e.P.T(word)).String())
			}
		}
		for k, l := range lines {
			lead := " "
			if k == 0 || i == f.at {
				lead = pointer
			}
			out, f.rows = append(out, lead+" "+l), append(f.rows, i)
		}
		if i == f.at {
			last = len(out)
		}
	}
	f.top = 0
	if last > h {
		f.top = min(first, last-h)
	}
	f.rows = f.rows[f.top:]
	return out[f.top:], nil
}

// head says how far it is, or how it ended.
func (f *preflight) head(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	if f.p.problems.HasErrors() {
		n, _ := f.p.problems.Count()
		out := complaint(e, event.Error, e.P.T("wizard.preflight.invalid", "count", itoa(n)), e.P.T("wizard.preflight.invalid.next"), w)
		for _, p := range f.p.problems {
			if p.Severity == event.Error && len(out) < 12 {
				text, _ := words(e, p)
				out = append(out, "  "+t.Dim.Render(widget.Cut(event.Clean(p.Key)+": "+text, w-2, g.Cut)))
			}
		}
		return append(out, "")
	}
	total := len(f.p.draft.Machines)
	errors, warnings := f.count(event.Error), f.count(event.Warning)
	line := new(widget.Line)
	switch {
	case f.busy:
		line.Add(t.Busy, g.Running+" "+e.P.T("wizard.preflight.busy", "done", itoa(len(f.machines)), "total", itoa(total)))
	case f.fault != nil:
		text, next := faultWords(e, f.fault)
		return append(complaint(e, event.Error, text, next, w), "")
	case errors > 0:
		line.Add(t.Bad, g.Failed+" "+e.P.T("wizard.preflight.failed", "count", itoa(errors)))
	case f.ended:
		line.Add(t.Good, g.OK+" "+e.P.T("wizard.preflight.passed", "count", itoa(total)))
	}
	if warnings > 0 && !f.busy {
		line.Space(3).Add(t.Warn, g.Ignored+" "+e.P.T("wizard.warnings", "count", itoa(warnings)))
	}
	out := []string{line.String()}
	if f.busy {
		part := 0.0
		if total > 0 {
			part = float64(len(f.machines)) / float64(total)
		}
		out = append(out, widget.Bar(t.BarFull, t.BarRest, g.BarFull, g.BarRest, min(w, 60), part))
		if r := f.reading; r.Total > 0 {
			out = append(out, t.Dim.Render(widget.Cut(e.P.T("wizard.preflight.bundle", "file", r.Bundle, "percent", itoa(int(r.Done*100/r.Total))), w, g.Cut)))
		}
	}
	return append(out, "")
}
