package wizard

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// preflight is the look at everything before anything is touched, with what can be done about each finding.
type preflight struct {
	p     *Page
	stop  context.CancelFunc
	begun time.Time
	open  map[string]bool // causes whose nodes are shown one by one
	at    int             // of the rows
	page  int             // rows that a page is, as drawn last
	rows  []int           // the row of each line as drawn last, -1 for none
}

func newPreflight(p *Page) step { return &preflight{p: p, open: map[string]bool{}} }

func (f *preflight) typing() bool   { return false }
func (f *preflight) id() guide.Step { return guide.PreflightStep }
func (f *preflight) leave()         {}
func (f *preflight) wheel(n int)    { f.at += n }
func (f *preflight) scrolls() bool  { return len(f.p.g.Preflight.Findings) > 8 }

// checkNews is a Check of a run of preflight.
type checkNews struct {
	of string
	draft.Check
}

func (f *preflight) enter(*frame.Env) tea.Cmd {
	c := &f.p.g.Preflight
	if c.Of == f.p.g.Fingerprint() && (c.Busy || c.Ended && c.Fault == nil) {
		return nil
	}
	return f.look()
}

// look starts again.
func (f *preflight) look() tea.Cmd {
	if f.stop != nil {
		f.stop()
	}
	p := f.p
	f.begun, f.at = time.Time{}, 0
	if !p.g.StartPreflight() {
		return nil
	}
	var ctx context.Context
	ctx, f.stop = context.WithCancel(p.ctx)
	d, file, of := p.g.Draft.Clone(), p.g.Target(), p.g.Preflight.Of
	return tea.Batch(f.beat(), tells(ctx, func(tell func(tea.Msg)) {
		p.svc.Preflight(ctx, d, file, func(c draft.Check) { tell(checkNews{of, c}) })
	}))
}

// beatMsg moves what is waited for.
type beatMsg struct{ of string }

func (f *preflight) beat() tea.Cmd {
	if f.p.svc.Beat == nil || !f.p.g.Preflight.Busy {
		return nil
	}
	return tea.Tick(f.p.svc.Beat(), func(time.Time) tea.Msg { return beatMsg{f.p.g.Preflight.Of} })
}

func (f *preflight) update(m tea.Msg, e *frame.Env) tea.Cmd {
	if f.begun.IsZero() {
		f.begun = e.Now()
	}
	if b, is := m.(beatMsg); is {
		if b.of == f.p.g.Preflight.Of {
			return f.beat()
		}
		return nil
	}
	n, is := m.(checkNews)
	if !is || n.of != f.p.g.Preflight.Of {
		return nil
	}
	f.p.g.Preflight.Take(n.Check)
	return nil
}

func (f *preflight) typed(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }
func (f *preflight) paste(string, *frame.Env) tea.Cmd                  { return nil }
func (f *preflight) back(*frame.Env) bool                              { return false }

// toKeys goes to the machines, whose keys are shown there. Those that were refused are asked about again.
func (p *Page) toKeys(e *frame.Env) tea.Cmd {
	c, n := p.toStep(guide.MachinesStep, e), p.machines()
	if n == nil {
		return c
	}
	if asks := n.p.g.Asking(); len(asks) > 0 {
		return tea.Batch(c, n.askKeys(asks))
	}
	for _, m := range p.g.ForgetRefused() {
		n.followed[draft.MachineKey(m)] = true
	}
	return tea.Batch(c, p.probe(e, false))
}

// machines is the step of the machines; nil if there is none.
func (p *Page) machines() *nodes {
	for _, s := range p.steps {
		if n, is := s.(*nodes); is {
			return n
		}
	}
	return nil
}

// toProblem goes to the first step that has an error.
func (p *Page) toProblem(e *frame.Env) tea.Cmd {
	if t, some := p.g.FirstWrong(); some {
		return p.toStep(t, e)
	}
	return nil
}

// head says how far it is, or how it ended.
func (f *preflight) head(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	if f.p.g.Problems.HasErrors() {
		n, _ := f.p.g.Problems.Count()
		out := complaint(e, event.Error, e.P.T("wizard.preflight.invalid", "count", itoa(n)),
			e.P.T("wizard.preflight.invalid.next"), w)
		for _, p := range f.p.g.Problems {
			if p.Severity == event.Error && len(out) < 12 {
				text, _ := words(e, p)
				for _, l := range wrapped(event.Clean(p.Key)+": "+text, w-2) {
					out = append(out, "  "+t.Dim.Render(l))
				}
			}
		}
		return append(out, "")
	}
	total := len(f.p.g.Draft.Machines)
	errors, warnings := f.p.g.Preflight.Count(event.Error), f.p.g.Preflight.Count(event.Warning)
	done, linked := f.p.g.Preflight.Progress()
	line := new(widget.Line)
	switch {
	case f.p.g.Preflight.Busy:
		line.Add(t.Busy, g.Running+" "+e.P.T("wizard.preflight.busy", "done", itoa(done), "total",
			itoa(total), "linked", itoa(linked)))
		if f.p.svc.Beat != nil && !f.begun.IsZero() {
			line.Space(2).Add(t.Dim, report.Short(e.Now().Sub(f.begun)))
		}
	case f.p.g.Preflight.Fault != nil:
		text, next := faultWords(e, f.p.g.Preflight.Fault)
		return append(complaint(e, event.Error, text, next, w), "")
	case errors > 0:
		line.Add(t.Bad, g.Failed+" "+e.P.T("wizard.preflight.failed", "count", itoa(errors)))
	case f.p.g.Preflight.Ended:
		line.Add(t.Good, g.OK+" "+e.P.T("wizard.preflight.passed", "count", itoa(total)))
	}
	if warnings > 0 && !f.p.g.Preflight.Busy {
		line.Space(3).Add(t.Warn, g.Ignored+" "+e.P.T("wizard.warnings", "count", itoa(warnings)))
	}
	if place := f.place(e); place != "" && line.Width()+2+widget.Width(place) <= w {
		line.To(w-widget.Width(place)).Add(t.Dim, place)
	}
	out := []string{line.String()}
	if f.p.g.Preflight.Busy {
		part := 0.0
		if total > 0 {
			part = float64(done) / float64(total)
		}
		out = append(out, widget.Bar(t.BarFull, t.BarRest, g.BarFull, g.BarRest, min(w, 60), part))
		if r := f.p.g.Preflight.Reading; r.Total > 0 {
			out = append(out, t.Dim.Render(widget.Cut(e.P.T("wizard.preflight.bundle", "file", r.Bundle, "percent",
				itoa(int(r.Done*100/r.Total))), w, g.Cut)))
		}
	}
	return append(out, "")
}
