package wizard

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
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

func (b *bundles) typing() bool   { return b.asks }
func (b *bundles) id() guide.Step { return guide.BundleStep }
func (b *bundles) leave()         { b.p.snapshot() }
func (b *bundles) wheel(n int)    { b.at += n }
func (b *bundles) scrolls() bool  { return false }

// standing implements stander: a bundle that is chosen and damaged, or for other machines, is as wrong as none.
func (b *bundles) standing() standing {
	if b.busy && len(b.p.bundles) == 0 {
		return standing{busy: true} // whether one is missing is not known yet
	}
	errors, _ := b.p.g.ProblemsOf(b.id()).Count()
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
	paths := []string{p.g.Draft.Value("package-src.x86src"), p.g.Draft.Value("package-src.armsrc")}
	paths = append(paths, config.Items(p.g.Draft.Value("eggo.bundles"))...)
	for i, path := range paths {
		if path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			paths[i] = filepath.Join(filepath.Dir(p.g.Target()), path)
		}
	}
	paths = slices.DeleteFunc(append(paths, p.built...), func(s string) bool { return s == "" })
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
		if key := config.BundleKey(arch); p.g.Draft.Value(key) == "" && p.g.Draft.Value("eggo.bundles") == "" {
			var fit []draft.Bundle
			for _, o := range p.bundles {
				if o.Manifest != nil && o.Fault == nil && o.Manifest.Arch == arch && len(p.misfits(o.Manifest)) == 0 {
					fit = append(fit, o)
				}
			}
			only := len(fit) == 1 || slices.Contains(p.built, x.Path) // who built it wants it
			if only && x.Verified && slices.ContainsFunc(fit, func(o draft.Bundle) bool { return o.Path == x.Path }) {
				p.g.Draft.Set(key, x.Path)
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
	for _, m := range p.g.Draft.Machines {
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
	return p.g.Draft.Value("package-src.x86src") == path || p.g.Draft.Value("package-src.armsrc") == path ||
		slices.Contains(config.Items(p.g.Draft.Value("eggo.bundles")), path)
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
	for _, x := range p.g.Draft.Machines {
		if l := p.g.Probe(x); l != nil && l.Stage == draft.Seen && l.Arch == m.Arch && !fits(m, l) {
			out = append(out, x.Name)
		}
	}
	return out
}

// unserved are the machines whose operating system none of the bundles is for that are chosen for their architecture.
func (p *Page) unserved() []string {
	var out []string
	for _, x := range p.g.Draft.Machines {
		l := p.g.Probe(x)
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
	more := config.Items(p.g.Draft.Value("eggo.bundles"))
	key := config.BundleKey(x.Manifest.Arch)
	switch {
	case p.g.Draft.Value(key) == x.Path:
		p.g.Draft.Set(key, "")
	case slices.Contains(more, x.Path):
		more = slices.DeleteFunc(more, func(s string) bool { return s == x.Path })
	case p.g.Draft.Value(key) == "":
		p.g.Draft.Set(key, x.Path)
	default:
		more = append(more, x.Path)
	}
	p.g.Draft.Set("eggo.bundles", strings.Join(more, ", "))
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

// build leads to the page that builds bundles.
func (b *bundles) build() tea.Cmd {
	return frame.Send(frame.Push{Page: b.p.svc.Build(b.p.Built)})
}

// Built takes bundles that were built just now: they are chosen before others that fit.
func (p *Page) Built(files []string) { p.built = append(p.built, files...) }

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
	keys := []frame.Binding{
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
	if b.p.svc.Build != nil {
		keys = append(keys, frame.Binding{Keys: []string{"b"}, Word: "wizard.key.build", Do: b.build, Now: true})
	}
	return keys
}
