package board

import (
	"fmt"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Timeline is all steps of one machine, phase by phase in the order of the plan: what ran, when and how long, what it
// changed, and what comes. What is known of the chosen step stands below.
type Timeline struct {
	Host   string
	Cursor int // of the steps as they are drawn

	top  int   // first row that is drawn
	at   int   // where the cursor was then
	held bool  // the person has moved the cursor; until then it goes with what runs
	rows []int // which step stands in each row that was drawn, -1 for none
}

// Widths of the columns of a timeline, in cells.
const (
	clockWidth = 8   // when a step began, in the time of the run
	tookWidth  = 7   // how long it took
	timeBars   = 120 // at least, for bars of when each step ran

	aboutChanges = 4 // of a step, that stand below the list
)

// order are the steps of a machine by phase.
func order(s *state.State, h *state.Host) []*state.Step {
	by := map[string][]*state.Step{}
	for _, st := range h.Steps {
		by[st.Phase] = append(by[st.Phase], st)
	}
	out := make([]*state.Step, 0, len(h.Steps))
	for _, ph := range s.Phases {
		out = append(out, by[ph.ID]...)
	}
	return out
}

// Step is the chosen one, nil if the machine has none.
func (t *Timeline) Step(s *state.State) *state.Step {
	h := s.Host(t.Host)
	if h == nil || len(h.Steps) == 0 {
		return nil
	}
	list := order(s, h)
	t.settle(h, list)
	return list[t.Cursor]
}

// settle keeps the cursor among the steps, and on what runs until the person has moved it.
func (t *Timeline) settle(h *state.Host, list []*state.Step) {
	t.held = t.held || t.Cursor != t.at
	if doing := h.Doing(); !t.held && doing != nil {
		for i, st := range list {
			if st == doing {
				t.Cursor = i
			}
		}
	}
	t.Cursor = min(max(0, t.Cursor), max(0, len(list)-1))
	t.at = t.Cursor
}

// Click chooses the step in a row as it was drawn last; false: none stands there, or it was chosen before.
func (t *Timeline) Click(row int) (again bool) {
	if row < 0 || row >= len(t.rows) || t.rows[row] < 0 {
		return false
	}
	again, t.held = t.rows[row] == t.Cursor, true
	t.Cursor = t.rows[row]
	return again
}

// Timeline draws one in w×h cells.
func (b *Board) Timeline(t *Timeline, s *state.State, now time.Time, w, h int) []string {
	t.rows = t.rows[:0]
	host := s.Host(t.Host)
	if host == nil || len(host.Steps) == 0 {
		return widget.Block([]string{"", "  " + b.Theme.Dim.Render(b.P.T("ui.no-plan-yet"))}, w, h, "")
	}
	list := order(s, host)
	t.settle(host, list)
	room := h
	if h >= 14 { // the pane below is as high whatever stands in it, so that the list does not jump
		room = h - min(14, h/3)
	}
	var lines []string
	var which []int
	at, phase := 0, ""
	for i, st := range list {
		if st.Phase != phase {
			phase = st.Phase
			lines, which = append(lines, b.phaseRow(s, phase, w)), append(which, -1)
		}
		if i == t.Cursor {
			at = len(lines)
		}
		lines, which = append(lines, ""), append(which, i)
	}
	seen := room
	if len(lines) > room {
		seen-- // the last line says how many more there are
	}
	t.top = max(min(t.top, at-1), at-seen+2, 0)
	t.top = max(0, min(t.top, len(lines)-seen))
	end := min(len(lines), t.top+seen)
	titles := 10
	for _, st := range list {
		titles = max(titles, widget.Width(report.StepTitle(b.P, st, st.Try)))
	}
	titles = min(titles, max(24, w*2/5))
	for i := t.top; i < end; i++ { // only what is seen is drawn
		if which[i] >= 0 {
			lines[i] = b.timeRow(s, list[which[i]], now, which[i] == t.Cursor, w, titles)
		}
	}
	t.rows = append(t.rows, which[t.top:end]...)
	out := lines[t.top:end:end]
	if seen < room {
		above, below := count(which[:t.top]), count(which[end:])
		out = append(out, "  "+b.Theme.Dim.Render(report.More(b.P, above, below)))
	}
	out = widget.Block(out, w, room, "")
	if room == h {
		return out
	}
	return append(out, widget.Block(b.about(s, now, host, list[t.Cursor], w, h-room), w, h-room, b.Theme.Glyphs.Cut)...)
}

// count is how many of the rows are steps.
func count(rows []int) int {
	n := 0
	for _, i := range rows {
		if i >= 0 {
			n++
		}
	}
	return n
}

// phaseRow is the heading of the steps of a phase.
func (b *Board) phaseRow(s *state.State, id string, w int) string {
	t := b.Theme
	l := new(widget.Line).Space(1).Add(t.Title, widget.Cut(b.P.Msg(s.Phase(id).Title), w/2, t.Glyphs.Cut)).Space(1)
	return l.Add(t.Border, strings.Repeat(t.Glyphs.Rule, max(0, w-1-l.Width()))).String()
}

// timeRow is one step: its title, when it began, how long it took, when that was as a bar, and what came of it.
func (b *Board) timeRow(s *state.State, st *state.Step, now time.Time, on bool, w, titles int) string {
	t := b.Theme
	glyph, style, text, took := b.stepMark(st, now)
	l := new(widget.Line)
	if on {
		l.Add(t.Chosen, t.Glyphs.Pointer)
		text = t.Strong
	} else {
		l.Space(1)
	}
	began := ""
	if !st.Start.IsZero() && st.Try > 0 {
		began = report.Clock(st.Start.Sub(s.Started))
	}
	l.Add(style, glyph).Space(1).Add(text, widget.Fit(report.StepTitle(b.P, st, st.Try), titles, t.Glyphs.Cut))
	l.Add(t.Faint, widget.FitRight(began, clockWidth, "")).Space(1)
	if widget.Width(took) > tookWidth { // when it is tried again is said by what came of it
		took = ""
	}
	l.Add(t.Dim, widget.FitRight(took, tookWidth, "")).Space(2)
	if w >= timeBars {
		l.Raw(b.timeBar(s, st, now, min(40, w/5))).Space(2)
	}
	said, ink := b.came(s, st, now)
	return l.Add(ink, widget.Cut(said, w-1-l.Width(), t.Glyphs.Cut)).String()
}

// timeBar draws when a step ran, of the time that the run has taken. While it runs that is taken to be a round time, so
// that the bars do not get shorter at every look.
func (b *Board) timeBar(s *state.State, st *state.Step, now time.Time, w int) string {
	t := b.Theme
	if st.Try == 0 || st.Start.IsZero() {
		return widget.Spaces(w)
	}
	all, end := now.Sub(s.Started), st.End
	if s.Ended == nil {
		span := time.Minute
		for span < all {
			span = span * 3 / 2
		}
		all = span
	} else {
		all = s.Elapsed()
	}
	if end.IsZero() || st.Running() {
		end = now
	}
	cell := func(d time.Duration) int { return int(float64(d) / float64(max(1, all)) * float64(w)) }
	from := min(max(0, cell(st.Start.Sub(s.Started))), w-1)
	to := min(max(from+1, cell(end.Sub(s.Started))), w)
	_, ink := t.Outcome(st.Outcome)
	if st.Outcome == "" || st.Outcome == event.OK || st.Outcome == event.Changed {
		ink = t.BarFull
	}
	return new(widget.Line).Add(t.BarRest, strings.Repeat(t.Glyphs.BarRest, from)).Add(ink,
		strings.Repeat(t.Glyphs.BarFull, to-from)).Add(t.BarRest, strings.Repeat(t.Glyphs.BarRest, w-to)).String()
}

// came says in a few words what came of a step, what it does, or how long it usually takes.
func (b *Board) came(s *state.State, st *state.Step, now time.Time) (string, widget.Ink) {
	t := b.Theme
	usual := ""
	if d, ok := b.Usual.Usual(st); ok && b.Usual != nil {
		usual = b.P.T("ui.line.usual", "time", report.Short(d))
	}
	switch {
	case st.Asked:
		return b.P.T("ui.state.asked"), t.Bad
	case st.Outcome == "" && st.Try > 0 && st.Delay >= state.RetryLong && st.Pause.After(now):
		return b.P.T("ui.step.again", "time", ticking(st.Pause.Sub(now))), t.Warn
	case st.Outcome == "" && st.Try > 0:
		if x := transferOf(s, st); x != nil {
			return b.flow(x, 50), t.Text
		}
		if said := s.Host(st.Host).LinesOf(st.ID, 1); usual == "" && len(said) > 0 {
			return event.Clean(said[0].Text), t.Dim
		}
		if st.Said != nil {
			return b.P.Msg(report.AsOf(*st.Said, now)), t.Dim
		}
		return usual, t.Faint
	case st.Outcome == "":
		return usual, t.Faint
	case st.Fault != nil && !st.Outcome.Done():
		text, _ := b.P.Fault(st.Fault)
		return strings.TrimLeft(strings.TrimPrefix(event.Clean(text), event.Clean(st.Host)), ": ："), t.Text
	case st.Why != nil:
		return b.P.Msg(*st.Why), t.Dim
	case st.Changed > 0 && len(st.Changes) > 0:
		first := b.P.Msg(report.Sized(st.Changes[0]))
		return b.P.T("ui.line.changed", "count", fmt.Sprint(st.Changed), "first", first), t.Dim
	case st.Outcome == event.OK:
		return b.P.T("ui.line.same"), t.Faint
	}
	return "", t.Dim
}

// about is what is known of a step: why it failed and what helps, what it changed and sent, and what it printed last,
// as much of that as there is room for in h lines.
func (b *Board) about(
	s *state.State, now time.Time, host *state.Host, st *state.Step, w, h int,
) []string {
	t := b.Theme
	head := new(widget.Line).Add(t.Border, strings.Repeat(t.Glyphs.Rule, 2)).Space(1)
	head.Add(t.Strong, widget.Cut(report.StepTitle(b.P, st, st.Try), w/2, t.Glyphs.Cut)).Space(1)
	out := []string{head.Add(t.Border, strings.Repeat(t.Glyphs.Rule, max(0, w-head.Width()))).String()}
	add := func(ink widget.Ink, lead, text string) {
		for i, l := range widget.Lines(event.Clean(text), w-4-widget.Width(lead)) {
			if i > 0 {
				lead = widget.Spaces(widget.Width(lead))
			}
			out = append(out, "  "+t.Dim.Render(lead)+ink.Render(l))
		}
	}
	if v := (view{host: host, step: st}); !st.Outcome.Done() && st.Fault != nil {
		for _, text := range b.why(v) {
			add(t.Text, "", text)
		}
	}
	if st.Why != nil {
		add(t.Text, "", b.P.Msg(*st.Why))
	}
	if st.Said != nil && st.Running() {
		add(t.Text, "", b.P.Msg(report.AsOf(*st.Said, now)))
	}
	if after := b.after(s, st); after != "" {
		add(t.Text, "", after)
	}
	if st.Sent > 0 {
		add(t.Dim, "", b.P.T("ui.line.sent", "size", report.Size(st.Sent)))
	}
	for i, m := range st.Changes {
		if i == aboutChanges {
			break
		}
		add(t.Text, t.Glyphs.Bullet+" ", b.P.Msg(report.Sized(m)))
	}
	if n := st.Changed - min(aboutChanges, len(st.Changes)); n > 0 {
		add(t.Dim, "", b.P.T("ui.line.more", "count", fmt.Sprint(n)))
	}
	for _, l := range host.LinesOf(st.ID, max(0, h-len(out))) {
		out = append(out, "  "+t.Dim.Render(widget.Cut(event.Clean(l.Text), w-4, t.Glyphs.Cut)))
	}
	return out
}

// after says which steps one that has not begun comes after, "" when that says nothing.
func (b *Board) after(s *state.State, st *state.Step) string {
	if st.Try > 0 || st.Outcome != "" {
		return ""
	}
	var names []string
	for _, id := range st.Needs {
		if need := s.Step(id); need != nil && !need.Outcome.Done() && len(names) < 3 {
			name := b.P.Msg(need.Title)
			if need.Host != st.Host && need.Host != "" {
				name += " (" + event.Clean(need.Host) + ")"
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return b.P.T("ui.line.after", "steps", b.P.List(names))
}
