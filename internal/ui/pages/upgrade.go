package pages

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Upgrade chooses the bundles that a cluster is upgraded with, and how that is done.
type Upgrade struct {
	task       // finds bundles
	leads task // asks where those that are chosen lead
	d     *Deps
	c     request.ClusterRuns

	found  backend.Upgrades
	have   bool
	way    backend.Way
	chosen map[string]bool
	added  []string // paths that were typed
	at     int      // the row under the cursor
	top    int      // the first line in sight
	path   widget.Field
	texts  []widget.Field
	boxes  []bool
	spots  []int // the row on each line that was drawn last; -1 none
}

// The options that are typed, and those that are on or off, in the order of their rows.
func upgradeTexts() []string { return []string{"soak", "batch", "drain", "window", "probe"} }
func upgradeBoxes() []string { return []string{"packages", "force"} }

// NewUpgrade makes the page.
func NewUpgrade(d *Deps, c request.ClusterRuns) *Upgrade {
	p := &Upgrade{d: d, c: c, chosen: map[string]bool{}, path: widget.Field{Narrow: true},
		boxes: make([]bool, len(upgradeBoxes()))}
	usual := backend.UsualUpgrade()
	for _, text := range []string{usual.Soak, usual.Batch, usual.Drain, usual.Window, usual.Probe} {
		f := widget.Field{}
		f.Set(text)
		p.texts = append(p.texts, f)
	}
	return p
}

// options are those that the rows have.
func (p *Upgrade) options() backend.UpgradeOptions {
	text := func(i int) string { return strings.TrimSpace(p.texts[i].Value()) }
	return backend.UpgradeOptions{Soak: text(0), Batch: text(1), Drain: text(2), Window: text(3), Probe: text(4),
		Packages: p.boxes[0], Force: p.boxes[1]}
}

// Init implements frame.Page.
func (p *Upgrade) Init(*frame.Env) tea.Cmd { return p.find() }

// find looks for bundles, also where the paths lead that were typed.
func (p *Upgrade) find() tea.Cmd {
	get, name, paths := p.d.S.Upgrades, p.c.Name, slices.Clone(p.added)
	return p.task.start(event.M("upgrade.finding"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get(ctx, name, paths)
	})
}

// Update implements frame.Page.
func (p *Upgrade) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if x, ok := result.(backend.Upgrades); ok && done {
		return tea.Batch(c, p.know(x))
	}
	more, result, done := p.leads.take(m)
	if x, ok := result.(backend.Way); ok && done {
		p.way = x
	}
	return tea.Batch(c, more)
}

// know takes what was found. The bundles of the only newer version are chosen, one for each architecture and operating
// system, and those that were typed.
func (p *Upgrade) know(x backend.Upgrades) tea.Cmd {
	row, first := p.at-len(p.found.Bundles), !p.have
	p.found, p.have = x, true
	versions := map[string]bool{}
	for _, b := range x.Bundles {
		versions[b.Kubernetes] = true
	}
	served := map[[2]string]bool{}
	for _, b := range x.Bundles {
		if _, known := p.chosen[b.Path]; !known {
			serves := [2]string{b.Arch, b.OS}
			p.chosen[b.Path] = b.Fault == nil && (b.Named || first && len(versions) == 1 && !served[serves])
			served[serves] = served[serves] || p.chosen[b.Path]
		}
	}
	if p.at = row + len(x.Bundles); first {
		p.at = 0
	}
	return p.lead()
}

// lead asks where the bundles lead.
func (p *Upgrade) lead() tea.Cmd {
	get, name, paths := p.d.S.Way, p.c.Name, p.paths()
	p.way = backend.Way{From: p.found.From}
	if len(paths) == 0 {
		p.leads.Close()
		p.leads = task{}
		return nil
	}
	return p.leads.start(event.M("upgrade.finding"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get(ctx, name, paths)
	})
}

// paths are those of the bundles that are chosen.
func (p *Upgrade) paths() []string {
	var out []string
	for _, b := range p.found.Bundles {
		if p.chosen[b.Path] {
			out = append(out, b.Path)
		}
	}
	return out
}

// check shows what would be done; the run begins from there.
func (p *Upgrade) check(e *frame.Env) tea.Cmd {
	paths := p.paths()
	q, err := p.options().Request(p.c.Name, paths)
	switch {
	case len(paths) == 0:
		return frame.Send(frame.Note{Text: e.P.T("upgrade.no-bundle")})
	case err != nil:
		text, next := e.P.FaultIn("form", event.AsFault(err))
		return frame.Send(frame.Note{Text: strings.TrimSpace(text + " " + next)})
	case p.leads.fault != nil:
		text, _ := e.P.Fault(p.leads.fault)
		return frame.Send(frame.Note{Text: text})
	case p.leads.busy:
		return nil
	}
	return push(newUpgradeCheck(p.d, p.c, p.way, q))
}

// Close implements frame.Closer.
func (p *Upgrade) Close() {
	p.task.Close()
	p.leads.Close()
}

// The groups of rows.
type upgradeGroup int

const (
	ofBundles upgradeGroup = iota
	ofPath
	ofTexts
	ofBoxes
	ofCheck
)

// where is the group of a row, and its place in it.
func (p *Upgrade) where(row int) (upgradeGroup, int) {
	for g, n := range []int{len(p.found.Bundles), 1, len(p.texts), len(p.boxes)} {
		if row < n {
			return upgradeGroup(g), row
		}
		row -= n
	}
	return ofCheck, 0
}

func (p *Upgrade) rows() int { return len(p.found.Bundles) + 1 + len(p.texts) + len(p.boxes) + 1 }

// field under the cursor, nil if there is none.
func (p *Upgrade) field() *widget.Field {
	switch g, i := p.where(p.at); {
	case !p.have:
	case g == ofPath:
		return &p.path
	case g == ofTexts:
		return &p.texts[i]
	}
	return nil
}

// Typing implements frame.Typer.
func (p *Upgrade) Typing() bool { return p.field() != nil }

// Type implements frame.Page.
func (p *Upgrade) Type(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	f := p.field()
	if f == nil {
		return nil, false
	}
	if m.String() == "tab" && f == &p.path {
		return frame.CompletePath(e, f, nil, p.move(1)), true
	}
	return nil, f.Key(m)
}

// Paste implements frame.Paster.
func (p *Upgrade) Paste(text string, e *frame.Env) tea.Cmd {
	f := p.field()
	if f == nil {
		return frame.Send(frame.Note{Text: e.P.T("ui.paste.nowhere")})
	}
	f.Insert(text)
	return nil
}

func (p *Upgrade) move(n int) func() tea.Cmd {
	return func() tea.Cmd {
		p.at = min(max(0, p.at+n), p.rows()-1)
		return nil
	}
}

// choose turns the row under the cursor on or off.
func (p *Upgrade) choose() tea.Cmd {
	switch g, i := p.where(p.at); g {
	case ofBundles:
		if b := p.found.Bundles[i]; b.Fault == nil {
			p.chosen[b.Path] = !p.chosen[b.Path]
		}
		return p.lead()
	case ofBoxes:
		p.boxes[i] = !p.boxes[i]
	}
	return nil
}

// enter takes a path that was typed, continues with the next row, and checks on the last one.
func (p *Upgrade) enter(e *frame.Env) tea.Cmd {
	g, _ := p.where(p.at)
	switch path := strings.TrimSpace(p.path.Value()); {
	case g == ofCheck:
		return p.check(e)
	case g == ofPath && path != "":
		p.added = append(p.added, path)
		p.path.Set("")
		return p.find()
	}
	return p.move(1)()
}

// Keys implements frame.Page.
func (p *Upgrade) Keys(e *frame.Env) []frame.Binding {
	if !p.have {
		return []frame.Binding{{Keys: []string{"r"}, Word: "ui.key.again", Do: p.find}}
	}
	keys := []frame.Binding{
		{Keys: []string{"up", "k", "shift+tab"}, Show: "↑ ↓", Word: "ui.key.move", Do: p.move(-1)},
		{Keys: []string{"down", "j", "tab"}, Do: p.move(1), Help: true},
		{Keys: []string{"pgup"}, Do: p.move(-5), Help: true},
		{Keys: []string{"pgdown"}, Do: p.move(5), Help: true},
		{Keys: []string{"home", "g"}, Do: p.move(-1 << 20), Help: true},
		{Keys: []string{"end", "G"}, Do: p.move(1 << 20), Help: true},
	}
	word := "ui.key.next"
	switch g, _ := p.where(p.at); g {
	case ofBundles, ofBoxes:
		keys = append(keys, frame.Binding{Keys: []string{"space", "x"}, Show: "Space", Word: "ui.key.choose",
			Do: p.choose})
	case ofPath:
		keys = append(keys, frame.Binding{Keys: []string{"tab"}, Show: "Tab", Word: "ui.key.complete"})
	case ofCheck:
		word = "upgrade.check"
	}
	return append(keys, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: word,
		Do: func() tea.Cmd { return p.enter(e) }, Now: true})
}

// Wheel implements frame.Wheeler.
func (p *Upgrade) Wheel(n int, _ *frame.Env) tea.Cmd { return p.move(max(-1, min(1, n)))() }

// Click implements frame.Clicker: what is clicked is chosen.
func (p *Upgrade) Click(_, y int, e *frame.Env) tea.Cmd {
	if y += p.top; !p.have || y < 0 || y >= len(p.spots) || p.spots[y] < 0 {
		return nil
	}
	p.at = p.spots[y]
	if g, _ := p.where(p.at); g == ofCheck {
		return p.check(e)
	}
	return p.choose()
}

// Title implements frame.Page.
func (p *Upgrade) Title(e *frame.Env) string { return e.P.T("menu.upgrade") }
