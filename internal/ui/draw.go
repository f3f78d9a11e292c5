package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// View implements tea.Model.
func (a *App) View() tea.View {
	lines, cursor := a.lines()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.Cursor = cursor
	v.MouseMode = tea.MouseModeCellMotion
	if a.free {
		v.MouseMode = tea.MouseModeNone
	}
	v.WindowTitle = "eggo"
	if t := event.Clean(a.top().Title(&a.env)); t != "" {
		v.WindowTitle = "eggo " + t
	}
	for _, p := range slices.Backward(a.stack) {
		if g, ok := p.(frame.Gauge); ok {
			v.ProgressBar = g.Gauge(&a.env)
			break
		}
	}
	return v
}

// lines are the screen: exactly h lines of exactly w cells.
func (a *App) lines() ([]string, *tea.Cursor) {
	if a.small() {
		return a.tooSmall(), nil
	}
	head := a.headLines()
	body, cursor := a.top().Render(&a.env, a.w, a.h-1-head)
	body = widget.Block(body, a.w, a.h-1-head, a.env.Theme.Glyphs.Cut)
	if cursor != nil {
		cursor.Y += head
	}
	if head > 0 {
		body = append(widget.Block(a.head(), a.w, head, a.env.Theme.Glyphs.Cut), body...)
	}
	switch {
	case len(a.dialogs) > 0:
		box, at := a.dialogs[0].Render(&a.env, a.w, len(body))
		a.box = a.overlay(body, box)
		if cursor = at; cursor != nil {
			cursor.X += a.box.x
			cursor.Y += a.box.y
		}
	case a.help:
		a.overlay(body, a.helpBox(len(body)))
		cursor = nil
	}
	lines := append(body, widget.Fit(a.foot(), a.w, a.env.Theme.Glyphs.Cut))
	if a.ascii {
		plain(lines)
	}
	return lines, cursor
}

// plain puts ASCII for the signs that sentences and keys have: one cell for one cell. Words of other languages stay.
func plain(lines []string) {
	r := strings.NewReplacer("…", ".", "“", `"`, "”", `"`, "’", "'", "–", "-", "—", "-", "×", "x", "·", ".", "→", ">",
		"←", "<", "↑", "^", "↓", "v")
	for i, l := range lines {
		lines[i] = r.Replace(l)
	}
}

func (a *App) tooSmall() []string {
	p := a.env.P
	text := []string{p.T("ui.too-small", "width", fmt.Sprint(frame.MinWidth), "height", fmt.Sprint(frame.MinHeight))}
	for _, page := range slices.Backward(a.stack) {
		if s, ok := page.(frame.Smaller); ok {
			text = append(text, s.Small(&a.env))
			break
		}
	}
	var lines []string
	for _, l := range text {
		lines = append(lines, widget.Lines(l, a.w)...)
	}
	return widget.Block(lines, a.w, a.h, "")
}

// head names the program and the path to the page that is shown.
func (a *App) head() []string {
	t := a.env.Theme
	right := ""
	if s, ok := a.top().(frame.Asider); ok {
		right = widget.Cut(s.Aside(&a.env), a.w/2, t.Glyphs.Cut)
	}
	var way []string
	for _, p := range a.stack {
		if title := event.Clean(p.Title(&a.env)); title != "" {
			way = append(way, title)
		}
	}
	room := a.w - 10 - widget.Width(right)
	trail := " " + t.Glyphs.Trail + " "
	for first := true; len(way) > 1 && widget.Width(strings.Join(way, trail)) > room; first = false {
		if !first && len(way) == 2 { // the page itself, and that there is more before it
			break
		}
		if !first {
			way = way[1:]
		}
		way[0] = t.Glyphs.Cut
	}
	l := new(widget.Line).Space(1).Add(t.Strong, "egg").Add(t.Brand, "o").Space(2)
	for i, w := range way {
		if i < len(way)-1 {
			l.Add(t.Dim, w).Space(1).Add(t.Faint, t.Glyphs.Trail).Space(1)
		} else {
			l.Add(t.Strong, widget.Cut(w, max(0, a.w-l.Width()-widget.Width(right)-2), t.Glyphs.Cut))
		}
	}
	return []string{l.To(a.w-widget.Width(right)-1).String() + t.Dim.Render(right) + " ",
		t.Border.Render(strings.Repeat(t.Glyphs.Rule, a.w))}
}

// helpBox lists the keys of the page; it scrolls when there are more than fit.
func (a *App) helpBox(h int) []string {
	e := &a.env
	list := frame.Help(e, a.bindings(), a.w-6, h-4)
	if x, ok := a.top().(frame.Explainer); ok {
		list = append(list, x.Explain(e, min(a.w-6, 100))...)
	}
	last := e.P.T("ui.help.close")
	if room := h - 4; len(list) > room {
		a.helpTop = max(0, min(a.helpTop, len(list)-room))
		last = e.P.T("ui.help.more", "count", fmt.Sprint(len(list)-room))
		list = list[a.helpTop : a.helpTop+room]
	}
	wide := max(widget.Width(e.P.T("ui.help"))+4, widget.Width(last))
	for _, l := range list {
		wide = max(wide, widget.Width(l))
	}
	return frame.Box(e, e.Theme.Chosen, e.P.T("ui.help"), append(list, "", e.Theme.Dim.Render(last)), min(wide, a.w-6))
}

// overlay puts a box into the middle of the screen and says where.
func (a *App) overlay(body, box []string) area {
	if len(box) == 0 {
		return area{}
	}
	wide := widget.Width(box[0])
	at := area{x: max(0, (a.w-wide)/2), y: max(0, (len(body)-len(box))/2), w: wide, h: len(box)}
	for i, l := range box {
		if at.y+i < len(body) {
			body[at.y+i] = widget.Over(body[at.y+i], l, at.x, a.w)
		}
	}
	return at
}

// footGap is the number of cells between the keys and the note of a footer, at least.
const footGap = 2

func (a *App) foot() string {
	right := a.note
	if s, ok := a.top().(frame.Asider); ok && right == "" && a.bare() {
		right = s.Aside(&a.env)
	}
	var left string
	keys := a.bindings()
	if d := a.first(); d != nil { // the same key is another thing there
		keys = d.Bindings()
	}
	room := a.w - 2
	if right != "" { // a note goes before the keys, except those that are always shown
		room = a.w - footGap - 1
		right = widget.Cut(right, room-frame.FooterWidth(&a.env, keys), a.env.Theme.Glyphs.Cut)
	}
	left, a.spots = frame.Footer(&a.env, keys, room-widget.Width(right))
	return left + widget.Spaces(a.w-widget.Width(left)-widget.Width(right)-1) + a.env.Theme.Strong.Render(right)
}
