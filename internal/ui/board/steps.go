package board

import (
	"fmt"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// sideLanes is how many steps are shown that run at once on one machine: what it does itself, and what is sent to it.
const sideLanes = 3

// outputMost is how many lines of a step's output are shown. They change faster than all else on the screen, and each
// of them goes over the line to the terminal again.
const outputMost = 10

// twoColumns is how wide a pane is, at least, whose steps and output stand side by side.
const twoColumns = 90

// steps draws in w×h cells what a machine has done last, what it does now, and what that prints: below it, or beside
// it where there is room. Where a line stands depends on how many steps have ended, as long as few have, and on nothing
// that changes more often: an eye that follows a step does not lose it.
func (b *Board) steps(s *state.State, now time.Time, v view, w, h int) []string {
	past := max(1, h/3, h-outputMost-2*sideLanes)
	if w < twoColumns {
		out := b.stepList(s, now, v, w, h, past)
		for _, l := range b.said(v, w-2, h-len(out)) {
			out = append(out, "  "+l)
		}
		return out
	}
	lw := min(64, 2*w/5)
	left := widget.Block(b.stepList(s, now, v, lw, h, max(past, h-4)), lw, h, b.Theme.Glyphs.Cut)
	between := "  " + b.Theme.Border.Render(b.Theme.Glyphs.Vertical) + "  "
	said := b.said(v, w-lw-5, h)
	if len(said) == 0 && len(v.host.Active) > 0 {
		said = []string{b.Theme.Faint.Render(widget.Cut(b.P.T("ui.fail.silent"), w-lw-5, b.Theme.Glyphs.Cut))}
	}
	for i, l := range said {
		left[i] += between + l
	}
	for i, l := range left {
		if widget.Width(l) == lw {
			left[i] += between
		}
	}
	return left
}

// stepList are the steps of a machine in lines of w cells, h at most: so many that have ended, and those that run.
func (b *Board) stepList(s *state.State, now time.Time, v view, w, h, past int) []string {
	failed := v.rank <= state.RankFailed && v.step != nil
	if len(v.host.Active) == 0 && !failed {
		past = h
		if v.host.Ended < v.host.Total && s.Ended == nil {
			past = h - 1 // the next one
		}
	}
	var out []string
	for _, st := range ran(v.host, past, v.step) {
		out = append(out, b.stepRow(st, now, w))
	}
	if failed {
		return append(out, b.stepRow(v.step, now, w))
	}
	for _, st := range doing(v) {
		out = append(out, b.stepRow(st, now, w))
		if t := transferOf(s, st); t != nil {
			out = append(out, "  "+b.gauge(t, w-2))
		}
	}
	if st := next(v.host); len(v.host.Active) == 0 && st != nil && s.Ended == nil {
		out = append(out, b.stepRow(st, now, w))
	}
	return out
}

// said is what the step of the view prints, or why it failed and what helps, in h lines of w cells at most.
func (b *Board) said(v view, w, h int) []string {
	st := v.step
	switch {
	case st == nil || h <= 0:
		return nil
	case v.rank <= state.RankFailed, st.Running() && st.Delay >= state.RetryLong && st.Fault != nil:
		return b.wrong(v, w, h)
	case len(v.host.Active) == 0 && v.host.Ended < v.host.Total: // it waits for others, and so it says nothing
		return nil
	}
	var out []string
	for i, text := range b.words(v, min(outputMost, h)) {
		style, lines := b.Theme.Dim, []string{text}
		switch {
		case v.stall != "" && i == 0:
			style = b.Theme.Warn
		case v.said != "" && i == 0: // a sentence
			lines = widget.Lines(text, w)
		}
		for _, l := range lines {
			out = append(out, style.Render(widget.Cut(l, w, b.Theme.Glyphs.Cut)))
		}
	}
	if len(out) > h {
		return out[:h]
	}
	return out
}

// wrong is why the step of the view failed, what helps, and what it printed last, in at most h lines.
func (b *Board) wrong(v view, w, h int) []string {
	var out []string
	for _, text := range b.why(v) {
		for _, l := range widget.Lines(text, w) {
			out = append(out, b.Theme.Text.Render(l))
		}
	}
	if room := h - len(out) - 1; room > 0 {
		for i, l := range v.host.LinesOf(v.step.ID, min(room, outputMost)) {
			if i == 0 {
				out = append(out, "")
			}
			out = append(out, b.Theme.Dim.Render(widget.Cut(event.Clean(l.Text), w, b.Theme.Glyphs.Cut)))
		}
	}
	return widget.Block(out, w, min(max(0, h), len(out)), b.Theme.Glyphs.Cut)
}

// ran are the n steps that ended last of those that had begun, the oldest first, without the one that is shown below
// them.
func ran(h *state.Host, n int, without *state.Step) []*state.Step {
	out := make([]*state.Step, 0, n)
	for i := len(h.Done) - 1; i >= 0 && len(out) < n; i-- {
		if st := h.Done[i]; st.Try > 0 && (st != without || len(h.Active) == 0 && st.Outcome.Done()) {
			out = append(out, st)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// doing are the steps that run on the machine, the one whose output stands below them last.
func doing(v view) []*state.Step {
	var out []*state.Step
	for _, st := range v.host.Active {
		if st != v.step && len(out) < sideLanes-1 {
			out = append(out, st)
		}
	}
	if v.step != nil && v.step.Running() {
		out = append(out, v.step)
	}
	return out
}

// next is the step that comes next by the plan, nil if none does.
func next(h *state.Host) *state.Step {
	for _, st := range h.Steps {
		if st.Try == 0 && st.Outcome == "" {
			return st
		}
	}
	return nil
}

// transferOf is what the step sends now, nil if it sends nothing.
func transferOf(s *state.State, st *state.Step) *state.Transfer {
	for _, t := range s.Transfers {
		if t.Step == st.ID {
			return t
		}
	}
	return nil
}

// stepRow is one step: how it came out or that it runs, its title, and how long it took or has run.
func (b *Board) stepRow(st *state.Step, now time.Time, w int) string {
	t := b.Theme
	glyph, style, text, right := b.stepMark(st, now)
	title := report.StepTitle(b.P, st, st.Try)
	l := new(widget.Line).Add(style, glyph).Space(1)
	l.Add(text, widget.Cut(title, w-widget.Width(right)-3, t.Glyphs.Cut))
	return l.To(w-widget.Width(right)).Add(t.Dim, right).String()
}

// stepMark is how a step is marked, in which ink its title is, and what is said at the right of it.
func (b *Board) stepMark(st *state.Step, now time.Time) (glyph string, style, text widget.Ink, right string) {
	t := b.Theme
	switch {
	case st.Outcome != "":
		glyph, style = t.Outcome(st.Outcome)
		text = t.Dim
		if !st.Outcome.Done() {
			text = t.Text
		}
		if st.Try > 0 {
			right = report.Short(st.Took)
		}
	case st.Asked:
		glyph, style, text = t.Glyphs.Ignored, t.Bad, t.Text
	case st.Try == 0:
		glyph, style, text = t.Glyphs.Waiting, t.Idle, t.Dim
	case st.Delay >= state.RetryLong && st.Pause.After(now):
		glyph, style, text = t.Glyphs.Ignored, t.Warn, t.Text
		right = b.P.T("ui.step.again", "time", ticking(st.Pause.Sub(now)))
	default:
		glyph, style, text, right = b.spin(), t.Busy, t.Text, ticking(now.Sub(st.Since()))
	}
	return glyph, style, text, right
}

// spin marks what runs.
func (b *Board) spin() string {
	if b.Spin == "" {
		return b.Theme.Glyphs.Running
	}
	return b.Spin
}

// ticking is a time that runs: by whole seconds, for what changes ten times a second nobody reads.
func ticking(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	}
	return report.Short(d.Truncate(time.Second))
}

// gauge is a bar with the numbers of a transfer. The numbers have a width of their own: the bar does not move when one
// of them gets longer.
func (b *Board) gauge(t *state.Transfer, w int) string {
	text := w - 8
	switch {
	case w >= 66:
		text = 50
	case w >= 48:
		text = 36
	case w >= 33:
		text = 26
	}
	said := b.flow(t, text)
	if t.Total <= 0 {
		return b.Theme.Dim.Render(widget.Cut(event.Clean(said), w, b.Theme.Glyphs.Cut))
	}
	return b.Theme.Progress(w-text-1, float64(t.Done)/float64(t.Total)) + " " +
		b.Theme.Dim.Render(widget.FitRight(said, text, b.Theme.Glyphs.Cut))
}
