package board

import (
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Sizes of what is drawn of a machine, in cells.
const (
	paneWidth, paneHeight = 38, 6 // at least, with its border
	stepsHeight           = 7     // at least, of the pane of steps below many machines, with its border
	stepsMost             = 16    // at most
	sideBySide            = 160   // at least, for that pane to stand beside them
	cardWidth             = 38    // at least
	rowWidth              = 58    // at least
	stateWidth            = 9     // of the longest short word for a state
	rolesWidth            = 13    // of a row's roles, where there is little room
	roleWidth             = 7     // where there is least: the first of them
	barRow                = 76    // at least, for a row to have a bar
)

// machines fills w×h cells with all machines: large panes while they fit, then cards of two lines, then rows.
func (b *Board) machines(s *state.State, now time.Time, views []view, w, h int) []string {
	n := len(views)
	if n == 0 && b.Filter != "" && b.count(s) > 0 {
		return widget.Block([]string{"", "  " + b.Theme.Dim.Render(b.P.T("ui.filter.none"))}, w, h, "")
	}
	if n == 0 {
		return widget.Block([]string{"", "  " + b.Theme.Dim.Render(b.P.T("ui.no-plan-yet"))}, w, h, "")
	}
	if cols, rows := grid(n, w, h, paneWidth, paneHeight); rows > 0 {
		return b.tiles(views, w, h, cols, rows, h/rows, func(v view, on bool, rows []*widget.Line, cw int) {
			for i, l := range b.pane(s, now, v, on, cw, len(rows)) {
				rows[i].Raw(l)
			}
		})
	}
	pw, ph := beside(n, w, h)
	switch {
	case pw > 0:
		lines := b.crowd(s, now, views, w-pw, h)
		for len(lines) < h {
			lines = append(lines, "")
		}
		for i, l := range b.pane(s, now, views[b.Cursor], false, pw, h) {
			lines[i] = widget.Fit(lines[i], w-pw, "") + l
		}
		return lines
	case ph > 0:
		lines := widget.Block(b.crowd(s, now, views, w, h-ph), w, h-ph, "")
		return append(lines, b.pane(s, now, views[b.Cursor], false, w, ph)...)
	}
	return b.crowd(s, now, views, w, h)
}

// beside is how much room the steps of one machine take beside n machines, or below them: as much as the machines do
// not need, and some where they need it all. It depends on nothing that changes while a run goes on.
func beside(n, w, h int) (pw, ph int) {
	if pw = min(72, w/3); w >= sideBySide && (cards(n, w-pw, h) || rowsFit(n, w-pw, h)) {
		return pw, 0
	}
	for _, fit := range []func(n, w, h int) bool{cards, rowsFit} {
		for ph = min(stepsMost, h/2); ph >= stepsHeight; ph-- {
			if fit(n, w, h-ph) {
				return 0, ph
			}
		}
	}
	if h < 2*stepsHeight+2 {
		return 0, 0
	}
	return 0, max(stepsHeight, h/4)
}

// cards says whether n machines fit as cards, rowsFit whether they do as rows.
func cards(n, w, h int) bool   { return ceil(n, max(1, w/cardWidth))*2 <= h }
func rowsFit(n, w, h int) bool { return ceil(n, max(1, w/rowWidth)) <= h }

// crowd draws machines that are too many for panes of their own.
func (b *Board) crowd(s *state.State, now time.Time, views []view, w, h int) []string {
	n := len(views)
	card := func(v view, on bool, rows []*widget.Line, cw int) { b.card(s, v, on, rows[0], rows[1], cw) }
	for _, ch := range []int{3, 2} { // with a blank line between them, if there is room for it
		for cols := 1; cols <= min(n, w/cardWidth); cols++ { // the fewer stand side by side, the more each of them says
			if ceil(n, cols)*ch <= h+ch-2 {
				return b.tiles(views, w, h, cols, ceil(n, cols), ch, card)
			}
		}
	}
	return b.rows(s, now, views, w, h)
}

func ceil(a, b int) int { return (a + b - 1) / b }

// grid chooses columns and rows for n panes, so that each has at least minW×minH cells and they fill the screen as
// evenly as can be; rows is 0 when they do not fit.
func grid(n, w, h, minW, minH int) (cols, rows int) {
	best := -1
	for c := 1; c <= n && c*minW <= w; c++ {
		r := ceil(n, c)
		if r*minH > h {
			continue
		}
		// A pane is read best at about three times as wide as high; cells that stay empty count against a shape.
		pw, ph := w/c, h/r
		score := 100*(c*r-n) + abs(pw-4*ph)
		if best < 0 || score < best {
			best, cols, rows = score, c, r
		}
	}
	return cols, rows
}

func abs(n int) int { return max(n, -n) }

// tiles puts what draw makes of each machine into a grid, across and then down: draw gets the lines that its machine
// has a part of, and how many cells of them are its own.
func (b *Board) tiles(views []view, w, h, cols, rows, ch int,
	draw func(v view, on bool, lines []*widget.Line, w int)) []string {
	var out []string
	b.down = cols
	lines := make([]*widget.Line, ch)
	for r := range rows {
		for k := range lines {
			lines[k] = new(widget.Line).Grow(6 * w) // colours take more than the text
		}
		left := w
		for c := range cols {
			cw := left / (cols - c)
			left -= cw
			for _, l := range lines {
				l.Until(w - left)
			}
			if i := r*cols + c; i < len(views) {
				draw(views[i], i == b.Cursor, lines, cw)
				b.spots = append(b.spots, spot{w - left - cw, r * ch, cw, ch, i})
			}
			for _, l := range lines {
				l.To(w - left)
			}
		}
		for _, l := range lines {
			out = append(out, l.String())
		}
	}
	return out // as wide as the screen; Render fills it up
}

// pane is a large one, with a border.
func (b *Board) pane(s *state.State, now time.Time, v view, on bool, w, h int) []string {
	t, g := b.Theme, b.Theme.Glyphs
	edge := t.Border
	switch {
	case v.rank <= state.RankFailed:
		edge = t.Bad
	case on:
		edge = t.Edge
	}
	in := w - 4
	state := v.glyph + " " + v.word
	name := widget.Cut(b.name(v.host), max(4, in-widget.Width(state)-3), g.Cut)
	top := new(widget.Line).Add(edge, g.TopLeft+g.Horizontal)
	if on {
		top.Add(t.Chosen, g.Pointer)
	} else {
		top.Space(1)
	}
	top.Add(t.Strong, name)
	if room := w - top.Width() - widget.Width(state) - 6; room > 3 && len(v.host.Roles) > 0 {
		top.Space(1).Add(t.Dim, widget.Cut(b.roles(v.host, room-1), room-1, g.Cut))
	}
	top.Space(1)
	fill := w - top.Width() - widget.Width(state) - 4
	top.Add(edge, strings.Repeat(g.Horizontal, max(0, fill))).Space(1).Add(v.style, state).Space(1).Add(edge,
		g.Horizontal+g.TopRight)

	lines := []string{top.String()}
	for _, l := range widget.Block(b.steps(s, now, v, in, h-2), in, h-2, g.Cut) {
		lines = append(lines, edge.Render(g.Vertical)+" "+l+" "+edge.Render(g.Vertical))
	}
	return append(lines, b.paneFooter(v, edge, w))
}

// paneFooter is the lower edge of a pane: how many steps of the machine are done, as a bar and in numbers.
func (b *Board) paneFooter(v view, edge widget.Ink, w int) string {
	t, g := b.Theme, b.Theme.Glyphs
	count := strconv.Itoa(v.host.Ended) + "/" + strconv.Itoa(v.host.Total)
	bar := widget.Bar(t.BarFull, edge, g.BarFull, g.Horizontal, w-5-widget.Width(count), v.part)
	return new(widget.Line).Add(edge, g.BottomLeft).Raw(bar).Space(1).Add(t.Dim, count).Space(1).Add(edge,
		g.Horizontal+g.BottomRight).String()
}

// card is two lines: who and how far; what.
func (b *Board) card(s *state.State, v view, on bool, one, two *widget.Line, w int) {
	t, g := b.Theme, b.Theme.Glyphs
	mark, from, in := " ", one.Width()+2, w-3
	if on {
		mark = t.Chosen.Render(g.Pointer)
	}
	one.Raw(mark).Space(1).Add(v.style, v.glyph).Space(1).Add(t.Strong, widget.Cut(b.name(v.host), max(4, in/2), g.Cut))
	word := widget.Width(v.word)
	if room := in - (one.Width() - from) - word - 2; room > 6 {
		one.Space(1).Add(t.Dim, widget.Cut(b.roles(v.host, room-1), room-1, g.Cut))
	}
	one.To(from+in-word).Add(v.style, v.word)

	what := ""
	switch tr := transfer(s, v.host.Name); {
	case tr != nil:
		what = b.flow(tr, in-max(6, in/4)-1)
	case v.stall != "":
		what = v.brief
	default:
		what = b.doing(v)
		if v.rank <= state.RankFailed {
			if w := b.words(v, 1); len(w) > 0 {
				what = w[0]
			}
		}
	}
	barW := max(6, in/4)
	two.Raw(mark).Space(1).Raw(widget.Bar(t.BarFull, t.BarRest, g.BarFull, g.BarRest, barW, v.part)).Space(1)
	two.Add(t.Dim, strconv.Itoa(v.host.Ended)+"/"+strconv.Itoa(v.host.Total)).Space(1)
	two.Add(t.Text, widget.Cut(what, from+in-two.Width(), g.Cut))
}

// rows is one line a machine, in as many columns as there is room for; it scrolls to keep the cursor in sight.
func (b *Board) rows(s *state.State, now time.Time, views []view, w, h int) []string {
	cols := max(1, min(ceil(len(views), h), w/rowWidth))
	room := cols * h
	more := len(views) > room
	if more {
		room = cols * (h - 1)
	}
	perCol := min(room/cols, ceil(len(views), cols)) // even columns when all fit
	b.right = perCol
	b.Top = min(max(b.Top, b.Cursor-room+1), b.Cursor)
	b.Top = max(0, min(b.Top, len(views)-room))
	names, roles, digits, most := 4, 0, 1, max(rolesWidth, w/cols/6)
	if w/cols < barRow {
		most = roleWidth
	}
	for _, v := range views {
		names, roles = max(names, widget.Width(b.name(v.host))), max(roles, widget.Width(b.roles(v.host, w)))
		digits = max(digits, len(strconv.Itoa(v.host.Total)))
	}
	roles = min(roles, most)
	lines := make([]string, perCol)
	left := w
	for c := range cols {
		cw := left / (cols - c)
		left -= cw
		for r := range perCol {
			i := b.Top + c*perCol + r
			text := ""
			if i < len(views) {
				text = b.row(s, views[i], i == b.Cursor, cw, min(names, cw/4), roles, digits)
				b.spots = append(b.spots, spot{w - left - cw, r, cw, 1, i})
			}
			lines[r] += widget.Fit(text, cw, "")
		}
	}
	if more {
		below := len(views) - b.Top - room
		lines = append(lines, "  "+b.Theme.Dim.Render(report.More(b.P, b.Top, max(0, below))))
	}
	return widget.Block(lines, w, h, "")
}

func (b *Board) row(s *state.State, v view, on bool, w, names, roles, digits int) string {
	t, g := b.Theme, b.Theme.Glyphs
	l := new(widget.Line)
	if on {
		l.Add(t.Chosen, g.Pointer)
	} else {
		l.Space(1)
	}
	l.Add(v.style, v.glyph).Space(1).Add(t.Strong, widget.Fit(b.name(v.host), names, g.Cut)).Space(1)
	if roles > 0 {
		l.Add(t.Dim, widget.Fit(b.roles(v.host, roles), roles, g.Cut)).Space(1)
	}
	l.Add(v.style, widget.Fit(v.short, stateWidth, g.Cut)).Space(1)
	barW := min(14, w/10)
	if w < barRow { // the numbers say the same
		barW = -1
	}
	count := widget.FitRight(strconv.Itoa(v.host.Ended)+"/"+strconv.Itoa(v.host.Total), 2*digits+1, "") + " "
	out := l.String()
	if barW > 0 {
		out += widget.Bar(t.BarFull, t.BarRest, g.BarFull, g.BarRest, barW, v.part) + " "
	}
	out += t.Dim.Render(count) + " "
	used := l.Width() + barW + widget.Width(count) + 2
	what := b.doing(v)
	if tr := transfer(s, v.host.Name); tr != nil {
		what += "  " + b.flow(tr, w-used-3-widget.Width(what))
	} else if words := b.words(v, 1); len(words) > 0 {
		switch {
		case v.stall != "":
			what = v.brief
		case v.rank <= state.RankFailed:
			what = words[0]
		default:
			what += "  " + words[len(words)-1]
		}
	}
	return out + t.Text.Render(widget.Cut(event.Clean(what), w-used-1, g.Cut))
}
