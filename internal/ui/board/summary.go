package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Summary is what is left of a run when it has ended: on the screen until the person leaves, and in the scrollback
// after.
type Summary struct {
	P     *i18n.Printer
	Theme *theme.Theme
	// LogPath is where the log of a machine is kept; nil: nobody knows.
	LogPath func(host string) string
}

// summaryMost is how wide a summary gets: what stands in one line is to be seen as one.
const summaryMost = 120

// Lines are the summary in lines of at most w cells, as many as it takes.
func (x Summary) Lines(s *state.State, w int) []string {
	w = min(w, summaryMost)
	return x.parts(s, w, x.failed(s, w), x.nodes(s, w), x.times(s, w), x.next(s, w))
}

// Screen are the same lines for a screen of h of them: where they do not all fit, what is to be done next comes before
// what can wait.
func (x Summary) Screen(s *state.State, w, h int) []string {
	if all := x.Lines(s, w); len(all) <= h+1 {
		return all
	}
	w = min(w, summaryMost)
	return x.parts(s, w, x.failed(s, w), x.next(s, w), x.nodes(s, w), x.times(s, w))
}

func (x Summary) parts(s *state.State, w int, parts ...[]string) []string {
	out := append([]string{}, x.title(s, w), "")
	for _, part := range parts {
		if len(part) > 0 {
			out = append(append(out, part...), "")
		}
	}
	return out
}

func (x Summary) title(s *state.State, w int) string {
	t, p := x.Theme, x.P
	key, glyph, style := "ui.sum.title.cut", t.Glyphs.Stopped, t.Warn
	if s.Ended != nil {
		glyph, style = t.Outcome(s.Ended.Outcome)
		key = "ui.sum.title." + string(s.Ended.Outcome)
		if s.Run.Verb == "cleanup" && s.Ended.Outcome.Done() {
			key = "ui.sum.title.cleaned"
		}
	}
	right := p.T("ui.sum.took", "time", report.Short(s.Elapsed()), "steps", fmt.Sprint(s.Total), "changes",
		fmt.Sprint(s.Changed))
	title := glyph + " " + p.T(key, "cluster", event.Clean(s.Run.Cluster))
	l := new(widget.Line).Space(1).Add(style, widget.Cut(title, max(0, w-4-widget.Width(right)), t.Glyphs.Cut))
	return l.To(w-1-widget.Width(right)).Add(t.Dim, right).String()
}

func (x Summary) head(key string) string { return " " + x.Theme.Title.Render(x.P.T(key)) }

// nodes: name, address, roles and how each came out, in columns when there are many.
func (x Summary) nodes(s *state.State, w int) []string {
	t, p := x.Theme, x.P
	var hosts []*state.Host
	names, addrs, roles := 4, 4, 4
	b := &Board{P: p, Theme: t}
	for _, h := range s.Hosts {
		if h.Name != "" {
			hosts = append(hosts, h)
			names, addrs, roles = max(names, widget.Width(event.Clean(h.Name))),
				max(addrs, widget.Width(event.Clean(h.Addr))), max(roles, widget.Width(b.roles(h, w)))
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	names, roles = min(names, w/3), min(roles, w/3)
	cell := 3 + 2 + names + 2 + addrs + 2 + roles + 2
	cols := min(max(1, w/cell), ceil(len(hosts), 8))
	per := ceil(len(hosts), cols)
	key := "ui.sum.where"
	if s.Ended == nil || !s.Ended.Outcome.Done() || s.Run.Verb == "cleanup" {
		key = "ui.sum.nodes"
	}
	out := []string{x.head(key)}
	if per > crowd {
		return append(out, x.crowded(b, s, hosts, w)...)
	}
	for r := range per {
		l := new(widget.Line)
		for c := range cols {
			if i := c*per + r; i < len(hosts) {
				h := hosts[i]
				glyph, style := t.Outcome(came(s, h))
				l.To(c*cell+3).Add(style, glyph).Space(1).Add(t.Strong,
					widget.Fit(event.Clean(h.Name), names, t.Glyphs.Cut)).Space(2)
				l.Add(t.Dim, widget.Fit(event.Clean(h.Addr), addrs, t.Glyphs.Cut)).Space(2).Add(t.Text,
					widget.Cut(b.roles(h, roles), roles, t.Glyphs.Cut))
			}
		}
		out = append(out, l.String())
	}
	return out
}

// came is how a machine came out. One that has steps left when the run ends is not done, however well the others went.
func came(s *state.State, h *state.Host) event.Outcome {
	o := h.Outcome()
	if (s.Ended == nil || !s.Ended.Outcome.Done()) && h.Ended < h.Total && (o.Done() || o == "") {
		return event.Interrupted
	}
	return o
}

// crowd is how many lines of machines a summary has; more machines are told together.
const crowd = 12

// crowded names machines that are the same and came out the same together, those in trouble first.
func (x Summary) crowded(b *Board, s *state.State, hosts []*state.Host, w int) []string {
	type kind struct {
		outcome event.Outcome
		roles   string
	}
	var order []kind
	names := map[kind][]string{}
	for _, h := range hosts {
		k := kind{h.Outcome(), b.roles(h, w)}
		if k.outcome == event.OK {
			k.outcome = event.Changed
		}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], event.Clean(h.Name))
	}
	slices.SortStableFunc(order, func(a, b kind) int {
		switch {
		case a.outcome.Done() == b.outcome.Done():
			return 0
		case b.outcome.Done():
			return -1
		}
		return 1
	})
	var out []string
	for _, k := range order {
		glyph, style := x.Theme.Outcome(k.outcome)
		l := new(widget.Line).Space(3).Add(style, glyph).Space(1).Add(x.Theme.Text, k.roles).Space(2).Add(x.Theme.Dim,
			fmt.Sprint(len(names[k])))
		out = append(append(out, l.String()), x.wrapped(strings.Join(report.Ranges(names[k]), "  "), 5, w,
			x.Theme.Strong.Render)...)
	}
	return out
}

// failed: each step that failed, why, what helps, and where its log is.
func (x Summary) failed(s *state.State, w int) []string {
	t, p := x.Theme, x.P
	var out []string
	for _, f := range s.Failures {
		if f.Step.Outcome == event.Ignored || f.Step.Outcome.Done() {
			continue
		}
		out = append(out, new(widget.Line).Space(3).Add(t.Bad,
			t.Glyphs.Failed+" "+where(p, f.Step.Host)).Space(2).Add(t.Text, p.Msg(f.Step.Title)).String())
		text, next := p.Fault(&f.Fault)
		if cause, do, ok := report.Likely(&f.Fault, f.Lines); ok {
			next = p.Join(p.Msg(cause), p.Msg(do))
		}
		out = append(out, x.wrapped(text, 5, w, t.Text.Render)...)
		if f.Fault.Code == state.CheckFailed {
			out = append(out, x.found(s.FoundBy(f.Step), w)...)
		}
		if next != "" {
			out = append(out, x.wrapped(t.Glyphs.Arrow+" "+next, 5, w, t.Text.Render)...)
		}
		if x.LogPath != nil {
			out = append(out, x.wrapped(p.T("ui.sum.log", "path", x.LogPath(f.Step.Host)), 5, w, t.Dim.Render)...)
		}
	}
	if e := s.Ended; e != nil && e.Fault != nil && len(out) == 0 {
		text, next := p.Fault(e.Fault)
		out = x.wrapped(text, 3, w, t.Text.Render)
		if e.Fault.Code == state.CheckFailed {
			out = append(out, x.found(s.FoundBy(nil), w)...)
		}
		if next != "" {
			out = append(out, x.wrapped(t.Glyphs.Arrow+" "+next, 3, w, t.Text.Render)...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if n := s.Counts[event.Blocked]; n > 0 {
		out = append(out, "   "+t.Warn.Render(t.Glyphs.Blocked+" "+p.T("ui.sum.blocked", "count", fmt.Sprint(n))))
	}
	key := "ui.sum.failed"
	if s.Ended != nil && s.Ended.Outcome == event.Interrupted && len(s.Failures) == 0 {
		key = "ui.sum.stopped"
	}
	return append([]string{x.head(key)}, out...)
}

// found is what a check found, by cause, with the nodes beneath.
func (x Summary) found(reasons []state.Reason, w int) []string {
	var out []string
	for _, c := range report.Found(reasons) {
		text, next := x.P.Fault(&c.Findings[0].Fault)
		names := c.Hosts()
		if len(names) > 1 {
			text = x.P.T("wizard.cause", "count", fmt.Sprint(len(names)), "text", text)
		}
		out = append(out, x.wrapped(x.Theme.Glyphs.Failed+" "+text, 5, w, x.Theme.Bad.Render)...)
		if len(names) > 1 {
			out = append(out, x.wrapped(strings.Join(report.Ranges(names), "  "), 7, w, x.Theme.Dim.Render)...)
		}
		if next != "" {
			out = append(out, x.wrapped(x.Theme.Glyphs.Arrow+" "+next, 7, w, x.Theme.Text.Render)...)
		}
	}
	return out
}

// wrapped breaks text into lines that begin at a cell and end before the edge.
func (x Summary) wrapped(text string, at, w int, render func(string) string) []string {
	var out []string
	for _, l := range strings.Split(widget.Wrap(text, max(8, w-at-1)), "\n") {
		out = append(out, widget.Spaces(at)+render(l))
	}
	return out
}

// times draws when each phase was at work: phases run side by side.
func (x Summary) times(s *state.State, w int) []string {
	t := x.Theme
	all := s.Elapsed()
	names := 0
	var phases []*state.Phase
	for _, ph := range s.Phases {
		if !ph.Start.IsZero() {
			phases, names = append(phases, ph), max(names, widget.Width(x.P.Msg(ph.Title)))
		}
	}
	if len(phases) == 0 || all <= 0 {
		return nil
	}
	names = min(names, w/3)
	room := w - 3 - names - 2 - 2 - 8
	out := []string{x.head("ui.sum.times")}
	for _, ph := range phases {
		end := ph.End
		if end.IsZero() {
			end = s.Now
		}
		cellAt := func(d time.Duration) int { return int(float64(d) / float64(all) * float64(room)) }
		from := min(max(0, cellAt(ph.Start.Sub(s.Started))), room-1)
		to := min(max(from+1, cellAt(end.Sub(s.Started))), room)
		l := new(widget.Line).Space(3).Add(t.Text, widget.Fit(x.P.Msg(ph.Title), names, t.Glyphs.Cut)).Space(2)
		l.Add(t.BarRest, strings.Repeat(t.Glyphs.BarRest, from)).Add(t.BarFull,
			strings.Repeat(t.Glyphs.BarFull, to-from)).Add(t.BarRest, strings.Repeat(t.Glyphs.BarRest, room-to))
		l.Space(2).Add(t.Dim, widget.FitRight(report.Short(end.Sub(ph.Start)), 7, ""))
		out = append(out, l.String())
	}
	return out
}

// next: what the run itself says is to be done now; the machines stand above already.
func (x Summary) next(s *state.State, w int) []string {
	if s.Ended == nil {
		return nil
	}
	var out []string
	for _, m := range s.Ended.Next {
		if m.Key != "next.node" {
			out = append(out, x.wrapped(x.P.Msg(m), 3, w, x.Theme.Text.Render)...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{x.head("ui.sum.next")}, out...)
}
