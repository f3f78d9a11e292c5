package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// view is what the board shows of one machine.
type view struct {
	host  *state.Host
	rank  state.Rank // those in trouble first
	glyph string
	style widget.Ink
	state string // its name, the same in every language
	word  string
	short string        // the word where there is little room
	stall string        // what it waits for in silence, "" when it does not
	brief string        // the same where there is little room
	said  string        // what its step gave notice of last, while it runs
	step  *state.Step   // that runs, or ended last
	since time.Duration // that the step runs
	part  float64       // of the machine's steps
}

// views of all machines, in the order in which they are drawn: trouble first, else as planned, so that nothing jumps
// about while all is well.
func (b *Board) views(s *state.State, now time.Time) []view {
	out := make([]view, 0, len(s.Hosts))
	for _, h := range s.Hosts {
		if !h.Shown() {
			continue
		}
		if v := b.view(s, h, now); b.fits(v) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(x, y view) int { return cmp.Compare(x.rank, y.rank) })
	return out
}

// count is how many machines there are, shown or not.
func (b *Board) count(s *state.State) int {
	n := 0
	for _, h := range s.Hosts {
		if h.Shown() {
			n++
		}
	}
	return n
}

func (b *Board) view(s *state.State, h *state.Host, now time.Time) view {
	v := view{host: h, step: h.Doing()}
	if h.Total > 0 {
		v.part = float64(h.Ended) / float64(h.Total)
	}
	if len(h.Active) > 0 {
		v.since = now.Sub(v.step.Since())
	}
	over := s.Ended != nil
	at := s.HostStatus(h)
	v.rank, v.state, v.step = at.Rank, at.State, at.Step
	v.glyph, v.style = b.mark(at.State)
	v.word = b.P.T("ui.state." + at.State)
	v.short = v.word
	if key := "ui.state.short." + at.State; b.P.Has(key) {
		v.short = b.P.T(key)
	}
	if x, ok := b.Usual.Silent(h, now); ok && !over && v.rank == state.RankFine {
		v.style = b.Theme.Warn
		step, since, quiet := b.P.Msg(x.Step.Title), report.Short(x.Since), report.Short(x.Quiet)
		v.stall, v.brief = b.P.T("ui.stall", "step", step, "since", quiet),
			b.P.T("ui.stall.brief", "step", step, "since", quiet)
		if x.Usual > 0 {
			v.stall = b.P.T("ui.stall.usual", "step", step, "since", since, "usual", report.Short(x.Usual))
			v.brief = b.P.T("ui.stall.brief-usual", "step", step, "since", since, "usual", report.Short(x.Usual))
		}
	}
	if v.step != nil && v.step.Running() && v.step.Said != nil {
		v.said = b.P.Msg(report.AsOf(*v.step.Said, now))
	}
	if v.stall != "" && v.step != nil && v.step.Waits != nil {
		v.stall += "; " + report.Awaits(b.P, v.step.Waits)
	}
	return v
}

// mark is how a state is marked.
func (b *Board) mark(state string) (glyph string, style widget.Ink) {
	t, g := b.Theme, b.Theme.Glyphs
	switch state {
	case "asked":
		return g.Ignored, t.Bad
	case "failed":
		return g.Failed, t.Bad
	case "blocked":
		return g.Blocked, t.Warn
	case "lost", "retry":
		return g.Ignored, t.Warn
	case "stopped":
		return g.Stopped, t.Warn
	case "running":
		return g.Running, t.Busy
	case "done":
		return g.OK, t.Good
	}
	return g.Waiting, t.Idle
}

// name of the machine for people.
func (b *Board) name(h *state.Host) string {
	if h.Name == "" {
		return b.P.T("report.jump-host")
	}
	return event.Clean(h.Name)
}

// roles in words, in short ones where the usual ones take more than w cells, and the first of them where those do too.
func (b *Board) roles(h *state.Host, w int) string {
	if len(h.Roles) == 0 {
		return ""
	}
	words := make([]string, len(h.Roles))
	for _, kind := range []string{"ui.role.", "ui.role.short."} {
		for i, r := range h.Roles {
			words[i] = b.P.T(kind + r)
		}
		if said := b.P.List(words); widget.Width(said) <= w {
			return said
		}
	}
	return words[0]
}

// doing is the title of the step, or what stands for it before the first.
func (b *Board) doing(v view) string {
	if v.step == nil {
		return b.P.T("ui.nothing-yet")
	}
	return b.P.Msg(v.step.Title)
}

// transfer that goes to the machine, nil if none does.
func transfer(s *state.State, host string) *state.Transfer {
	for _, t := range s.Transfers {
		if t.Host == host {
			return t
		}
	}
	return nil
}

// flow says in w cells how far a transfer is, at what rate, and how long the rest takes: in fewer words where there is
// little room, for the end of it says most.
func (b *Board) flow(t *state.Transfer, w int) string {
	rate, left, timed := t.Rate(), "", false
	if d, ok := t.Left(); ok {
		left, timed = b.P.T("ui.left", "time", report.Short(d)), true
	}
	done := report.Size(t.Done)
	if t.Total > 0 {
		done = b.P.T("ui.of", "done", done, "total", report.Size(t.Total))
	}
	speed := ""
	if rate > 0 {
		speed = report.Size(int64(rate)) + "/s"
	}
	full := flowing("  ", done, speed, left)
	if widget.Width(full) <= w || t.Total <= 0 {
		return full
	}
	size, unit := float64(t.Total), "B"
	for _, u := range []string{"KiB", "MiB", "GiB"} {
		if size >= 1000 {
			size, unit = size/1024, u
		}
	}
	part := float64(t.Done) / float64(t.Total)
	if rate > 0 {
		speed = round(rate) + "/s"
	}
	brief := flowing(" ", fmt.Sprintf("%.0f/%.0f %s", part*size, size, unit), speed, left)
	if widget.Width(brief) <= w || !timed {
		return brief
	}
	percent := fmt.Sprintf("%.0f %%", 100*part)
	if least := flowing(" ", percent, speed, left); widget.Width(least) <= w {
		return least
	}
	if widget.Width(percent) > w { // the bar says it
		return ""
	}
	return percent
}

func flowing(gap string, parts ...string) string {
	out := ""
	for _, p := range parts {
		if p != "" && out != "" {
			out += gap
		}
		out += p
	}
	return out
}

// round is a size without its decimals.
func round(n float64) string {
	text := report.Size(int64(n))
	head, unit, _ := strings.Cut(text, " ")
	head, _, _ = strings.Cut(head, ".")
	return head + " " + unit
}

// words are the newest lines that the step of the view printed, or the fault of a failed step, newest last. What
// another step printed is none of its: below its title that would be false.
func (b *Board) words(v view, n int) []string {
	var out []string
	if v.rank <= state.RankFailed && v.step != nil && v.step.Fault != nil {
		out = b.why(v)
		return out[:min(n, len(out))]
	}
	if v.stall != "" && n > 0 {
		out, n = append(out, v.stall), n-1
	}
	if v.said != "" && n > 0 {
		out, n = append(out, v.said), n-1
	}
	if v.step != nil {
		for _, l := range v.host.LinesOf(v.step.ID, n) {
			out = append(out, event.Clean(l.Text))
		}
	}
	return out
}

// why is the fault of the step of the view, and what helps.
func (b *Board) why(v view) []string {
	if v.step.Fault == nil {
		return nil
	}
	text, next := b.P.Fault(v.step.Fault)
	if cause, do, ok := report.Likely(v.step.Fault, v.host.LinesOf(v.step.ID, state.FailLines)); ok {
		next = b.P.Join(b.P.Msg(cause), b.P.Msg(do))
	}
	// it stands below the machine's name
	out := []string{strings.TrimLeft(strings.TrimPrefix(text, event.Clean(v.host.Name)), ": ：")}
	if next != "" {
		out = append(out, b.Theme.Glyphs.Arrow+" "+next)
	}
	return out
}
