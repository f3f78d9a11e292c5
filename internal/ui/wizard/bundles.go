package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"

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

	asks bool         // a path is typed
	path widget.Field // it stays until it was looked at
}

func newBundles(p *Page) step { return &bundles{p: p} }

func (b *bundles) typing() bool   { return b.asks }
func (b *bundles) id() guide.Step { return guide.BundleStep }
func (b *bundles) leave()         { b.p.snapshot() }
func (b *bundles) wheel(n int)    { b.at += n }
func (b *bundles) scrolls() bool  { return false }

type bundlesEnded struct{}

func (b *bundles) enter(*frame.Env) tea.Cmd {
	if b.p.g.LookingForBundles {
		return nil
	}
	if b.looked {
		return b.p.changed()
	}
	return b.look()
}

// look finds what there is, with what the draft names already.
func (b *bundles) look() tea.Cmd {
	p := b.p
	b.looked, p.g.LookingForBundles = true, true
	paths := p.g.BundlePaths()
	return tells(p.ctx, func(tell func(tea.Msg)) {
		p.svc.Bundles(p.ctx, paths, func(x draft.Bundle) { tell(x) })
		tell(bundlesEnded{})
	})
}

func (b *bundles) update(m tea.Msg, _ *frame.Env) tea.Cmd {
	if _, is := m.(bundlesEnded); is {
		b.p.g.LookingForBundles = false
	}
	return nil
}

// found takes what is known of a bundle.
func (p *Page) found(x draft.Bundle, _ *frame.Env) tea.Cmd {
	if !p.g.FoundBundle(x) {
		return nil
	}
	return p.changed()
}

// choose names the bundle, or takes it away.
func (b *bundles) choose() tea.Cmd {
	x, ok := b.now()
	if !ok || x.Manifest == nil {
		return nil
	}
	b.p.g.ToggleBundle(x)
	return tea.Batch(b.p.changed(), b.p.save())
}

func (b *bundles) now() (draft.Bundle, bool) {
	b.at = min(max(b.at, 0), max(0, len(b.p.g.Bundles)-1))
	if len(b.p.g.Bundles) == 0 {
		return draft.Bundle{}, false
	}
	return b.p.g.Bundles[b.at], true
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
	p.g.LookingForBundles = true
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
func (p *Page) Built(files []string) { p.g.Built = append(p.g.Built, files...) }

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
				!b.p.g.AnyChosen() {
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
