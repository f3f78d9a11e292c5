package wizard

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/report"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// bundles is the choice of what is installed from.
type bundles struct {
	p      *Page
	at     int
	rows   []int
	looked bool
	busy   bool

	asks bool         // a path is typed
	path widget.Field // it stays until it was looked at
}

func newBundles(p *Page) step { return &bundles{p: p} }

func (b *bundles) typing() bool  { return b.asks }
func (b *bundles) id() string    { return "bundle" }
func (b *bundles) leave()        { b.p.snapshot() }
func (b *bundles) wheel(n int)   { b.at += n }
func (b *bundles) scrolls() bool { return false }

func (b *bundles) owns(key string) bool {
	return under(key, "package-src.x86src") || under(key, "package-src.armsrc") || under(key, "eggo.bundles")
}

// standing implements stander: a bundle that is chosen and damaged, or for other machines, is as wrong as none.
func (b *bundles) standing() standing {
	errors, _ := b.p.problemsOf(b).Count()
	at := standing{errors: errors}
	for _, x := range b.p.bundles {
		switch {
		case !b.p.chosen(x.Path):
		case x.Fault != nil:
			at.errors++
		case !x.Verified:
			at.busy = true
		}
	}
	if len(b.p.unserved()) > 0 {
		at.errors++
	}
	return at
}

type bundlesEnded struct{}

func (b *bundles) enter(*frame.Env) tea.Cmd {
	if b.busy {
		return nil
	}
	if b.looked {
		return b.p.changed()
	}
	return b.look()
}

// look finds what there is, with what the draft names already.
func (b *bundles) look() tea.Cmd {
	b.looked, b.busy = true, true
	p := b.p
	paths := []string{p.draft.Values["package-src.x86src"], p.draft.Values["package-src.armsrc"]}
	paths = append(paths, config.Items(p.draft.Values["eggo.bundles"])...)
	for i, path := range paths {
		if path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			paths[i] = filepath.Join(filepath.Dir(p.target()), path)
		}
	}
	paths = slices.DeleteFunc(paths, func(s string) bool { return s == "" })
	for _, x := range p.bundles {
		if !slices.Contains(paths, x.Path) {
			paths = append(paths, x.Path)
		}
	}
	return tells(p.ctx, func(tell func(tea.Msg)) {
		p.svc.Bundles(p.ctx, paths, func(x draft.Bundle) { tell(x) })
		tell(bundlesEnded{})
	})
}

func (b *bundles) update(m tea.Msg, _ *frame.Env) tea.Cmd {
	if _, is := m.(bundlesEnded); is {
		b.busy = false
	}
	return nil
}

// found takes what is known of a bundle. One that is the only one that fits machines is chosen, if nothing else was.
func (p *Page) found(x draft.Bundle, _ *frame.Env) tea.Cmd {
	if i := slices.IndexFunc(p.bundles, func(o draft.Bundle) bool { return o.Path == x.Path }); i >= 0 {
		p.bundles[i] = x
	} else {
		p.bundles = append(p.bundles, x)
		slices.SortStableFunc(p.bundles, func(a, b draft.Bundle) int { return cmp.Compare(a.Path, b.Path) })
	}
	changed := false
	for _, arch := range p.arches() {
		if key := config.BundleKey(arch); p.draft.Values[key] == "" && p.draft.Values["eggo.bundles"] == "" {
			var fit []draft.Bundle
			for _, o := range p.bundles {
				if o.Manifest != nil && o.Fault == nil && o.Manifest.Arch == arch && len(p.misfits(o.Manifest)) == 0 {
					fit = append(fit, o)
				}
			}
			if len(fit) == 1 && x.Verified && fit[0].Path == x.Path {
				p.draft.Values[key] = fit[0].Path
				changed = true
			}
		}
	}
	if !changed {
		return nil
	}
	p.snapshot()
	return p.changed()
}

// arches of the machines.
func (p *Page) arches() []string {
	var out []string
	for _, m := range p.draft.Machines {
		a := cmp.Or(m.Arch, "amd64")
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

// chosen says whether the draft names the bundle.
func (p *Page) chosen(path string) bool {
	return p.draft.Values["package-src.x86src"] == path || p.draft.Values["package-src.armsrc"] == path ||
		slices.Contains(config.Items(p.draft.Values["eggo.bundles"]), path)
}

// fits says whether a bundle is for the operating system of a machine that was looked at.
func fits(m *bundle.Manifest, l *draft.Probe) bool {
	return m.OS.ID == "" || slices.Contains(strings.Fields(l.OSID), strings.ToLower(m.OS.ID)) &&
		(m.OS.Codename == "" || l.Codename == m.OS.Codename)
}

// misfits are the machines of the bundle's architecture whose operating system it is not for, as far as they were
// looked at.
func (p *Page) misfits(m *bundle.Manifest) []string {
	var out []string
	for _, x := range p.draft.Machines {
		if l := p.looks[draft.MachineKey(x)]; l != nil && l.Stage == draft.Seen && l.Arch == m.Arch && !fits(m, l) {
			out = append(out, x.Name)
		}
	}
	return out
}

// unserved are the machines whose operating system none of the bundles is for that are chosen for their architecture.
func (p *Page) unserved() []string {
	var out []string
	for _, x := range p.draft.Machines {
		l := p.looks[draft.MachineKey(x)]
		if l == nil || l.Stage != draft.Seen {
			continue
		}
		some, good := false, false
		for _, b := range p.bundles {
			if p.chosen(b.Path) && b.Manifest != nil && b.Manifest.Arch == l.Arch {
				some, good = true, good || fits(b.Manifest, l)
			}
		}
		if some && !good {
			out = append(out, x.Name)
		}
	}
	return out
}

// choose names the bundle, or takes it away. A second one of an architecture is one more, for machines of another
// operating system.
func (b *bundles) choose() tea.Cmd {
	p := b.p
	x, ok := b.now()
	if !ok || x.Manifest == nil {
		return nil
	}
	p.snapshot()
	more := config.Items(p.draft.Values["eggo.bundles"])
	key := config.BundleKey(x.Manifest.Arch)
	switch {
	case p.draft.Values[key] == x.Path:
		delete(p.draft.Values, key)
	case slices.Contains(more, x.Path):
		more = slices.DeleteFunc(more, func(s string) bool { return s == x.Path })
	case p.draft.Values[key] == "":
		p.draft.Values[key] = x.Path
	default:
		more = append(more, x.Path)
	}
	p.draft.Values["eggo.bundles"] = strings.Join(more, ", ")
	if len(more) == 0 {
		delete(p.draft.Values, "eggo.bundles")
	}
	p.snapshot()
	return tea.Batch(p.changed(), p.save())
}

func (b *bundles) now() (draft.Bundle, bool) {
	b.at = min(max(b.at, 0), max(0, len(b.p.bundles)-1))
	if len(b.p.bundles) == 0 {
		return draft.Bundle{}, false
	}
	return b.p.bundles[b.at], true
}

// held implements holder.
func (b *bundles) held() map[string]string { return map[string]string{"bundle": b.path.Value()} }

func (b *bundles) hold(typed map[string]string) {
	b.path.Set(typed["bundle"])
	b.asks = b.path.Value() != ""
}

// typed: the field is open from the key on that opens it, so that what is typed right after it is the path.
func (b *bundles) typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	if !b.asks {
		return nil, false
	}
	if m.String() == "tab" {
		return frame.CompletePath(e, &b.path, b.p.changed, nil), true
	}
	if m.String() == "enter" {
		path := strings.TrimSpace(b.path.Value())
		b.asks = false
		b.path.Set("")
		return tea.Batch(b.p.changed(), b.addPath(path)), true
	}
	if !b.path.Key(m) {
		return nil, false
	}
	return b.p.changed(), true
}

// back closes the field; what stands in it is there again when it is opened.
func (b *bundles) back(*frame.Env) bool {
	was := b.asks
	b.asks = false
	return was
}

// paste takes a path, or several, a line each.
func (b *bundles) paste(text string, _ *frame.Env) tea.Cmd {
	if b.asks {
		b.path.Insert(text)
		return b.p.changed()
	}
	return b.addPath(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })...)
}

// addPath looks at files, or at all in directories.
func (b *bundles) addPath(paths ...string) tea.Cmd {
	var list []string
	for _, x := range paths {
		if x = strings.TrimSpace(x); x != "" {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return nil
	}
	p := b.p
	b.busy = true
	return tells(p.ctx, func(tell func(tea.Msg)) {
		p.svc.Bundles(p.ctx, list, func(x draft.Bundle) { tell(x) })
		tell(bundlesEnded{})
	})
}

func (b *bundles) click(_, y int, _ *frame.Env) tea.Cmd {
	if y < 0 || y >= len(b.rows) || b.rows[y] < 0 {
		return nil
	}
	if b.at == b.rows[y] {
		return b.choose()
	}
	b.at = b.rows[y]
	return nil
}

func (b *bundles) keys(e *frame.Env) []frame.Binding {
	if b.asks {
		return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.look", Do: func() tea.Cmd {
			return nil
		}}}
	}
	return []frame.Binding{
		{Keys: []string{"space"}, Show: "Space", Word: "wizard.key.choose", Do: b.choose},
		{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.on", Do: func() tea.Cmd {
			if x, ok := b.now(); ok && x.Manifest != nil &&
				!slices.ContainsFunc(b.p.bundles, func(o draft.Bundle) bool { return b.p.chosen(o.Path) }) {
				return b.choose()
			}
			return b.p.next(e)
		}},
		{Keys: []string{"a"}, Word: "wizard.key.path", Do: func() tea.Cmd { b.asks = true; return nil }},
		{Keys: []string{"r"}, Word: "wizard.key.again", Do: b.look},
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "wizard.key.move", Do: func() tea.Cmd { b.at--; return nil },
			Help: true},
		{Keys: []string{"down", "j"}, Do: func() tea.Cmd { b.at++; return nil }, Help: true},
		{Keys: []string{"u"}, Word: "wizard.key.undo", Do: func() tea.Cmd { return b.p.undo(e) }},
	}
}

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
		path := b.p.draft.Values[config.BundleKey(arch)]
		count := 0
		for _, m := range b.p.draft.Machines {
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
		for _, l := range wrapped(e.P.T("wizard.bundle.none"), w-2) {
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
	if !slices.Contains(b.p.arches(), x.Manifest.Arch) && len(b.p.draft.Machines) > 0 {
		out = append(out, complaint(e, event.Warning, e.P.T("wizard.bundle.no-machine", "arch", x.Manifest.Arch), "",
			w)...)
	}
	if who := b.p.misfits(x.Manifest); len(who) > 0 {
		out = append(out, complaint(e, event.Error, e.P.T("wizard.bundle.other-os", "nodes",
			strings.Join(who[:min(len(who), 5)], ", "), "os",
			strings.TrimSpace(x.Manifest.OS.ID+" "+x.Manifest.OS.Codename)), e.P.T("wizard.bundle.other-os.next"),
			w)...)
	}
	if b.p.cluster != nil {
		for _, p := range b.p.cluster.MissingFrom(x.Manifest) {
			text, next := words(e, p)
			out = append(out, complaint(e, p.Severity, text, next, w)...)
		}
		for _, p := range config.CheckFlags(b.p.cluster, x.Manifest.Kubernetes) {
			text, next := words(e, p)
			out = append(out, complaint(e, p.Severity, text, next, w)...)
		}
	}
	return out
}
