// Package board draws a run: the phases across the top, a pane for every machine, those in trouble first. It is a pure
// function of the state of the run, a time and a size; it draws a screen's worth, however large the run is.
package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// The smallest board that is drawn; the footer of the screen takes a line more.
const (
	MinWidth  = 60
	MinHeight = 15
)

// Board is how a run is looked at. The zero Cursor is the first machine.
type Board struct {
	P      *i18n.Printer
	Theme  *theme.Theme
	Cursor int // of the machines as they are drawn
	Top    int // first row of machines that is drawn; Render keeps the cursor in sight
	Filter string
	Usual  state.History // how long steps took in earlier runs; nil: nobody knows
	Spin   string        // marks a step that runs, one of a spinner's frames; "": nothing moves

	spots []spot // as drawn last
	right int    // machines from one to the one beside it
	down  int    // and to the one below
	at    int    // where the cursor was then
	held  bool   // the person has moved the cursor: it stays on the machine
	host  string // that it was on
}

// spot is where a machine is drawn.
type spot struct{ x, y, w, h, at int }

// Render draws the board in w×h cells: exactly h lines of exactly w cells. now is the clock of the run's events.
func (b *Board) Render(s *state.State, now time.Time, w, h int) []string {
	if w < MinWidth || h < MinHeight {
		return b.tooSmall(s, w, h)
	}
	views := b.views(s, now)
	b.settle(views)
	lines := []string{b.head(s, now, w), b.whole(s, w), b.rail(s, w),
		b.Theme.Border.Render(strings.Repeat(b.Theme.Glyphs.Rule, w))}
	if b.Filter != "" {
		lines = append(lines, b.filterLine(len(views), b.count(s), w))
	}
	foot := b.news(s, now, w)
	b.spots, b.right, b.down = b.spots[:0], 1, 1
	room := h - len(lines) - len(foot)
	body := b.machines(s, now, views, w, room)
	for len(body) < room {
		body = append(body, widget.Spaces(w))
	}
	for i := range b.spots {
		b.spots[i].y += len(lines)
	}
	lines = append(widget.Block(lines, w, len(lines), b.Theme.Glyphs.Cut), body[:max(0, room)]...)
	return append(lines, widget.Block(foot, w, h-len(lines), b.Theme.Glyphs.Cut)...)
}

// settle puts the cursor on a machine: on the one that the person has put it on, wherever that stands by now.
func (b *Board) settle(views []view) {
	b.held = b.held || b.Cursor != b.at
	if b.held && b.Cursor == b.at {
		for i := range views {
			if views[i].host.Name == b.host {
				b.Cursor = i
			}
		}
	}
	b.Cursor = min(max(0, b.Cursor), max(0, len(views)-1))
	b.at = b.Cursor
	if len(views) > 0 {
		b.host = views[b.Cursor].host.Name
	}
}

// At is the machine that was drawn at that cell, if there is one.
func (b *Board) At(x, y int) (int, bool) {
	for _, p := range b.spots {
		if x >= p.x && x < p.x+p.w && y >= p.y && y < p.y+p.h {
			return p.at, true
		}
	}
	return 0, false
}

// Move goes so many machines to the right and down, as they were drawn last.
func (b *Board) Move(right, down int) {
	b.Cursor = max(0, b.Cursor+right*b.right+down*b.down) // Render keeps it among the machines
}

// Trouble puts the cursor on the next machine in trouble, false when none is.
func (b *Board) Trouble(s *state.State, now time.Time) bool {
	views := b.views(s, now)
	b.settle(views)
	for i := range views {
		if k := (b.Cursor + 1 + i) % len(views); views[k].rank < state.RankFine {
			b.Cursor = k
			return true
		}
	}
	return false
}

// Host is the name of the machine under the cursor and whether there is one.
func (b *Board) Host(s *state.State, now time.Time) (string, bool) {
	views := b.views(s, now)
	if len(views) == 0 {
		return "", false
	}
	b.settle(views)
	return views[b.Cursor].host.Name, true
}

func (b *Board) tooSmall(s *state.State, w, h int) []string {
	text := []string{b.P.T("ui.too-small", "width", fmt.Sprint(MinWidth), "height", fmt.Sprint(MinHeight+1)),
		b.P.T("ui.goes-on", "ended", fmt.Sprint(ended(s)), "total", fmt.Sprint(s.Total))}
	return widget.Block(text, w, h, b.Theme.Glyphs.Cut)
}

func ended(s *state.State) int {
	n := 0
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// head: the name of the program, what is done to which cluster, and the time.
func (b *Board) head(s *state.State, now time.Time, w int) string {
	t, p := b.Theme, b.P
	l := new(widget.Line).Space(1).Add(t.Strong, "egg").Add(t.Brand, "o").Space(2)
	verb := s.Run.Verb
	if key := "ui.verb." + verb; p.Has(key) {
		verb = p.T(key)
	}
	l.Add(t.Strong, event.Clean(verb)).Space(1).Add(t.Title, event.Clean(s.Run.Cluster))
	took := now.Sub(s.Started)
	if s.Ended != nil {
		took = s.Elapsed()
	}
	right := new(widget.Line)
	if s.Ended != nil {
		glyph, style := t.Outcome(s.Ended.Outcome)
		right.Add(style, glyph+" "+p.T("ui.ended."+string(s.Ended.Outcome))).Space(2)
	}
	if !s.Started.IsZero() {
		right.Add(t.Dim, report.Short(took))
	}
	right.Space(1)
	return l.To(w-right.Width()).String() + right.String()
}

// whole is the bar of the whole run with its numbers.
func (b *Board) whole(s *state.State, w int) string {
	t, done := b.Theme, ended(s)
	part := 0.0
	if s.Total > 0 {
		part = float64(done) / float64(s.Total)
	}
	text := new(widget.Line).Add(t.Dim, " "+fmt.Sprintf("%3d %%", int(part*100))+"  "+b.P.T("ui.steps", "ended",
		fmt.Sprint(done), "total", fmt.Sprint(s.Total)))
	if n := s.Counts[event.Failed] + s.Counts[event.Unknown]; n > 0 {
		text.Space(2).Add(t.Bad, t.Glyphs.Failed+" "+b.P.T("ui.failed-count", "count", fmt.Sprint(n)))
	}
	if n := len(s.Open); n > 0 {
		text.Space(2).Add(t.Bad, t.Glyphs.Ignored+" "+b.P.T("ui.open-count", "count", fmt.Sprint(n)))
	}
	text.Space(1)
	return " " + widget.Bar(t.BarFull, t.BarRest, t.Glyphs.BarFull, t.Glyphs.BarRest, w-1-text.Width(), part) +
		text.String()
}

// stop is a phase on the rail.
type stop struct {
	glyph, name, count string
	of                 *state.Phase
	on                 bool
}

// stops are the phases, and the number of the present one: the last that has begun.
func (b *Board) stops(s *state.State) (stops []stop, at int) {
	on := false
	for i, ph := range s.Phases {
		st := stop{of: ph, name: b.P.Msg(ph.Title)}
		switch {
		case !ph.End.IsZero():
			if st.glyph, _ = b.Theme.Outcome(ph.Outcome); !on {
				at = i
			}
		case !ph.Start.IsZero():
			st.glyph, st.on, at, on = b.Theme.Glyphs.Running, true, i, true
			st.count = fmt.Sprintf(" %d/%d", ph.Ended, ph.Total)
		default:
			st.glyph = b.Theme.Glyphs.Waiting
		}
		stops = append(stops, st)
	}
	return stops, at
}

// rail names the phases with their states. Where they do not all fit, those that have ended and those to come are only
// counted, the ones farthest from the present first.
func (b *Board) rail(s *state.State, w int) string {
	stops, at := b.stops(s)
	between, counts := " "+b.Theme.Glyphs.Rule+" ", true
	// Neighbours without names that are in the same state stand together, as a number.
	draw := func() *widget.Line {
		l := new(widget.Line).Space(1)
		for i := 0; i < len(stops); {
			st, n := stops[i], 1
			for st.name == "" && i+n < len(stops) && stops[i+n].name == "" && stops[i+n].glyph == st.glyph {
				n++
			}
			if i > 0 {
				l.Add(b.Theme.Border, between)
			}
			i += n
			style, key := b.Theme.Idle, "ui.phases.more"
			switch {
			case !st.of.End.IsZero():
				_, style = b.Theme.Outcome(st.of.Outcome)
				key = "ui.phases.ended"
			case st.on:
				style = b.Theme.Busy
			}
			l.Add(style, st.glyph).Space(1)
			switch {
			case st.name == "":
				l.Add(b.Theme.Dim, b.P.T(key, "count", strconv.Itoa(n)))
			case st.on:
				l.Add(b.Theme.Strong, st.name)
				if counts {
					l.Add(b.Theme.Dim, st.count)
				}
			default:
				l.Add(b.Theme.Dim, st.name)
			}
		}
		return l
	}
	line := draw()
	w-- // the last cell stays free
	for _, shorter := range []func(){func() { between = "  " }, func() { counts = false }, func() { between = " " }} {
		if line.Width() > w { // names say more than numbers, and those more than gaps
			shorter()
			line = draw()
		}
	}
	if line.Width() > w { // without all names there is room for numbers again
		between, counts = "  ", true
		line = draw()
	}
	for _, on := range []bool{false, true} { // those at work keep theirs longest
		for far := len(stops); far >= 0 && line.Width() > w; far-- {
			for i := range stops {
				if (i-at == far || at-i == far) && stops[i].on == on && (far > 0 || !on) {
					stops[i].name = ""
				}
			}
			line = draw()
		}
	}
	return line.String()
}

// news is the newest notice or finding, above the footer.
func (b *Board) news(s *state.State, now time.Time, w int) []string {
	if len(s.Notices) == 0 {
		return nil
	}
	n := s.Notices[len(s.Notices)-1]
	said := report.Sized(n.Text)
	if st := s.Step(n.Step); st != nil && st.Running() {
		said = report.AsOf(n.Text, now)
	}
	text := b.P.Msg(said)
	if n.Host != "" {
		text = event.Clean(n.Host) + ": " + text
	}
	return []string{" " + b.Theme.Dim.Render(widget.Cut(b.Theme.Glyphs.Bullet+" "+text, w-2, b.Theme.Glyphs.Cut))}
}
