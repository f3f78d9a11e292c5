package pages

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Render implements frame.Page.
func (p *Make) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	switch {
	case !p.have:
		return indent(p.task.lines(e, w-6), 3), nil
	case p.building:
		return indent(p.text.sight(p.underWay(e, w-6, h), h), 3), nil
	case p.end != nil && len(p.end.Bundles) > 0:
		return indent(p.text.sight(p.built(e, w-6), h), 3), nil
	case p.end != nil:
		return indent(p.text.sight(p.failed(e, w-6), h), 3), nil
	}
	return p.form(e, w, h)
}

// form are the fields.
func (p *Make) form(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	var out []string
	p.spots = p.spots[:0]
	put := func(row int, lines ...string) {
		for _, l := range lines {
			out, p.spots = append(out, l), append(p.spots, row)
		}
	}
	rows := 0
	for _, n := range p.sizes() {
		rows += n
	}
	notes := p.notes(e, w-6)
	gap := h >= rows+len(notes)+5
	if about := indent(wrapped(t.Dim, e.P.T("make.about"), w-6), 3); h >= rows+len(notes)+6+len(about) {
		put(-1, append(about, "")...)
	}
	var cursor *tea.Cursor
	label := 0
	for _, k := range []string{"system", "arch", "preset", "dir"} {
		label = max(label, widget.Width(e.P.T("make."+k)))
	}
	for row := range rows {
		g, i := p.where(row)
		if i == 0 && row > 0 && gap {
			put(-1, "")
		}
		l := new(widget.Line).Space(3)
		if i == 0 && g != ofGo {
			l.Add(t.Strong, e.P.T("make."+map[makeGroup]string{ofSystem: "system", ofArch: "arch", ofPreset: "preset",
				ofDir: "dir"}[g]))
		}
		l.To(3 + label + 2)
		if row == p.at {
			l.Add(t.Chosen, t.Glyphs.Pointer)
		} else {
			l.Space(1)
		}
		l.Space(1)
		if g == ofDir {
			text, x := p.dir.Shown(w - l.Width() - 3)
			if row == p.at {
				cursor = tea.NewCursor(l.Width()+x, len(out))
			}
			put(row, l.Add(t.Text, text).String())
			continue
		}
		put(row, widget.Cut(l.Raw(p.row(e, g, i, row == p.at)).String(), w-1, t.Glyphs.Cut))
	}
	put(-1, "")
	put(-1, indent(notes, 3)...)
	return out, cursor
}

// notes stand below the fields.
func (p *Make) notes(e *frame.Env, w int) []string {
	var out []string
	if p.stopped {
		out = append(out, wrapped(e.Theme.Warn, e.Theme.Glyphs.Stopped+" "+e.P.T("make.stopped"), w)...)
	}
	if g, i := p.where(p.at); g == ofPreset && i > 0 {
		out = append(out, wrapped(e.Theme.Dim, e.P.T("bundle.cli.mirrors-carry"), w)...)
	}
	return append(out, p.net.says(e, w)...)
}

// row is a choice.
func (p *Make) row(e *frame.Env, g makeGroup, i int, on bool) string {
	t := e.Theme
	style := t.Text
	if on {
		style = t.Strong
	}
	l := new(widget.Line)
	box := func(open, shut string, is bool) {
		mark := open + " " + shut
		if is {
			mark = open + t.Glyphs.Bullet + shut
		}
		l.Add(t.Accent, mark).Space(1)
	}
	switch g {
	case ofSystem:
		s, wide := p.offer.Systems[i], 0
		for _, o := range p.offer.Systems {
			wide = max(wide, widget.Width(o.ID))
		}
		box("(", ")", i == p.system)
		l.Add(style, widget.Fit(s.ID, wide, "")).Space(2).Add(t.Dim, "Kubernetes "+s.Kubernetes).Space(2).Add(t.Dim,
			s.Runtime)
	case ofArch:
		box("[", "]", p.arches[arches()[i]])
		l.Add(style, arches()[i])
	case ofPreset:
		box("(", ")", i == p.preset)
		name := "none"
		if i > 0 {
			name = p.offer.Presets[i-1]
		}
		l.Add(style, widget.Fit(name, 5, ""))
		if key := "make.preset." + name; e.P.Has(key) {
			l.Space(1).Add(t.Dim, e.P.T(key))
		}
	case ofGo:
		l.Add(t.Brand, t.Glyphs.Arrow).Space(1).Add(style, e.P.T("make.go-row"))
	}
	return l.String()
}

// head says what is built.
func (p *Make) head(e *frame.Env, w int) []string {
	b, s := p.order(), p.offer.Systems[p.system]
	return []string{e.Theme.Title.Render(widget.Cut(e.P.T("make.what", "system", s.ID, "arches",
		e.P.List(b.Arches), "kubernetes", s.Kubernetes), w, e.Theme.Glyphs.Cut)),
		e.Theme.Dim.Render(widget.Cut(event.Clean(b.Out), w, e.Theme.Glyphs.Cut)), ""}
}

// underWay is how far the build is, in h lines where that can be.
func (p *Make) underWay(e *frame.Env, w, h int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	out := p.head(e, w)
	step := "make.step.writing"
	switch {
	case p.stopping:
		step = "make.step.stopping"
	case p.progress.Resolving:
		step = "make.step.resolving"
	}
	out = append(out, t.Busy.Render(widget.Cut(g.Running+" "+e.P.T(step), w, g.Cut)))
	if n := p.progress.Sources; n > 0 {
		out = append(out, "  "+t.Dim.Render(widget.Cut(e.P.T("make.sources", "count", fmt.Sprint(n), "cached",
			fmt.Sprint(p.progress.Cached)), w-2, g.Cut)))
	}
	out = append(out, "")
	total := p.progress.Total
	switch {
	case p.progress.Resolving:
		total.Label = e.P.T("bundle.cli.resolving")
	case total.Label == "":
		total.Label = e.P.T("bundle.cli.total")
	}
	out = append(out, p.bar(e, total, w, true))
	said := p.said(e, w)
	room := max(3, h-len(out)-min(len(said), 6)-2)
	rows, hidden := p.progress.Rows, p.progress.Hidden
	if len(rows) > room {
		rows, hidden = rows[:room], hidden+len(rows)-room
	}
	for _, r := range rows {
		out = append(out, p.bar(e, r, w, false))
	}
	if hidden > 0 {
		out = append(out, t.Dim.Render(e.P.T("bundle.cli.note.more", "count", fmt.Sprint(hidden))))
	}
	if len(said) > 0 {
		out = append(append(out, ""), said...)
	}
	return out
}

// said is what is to be known of the build so far: the newest trouble first, as it may explain why nothing moves.
func (p *Make) said(e *frame.Env, w int) []string {
	t := e.Theme
	var out []string
	for _, f := range slices.Backward(p.progress.Troubles) {
		text, _ := e.P.Fault(f)
		out = append(out, wrapped(t.Warn, t.Glyphs.Ignored+" "+e.P.T("bundle.cli.retry", "why", text), w)...)
	}
	for _, m := range p.progress.Notes {
		out = append(out, wrapped(t.Dim, t.Glyphs.OK+" "+e.P.Msg(m), w)...)
	}
	return append(out, warned(e, p.progress.Warnings, w)...)
}

// warned are warnings, each once.
func warned(e *frame.Env, list []event.Msg, w int) []string {
	var out, seen []string
	for _, m := range list {
		if text := event.Clean(e.P.Msg(m)); !slices.Contains(seen, text) {
			seen = append(seen, text)
			out = append(out, wrapped(e.Theme.Warn, e.Theme.Glyphs.Ignored+" "+text, w)...)
		}
	}
	return out
}

// bar is a thing under way in a line of w cells: name, bar, bytes, rate, time left.
func (p *Make) bar(e *frame.Env, r backend.BuildRow, w int, main bool) string {
	t, g := e.Theme, e.Theme.Glyphs
	const amount, rate, left = 15, 10, 8
	wide := 0
	if w >= 90 || main {
		wide = max(8, (w-amount-rate-left-8)/3)
	}
	name := max(8, w-amount-rate-left-6-wide)
	if wide > 0 {
		name -= 2
	}
	label := r.Label
	if !main && len(p.order().Arches) > 1 && r.Arch != "" {
		label = r.Arch + " " + label
	}
	style := t.Text
	if main {
		style = t.Strong
	}
	l := new(widget.Line).Until(w).Add(style, widget.Fit(label, name, g.Cut))
	if r.Note != "" {
		return l.Space(2).Add(t.Warn, e.P.T(r.Note)).String()
	}
	switch {
	case wide == 0:
	case r.Total < 0:
		l.Space(2 + wide)
	default:
		l.Space(2).Raw(widget.Bar(t.BarFull, t.BarRest, g.BarFull, g.BarRest, wide, float64(r.Done)/float64(max(1,
			r.Total))))
	}
	bytes := report.Amount(r.Done)
	if r.Total >= 0 {
		bytes = report.AmountOf(min(r.Done, r.Total), r.Total)
	}
	l.Space(2).Add(t.Text, widget.FitRight(bytes, amount, ""))
	if r.Rate > 0 {
		l.Space(2).Add(t.Dim, widget.FitRight(report.Amount(r.Rate)+"/s", rate, ""))
		if r.Left >= 0 {
			l.Space(2).Add(t.Text, widget.FitRight(report.Clock(r.Left), left-2, ""))
		}
	}
	return l.String()
}

// built is what there is now, and what is done with it.
func (p *Make) built(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	end := p.end
	out := append(p.head(e, w), t.Good.Render(g.OK+" "+e.P.T("make.built", "took", report.Lasted(end.Took), "fetched",
		report.Amount(end.Fetched))), "")
	for _, b := range end.Bundles {
		size := report.Size(b.Size)
		if b.Unchanged {
			size += "  " + e.P.T("make.unchanged")
		}
		out = append(append(out, wrapped(t.Strong, event.Clean(b.Path), w)...), "  "+t.Text.Render(size))
		if b.SHA256 != "" {
			out = append(out, "  "+t.Dim.Render(widget.Cut("sha256 "+b.SHA256, w-2, g.Cut)))
		}
	}
	out = append(out, "", t.Strong.Render(e.P.T("make.next")))
	sign := "eggo-bundle sign --key KEY " + strings.Join(p.files(), " ")
	for _, s := range []string{e.P.T("make.next.use"), e.P.T("make.next.sign", "command", event.Clean(sign)),
		e.P.T("make.next.copy")} {
		lines := widget.Lines(s, w-4)
		out = append(out, t.Accent.Render(g.Arrow)+" "+t.Text.Render(lines[0]))
		for _, l := range lines[1:] {
			out = append(out, "  "+t.Text.Render(l))
		}
	}
	out = append(append(out, ""), wrapped(t.Dim, e.P.T("bundle.cli.lock", "file", event.Clean(end.Lock)), w)...)
	if list := warned(e, end.Warnings, w); len(list) > 0 {
		out = append(append(out, "", t.Strong.Render(e.P.T("bundle.cli.warnings"))), list...)
	}
	return out
}

// failed is why there is no bundle.
func (p *Make) failed(e *frame.Env, w int) []string {
	out := append(p.head(e, w), e.Theme.Bad.Render(widget.Cut(e.Theme.Glyphs.Failed+" "+e.P.T("make.failed"), w,
		e.Theme.Glyphs.Cut)), "")
	for _, next := range p.advice(e) {
		out = append(append(out, p.causes(e, next, w)...), "")
	}
	return append(out, wrapped(e.Theme.Dim, e.P.T("make.kept"), w)...)
}

// advice is what is to be done about the faults, each once.
func (p *Make) advice(e *frame.Env) []string {
	var out []string
	for _, f := range p.end.Faults {
		if _, next := e.P.FaultIn("form", f); !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	return out
}

// mostCauses is how many faults with the same advice are shown: a server that is not there fails all that it has.
const mostCauses = 3

// causes are the faults with an advice.
func (p *Make) causes(e *frame.Env, next string, w int) []string {
	var out []string
	n := 0
	for _, f := range p.end.Faults {
		text, own := e.P.FaultIn("form", f)
		if own != next {
			continue
		}
		if n++; n <= mostCauses {
			out = append(out, toldIn(e, text, "", w)...)
		}
	}
	if n > mostCauses {
		out = append(out, e.Theme.Dim.Render("  "+e.P.T("bundle.cli.note.more", "count", fmt.Sprint(n-mostCauses))))
	}
	if next != "" {
		out = append(out, wrapped(e.Theme.Text, e.Theme.Glyphs.Arrow+" "+next, w)...)
	}
	return out
}
