package wizard

import (
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

func (b *bundles) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	var out []string
	b.rows = b.rows[:0]
	put := func(i int, lines ...string) {
		for _, l := range lines {
			out, b.rows = append(out, l), append(b.rows, i)
		}
	}
	for _, arch := range b.p.g.Arches() {
		path := b.p.g.Draft.Value(config.BundleKey(arch))
		l := new(widget.Line).Add(t.Strong, widget.Fit(arch, 6, "")).Space(1).Add(t.Dim,
			e.P.T("wizard.bundle.machines", "count", itoa(b.p.g.WithArch(arch)))).Space(2)
		if path == "" {
			put(-1, l.Add(t.Warn, g.Ignored+" "+e.P.T("wizard.bundle.needed")).String())
		} else {
			glyph, st := tone(e, b.p.g.BundleTone(path))
			put(-1, l.Add(st, glyph).Space(1).Add(t.Text, widget.Cut(event.Clean(path), w-l.Width()-2, g.Cut)).String())
		}
	}
	put(-1, "")
	b.now()
	var last, first int
	for i, x := range b.p.g.Bundles {
		if i == b.at {
			first = len(out)
		}
		put(i, b.one(e, i, x, w)...)
		if i == b.at {
			last = len(out)
		}
	}
	if b.p.g.LookingForBundles {
		put(-1, "  "+t.Busy.Render(g.Running+" "+e.P.T("wizard.bundle.looking")))
	} else if len(b.p.g.Bundles) == 0 {
		none := "wizard.bundle.none"
		if b.p.svc.Build != nil {
			none = "wizard.bundle.build"
		}
		for _, l := range wrapped(e.P.T(none), w-2) {
			put(-1, "  "+t.Dim.Render(l))
		}
	}
	var foot []string
	var cursor *tea.Cursor
	if b.asks {
		foot, cursor = b.field(e, w)
	}
	room := max(1, h-len(foot))
	top := 0
	if last > room {
		top = min(first, last-room)
	}
	b.rows = b.rows[top:min(len(b.rows), top+room)]
	out = out[top:min(len(out), top+room)]
	if cursor != nil {
		cursor.Y += len(out)
	}
	return append(out, foot...), cursor
}

// field is where a path is typed.
func (b *bundles) field(e *frame.Env, w int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{""}
	for _, l := range wrapped(e.P.T("wizard.path.about"), w) {
		out = append(out, t.Dim.Render(l))
	}
	label := e.P.T("wizard.path.label") + " "
	text, x := b.path.Shown(w - widget.Width(label) - 3)
	out = append(out, t.Strong.Render(label)+t.Chosen.Render(t.Glyphs.Prompt)+" "+text)
	return out, tea.NewCursor(widget.Width(label)+2+x, len(out)-1)
}

// one are the lines of a bundle.
func (b *bundles) one(e *frame.Env, i int, x draft.Bundle, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	pointer, style := " ", t.Text
	if i == b.at {
		pointer, style = g.Pointer, t.Strong
	}
	box := "[ ]"
	if b.p.g.Chosen(x.Path) {
		box = "[" + g.Bullet + "]"
	}
	l := new(widget.Line).Add(t.Chosen, pointer).Space(1).Add(t.Accent, box).Space(1)
	state, word := guide.BundleState(e.P, x)
	glyph, st := tone(e, state)
	said := glyph + " " + word
	name := widget.Cut(event.Clean(filepath.Base(x.Path)), w-l.Width()-widget.Width(said)-3, g.Cut)
	l.Add(style, name).To(w-widget.Width(said)-1).Add(st, said)
	head := l.String()
	if i == b.at {
		head = widget.Paint(t.Cursor, head, w, "")
	}
	out := []string{head}
	if m := x.Manifest; m != nil {
		parts := []string{"Kubernetes " + m.Kubernetes, m.Arch,
			guide.System(m), report.Size(x.Size), filepath.Dir(x.Path)}
		out = append(out, "      "+t.Dim.Render(widget.Cut(event.Clean(strings.Join(slices.DeleteFunc(parts,
			func(s string) bool {
				return s == ""
			}), "  ")), w-6, g.Cut)))
	}
	if x.Signed.Key != "" && (b.p.g.Chosen(x.Path) || i == b.at) {
		for _, s := range wrapped(event.Clean(e.P.Msg(x.Signed)), w-6) {
			out = append(out, "      "+t.Dim.Render(s))
		}
	}
	if x.Fault != nil {
		text, next := e.P.Fault(x.Fault)
		for _, s := range complaint(e, event.Error, event.Clean(text), event.Clean(next), w-6) {
			out = append(out, "      "+s)
		}
	}
	if x.Manifest != nil && (b.p.g.Chosen(x.Path) || i == b.at) {
		for _, r := range b.p.g.Against(e.P, "", x.Manifest) {
			for _, s := range complaint(e, r.Severity, r.Text, r.Next, w-6) {
				out = append(out, "      "+s)
			}
		}
	}
	return out
}
