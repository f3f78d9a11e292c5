package wizard

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
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
	for _, arch := range b.p.arches() {
		path := b.p.g.Draft.Value(config.BundleKey(arch))
		count := 0
		for _, m := range b.p.g.Draft.Machines {
			if cmp.Or(m.Arch, "amd64") == arch {
				count++
			}
		}
		l := new(widget.Line).Add(t.Strong, widget.Fit(arch, 6, "")).Space(1).Add(t.Dim,
			e.P.T("wizard.bundle.machines", "count", itoa(count))).Space(2)
		if path == "" {
			put(-1, l.Add(t.Warn, g.Ignored+" "+e.P.T("wizard.bundle.needed")).String())
		} else {
			glyph, st := b.mark(e, path)
			put(-1, l.Add(st, glyph).Space(1).Add(t.Text, widget.Cut(event.Clean(path), w-l.Width()-2, g.Cut)).String())
		}
	}
	put(-1, "")
	b.now()
	var last, first int
	for i, x := range b.p.bundles {
		if i == b.at {
			first = len(out)
		}
		put(i, b.one(e, i, x, w)...)
		if i == b.at {
			last = len(out)
		}
	}
	if b.busy {
		put(-1, "  "+t.Busy.Render(g.Running+" "+e.P.T("wizard.bundle.looking")))
	} else if len(b.p.bundles) == 0 {
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

// mark is how the bundle stands that is chosen: proven is what it is, not that it is named.
func (b *bundles) mark(e *frame.Env, path string) (string, widget.Ink) {
	t, g := e.Theme, e.Theme.Glyphs
	i := slices.IndexFunc(b.p.bundles, func(x draft.Bundle) bool { return x.Path == path })
	switch {
	case i < 0:
		return g.Waiting, t.Idle
	case b.p.bundles[i].Fault != nil, b.p.bundles[i].Manifest != nil && len(b.p.misfits(b.p.bundles[i].Manifest)) > 0 &&
		len(b.p.unserved()) > 0:
		return g.Failed, t.Bad
	case !b.p.bundles[i].Verified:
		return g.Running, t.Busy
	}
	return g.OK, t.Good
}

// one are the lines of a bundle.
func (b *bundles) one(e *frame.Env, i int, x draft.Bundle, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	pointer, style := " ", t.Text
	if i == b.at {
		pointer, style = g.Pointer, t.Strong
	}
	box := "[ ]"
	if b.p.chosen(x.Path) {
		box = "[" + g.Bullet + "]"
	}
	l := new(widget.Line).Add(t.Chosen, pointer).Space(1).Add(t.Accent, box).Space(1)
	glyph, st, word := g.Waiting, t.Idle, e.P.T("wizard.bundle.found")
	switch {
	case x.Fault != nil:
		glyph, st, word = g.Failed, t.Bad, e.P.T(badBundle(x.Fault))
	case x.Verified:
		glyph, st, word = g.OK, t.Good, e.P.T("wizard.bundle.proven")
	case x.Size > 0 && x.Done > 0:
		glyph, st, word = g.Running, t.Busy, e.P.T("wizard.bundle.proving", "percent", itoa(int(x.Done*100/x.Size)))
	}
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
			strings.TrimSpace(m.OS.ID + " " + cmp.Or(m.OS.Codename, m.OS.Release)), report.Size(x.Size),
			filepath.Dir(x.Path)}
		out = append(out, "      "+t.Dim.Render(widget.Cut(event.Clean(strings.Join(slices.DeleteFunc(parts,
			func(s string) bool {
				return s == ""
			}), "  ")), w-6, g.Cut)))
	}
	if x.Signed.Key != "" && (b.p.chosen(x.Path) || i == b.at) {
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
	if x.Manifest != nil && (b.p.chosen(x.Path) || i == b.at) {
		for _, s := range b.against(e, x, w-6) {
			out = append(out, "      "+s)
		}
	}
	return out
}

// badBundle is the word for what cannot be installed from: a file that is none is not damaged.
func badBundle(f *event.Fault) string {
	switch f.Code {
	case "bundle.open":
		return "wizard.bundle.unreadable"
	case "bundle.not-gzip", "bundle.not-tar", "bundle.text", "bundle.no-manifest", "bundle.none-here":
		return "wizard.bundle.none-such"
	}
	if f.Code == "bundle.outside" || strings.HasPrefix(f.Code, "trust.") || strings.HasPrefix(f.Code, "sign.") {
		return "wizard.bundle.refused"
	}
	return "wizard.bundle.bad"
}

// against holds a bundle against the machines and what the draft names.
func (b *bundles) against(e *frame.Env, x draft.Bundle, w int) []string {
	var out []string
	if !slices.Contains(b.p.arches(), x.Manifest.Arch) && len(b.p.g.Draft.Machines) > 0 {
		out = append(out, complaint(e, event.Warning, e.P.T("wizard.bundle.no-machine", "arch", x.Manifest.Arch), "",
			w)...)
	}
	if who := b.p.misfits(x.Manifest); len(who) > 0 {
		out = append(out, complaint(e, event.Error, e.P.T("wizard.bundle.other-os", "nodes",
			strings.Join(who[:min(len(who), 5)], ", "), "os",
			strings.TrimSpace(x.Manifest.OS.ID+" "+x.Manifest.OS.Codename)), e.P.T("wizard.bundle.other-os.next"),
			w)...)
	}
	if b.p.g.Cluster != nil {
		for _, p := range b.p.g.Cluster.MissingFrom(x.Manifest) {
			text, next := words(e, p)
			out = append(out, complaint(e, p.Severity, text, next, w)...)
		}
		for _, p := range config.CheckFlags(b.p.g.Cluster, x.Manifest.Kubernetes) {
			text, next := words(e, p)
			out = append(out, complaint(e, p.Severity, text, next, w)...)
		}
	}
	return out
}
