package pages

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Make builds bundles: a few fields, then how far the build is, then what was built.
type Make struct {
	task
	net network
	d   *Deps
	use func(files []string) tea.Cmd // what is done with bundles
	add string                       // of i18n: the words for it

	offer  backend.BuildOffer
	have   bool
	at     int // the row under the cursor
	system int
	preset int // of the offer's, from 1; 0 is none
	arches map[string]bool
	dir    widget.Field
	spots  []int // the row on each line that was drawn last; -1 none

	building bool
	stop     context.CancelFunc
	stopping bool
	quitting bool // the program ends with the build
	progress backend.BuildProgress
	end      *backend.BuildEnd
	stopped  bool // the last build was stopped
	text     scrolled
}

// NewMake makes the page; Enter does with the bundles what use says, in the words of add.
func NewMake(d *Deps, add string, use func(files []string) tea.Cmd) *Make {
	return &Make{d: d, add: add, use: use, arches: map[string]bool{}, dir: widget.Field{Narrow: true}}
}

// NewTake is the page for one that has bundles built for it: use takes them, and they are back at that page.
func NewTake(d *Deps, use func(files []string)) *Make {
	return NewMake(d, "make.take", func(files []string) tea.Cmd {
		use(files)
		return frame.Send(frame.Pop{})
	})
}

// Init implements frame.Page.
func (p *Make) Init(*frame.Env) tea.Cmd {
	get := p.d.Builds
	return p.task.start(event.M("make.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get.Offer(ctx)
	})
}

// Update implements frame.Page.
func (p *Make) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	switch x := result.(type) {
	case backend.BuildOffer:
		p.offer, p.have = x, done
		p.arches[x.Arch] = true
		p.dir.Set(x.Out)
		p.system = max(0, slices.IndexFunc(x.Systems, func(s backend.BuildSystem) bool { return s.ID == x.Usual }))
		p.at = p.system
		return tea.Batch(c, p.reach())
	case backend.BuildProgress:
		p.progress = x
	case backend.BuildEnd:
		return p.ended(x)
	}
	return tea.Batch(c, p.net.take(m))
}

// reach asks whether there is a network.
func (p *Make) reach() tea.Cmd { return p.net.ask(p.d.Builds, p.order()) }

// order is what is to be built.
func (p *Make) order() backend.Build {
	b := backend.Build{System: p.offer.Systems[p.system].ID, Out: strings.TrimSpace(p.dir.Value())}
	for _, a := range arches() {
		if p.arches[a] {
			b.Arches = append(b.Arches, a)
		}
	}
	if p.preset > 0 {
		b.Preset = p.offer.Presets[p.preset-1]
	}
	return b
}

// arches are those that a bundle can be for.
func arches() []string { return []string{"amd64", "arm64"} }

// begin builds.
func (p *Make) begin(e *frame.Env) tea.Cmd {
	b, get := p.order(), p.d.Builds
	switch {
	case len(b.Arches) == 0:
		return frame.Send(frame.Note{Text: e.P.T("make.no-arch")})
	case b.Out == "":
		return frame.Send(frame.Note{Text: e.P.T("make.no-dir")})
	}
	p.net.Close()
	p.building, p.stopping, p.stopped, p.end = true, false, false, nil
	p.text = scrolled{}
	p.progress = backend.BuildProgress{Resolving: true, Total: backend.BuildRow{Total: -1, Left: -1}}
	own, cancel := context.WithCancel(context.Background()) // the page's: it stays until the build has ended
	p.stop = cancel
	return p.task.show(event.M("make.building"), func(ctx context.Context, to *teller) (any, error) {
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return get.Build(own, b, func(x backend.BuildProgress) { to.moved(x) }), nil
	})
}

// ended takes how the build ended.
func (p *Make) ended(x backend.BuildEnd) tea.Cmd {
	p.building, p.end = false, &x
	if p.stopping && len(x.Bundles) == 0 {
		p.end, p.stopped = nil, true
	}
	if p.quitting {
		return frame.Send(frame.Quit{})
	}
	return nil
}

// files are the bundles that were built.
func (p *Make) files() []string {
	var out []string
	for _, b := range p.end.Bundles {
		out = append(out, b.Path)
	}
	return out
}

// Back implements frame.Backer: out of a build only after it was asked; from faults to the fields.
func (p *Make) Back(*frame.Env) (tea.Cmd, bool) {
	switch {
	case p.building:
		return p.askStop(false), false
	case p.end != nil && len(p.end.Bundles) == 0:
		p.end = nil
		return nil, false
	}
	return nil, true
}

// Leaving implements frame.Leaver.
func (p *Make) Leaving(*frame.Env) (tea.Cmd, bool) {
	if !p.building {
		return nil, false
	}
	return p.askStop(true), true
}

// askStop asks whether the build is to be stopped, and the program to end then.
func (p *Make) askStop(quit bool) tea.Cmd {
	if p.stopping {
		p.quitting = p.quitting || quit
		return nil
	}
	return frame.Send(frame.Ask{
		Title: event.M("make.stop.title"), Lines: []event.Msg{event.M("make.stop.about")}, Default: 1,
		Choices: []frame.Choice{
			{Key: "s", Word: "make.stop.yes", Do: func() tea.Cmd {
				if !p.building { // it ended meanwhile
					return nil
				}
				p.stopping, p.quitting = true, quit
				p.stop()
				return nil
			}},
			{Key: "g", Word: "make.stop.no"},
		},
	})
}

// Close implements frame.Closer.
func (p *Make) Close() {
	p.task.Close()
	p.net.Close()
}

// Gauge implements frame.Gauge.
func (p *Make) Gauge(*frame.Env) *tea.ProgressBar {
	t := p.progress.Total
	if !p.building || t.Total <= 0 {
		return nil
	}
	return tea.NewProgressBar(tea.ProgressBarDefault, int(100*t.Done/t.Total))
}

// The groups of rows.
type makeGroup int

const (
	ofSystem makeGroup = iota
	ofArch
	ofPreset
	ofDir
	ofGo
)

// sizes are how many rows each group has.
func (p *Make) sizes() []int {
	return []int{len(p.offer.Systems), len(arches()), 1 + len(p.offer.Presets), 1, 1}
}

// where is the group of a row, and its place in it.
func (p *Make) where(row int) (makeGroup, int) {
	for g, n := range p.sizes() {
		if row < n {
			return makeGroup(g), row
		}
		row -= n
	}
	return ofGo, 0
}

// first is the first row of a group.
func (p *Make) first(g makeGroup) int {
	n := 0
	for _, size := range p.sizes()[:g] {
		n += size
	}
	return n
}

// filling says whether the fields are shown.
func (p *Make) filling() bool { return p.have && !p.building && p.end == nil }

// Typing implements frame.Typer.
func (p *Make) Typing() bool {
	g, _ := p.where(p.at)
	return p.filling() && g == ofDir
}

// Type implements frame.Page.
func (p *Make) Type(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	if !p.Typing() {
		return nil, false
	}
	if m.String() == "tab" {
		return frame.CompletePath(e, &p.dir, nil, p.next), true
	}
	return nil, p.dir.Key(m)
}

// Paste implements frame.Paster.
func (p *Make) Paste(text string, e *frame.Env) tea.Cmd {
	if !p.Typing() {
		return frame.Send(frame.Note{Text: e.P.T("ui.paste.nowhere")})
	}
	p.dir.Insert(text)
	return nil
}

func (p *Make) move(n int) func() tea.Cmd {
	return func() tea.Cmd {
		p.at = min(max(0, p.at+n), p.first(ofGo))
		return nil
	}
}

// next goes to the next group: where a choice is to be made, to what is chosen.
func (p *Make) next() tea.Cmd {
	g, _ := p.where(p.at)
	g = min(g+1, ofGo)
	p.at = p.first(g)
	if g == ofPreset {
		p.at += p.preset
	}
	return nil
}

// choose takes the row under the cursor.
func (p *Make) choose() tea.Cmd {
	switch g, i := p.where(p.at); g {
	case ofSystem:
		p.system = i
	case ofArch:
		p.arches[arches()[i]] = !p.arches[arches()[i]]
	case ofPreset:
		if p.preset != i {
			p.preset = i
			return p.reach() // other servers
		}
	}
	return nil
}

// enter chooses and goes on, and begins on the last row.
func (p *Make) enter(e *frame.Env) tea.Cmd {
	g, _ := p.where(p.at)
	var c tea.Cmd
	switch g {
	case ofGo:
		return p.begin(e)
	case ofSystem, ofPreset:
		c = p.choose()
	}
	return tea.Batch(c, p.next())
}

// Keys implements frame.Page.
func (p *Make) Keys(e *frame.Env) []frame.Binding {
	switch {
	case !p.have:
		return nil
	case p.building:
		return append(p.text.keys(), frame.Binding{Keys: []string{"s"}, Word: "make.stop.key",
			Do: func() tea.Cmd { return p.askStop(false) }, Now: true})
	case p.end != nil && len(p.end.Bundles) > 0:
		return append([]frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: p.add,
			Do: func() tea.Cmd { return p.use(p.files()) }}}, p.text.keys()...)
	case p.end != nil:
		return append([]frame.Binding{{Keys: []string{"r"}, Word: "ui.key.retry",
			Do: func() tea.Cmd { return p.begin(e) }}}, p.text.keys()...)
	}
	keys := []frame.Binding{
		{Keys: []string{"up", "k", "shift+tab"}, Show: "↑ ↓", Word: "ui.key.move", Do: p.move(-1)},
		{Keys: []string{"down", "j"}, Do: p.move(1), Help: true},
		{Keys: []string{"tab"}, Show: "Tab", Word: "ui.key.next", Do: p.next, Help: true},
		{Keys: []string{"home", "g"}, Do: p.move(-99), Help: true},
		{Keys: []string{"end", "G"}, Do: p.move(99), Help: true},
	}
	switch g, _ := p.where(p.at); g {
	case ofGo:
		return append(keys, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "make.go",
			Do: func() tea.Cmd { return p.begin(e) }})
	case ofDir:
		keys = append(keys, frame.Binding{Keys: []string{"tab"}, Show: "Tab", Word: "ui.key.complete"})
	default:
		keys = append(keys, frame.Binding{Keys: []string{"space", "x"}, Show: "Space", Word: "ui.key.choose",
			Do: p.choose})
	}
	return append(keys, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.next",
		Do: func() tea.Cmd { return p.enter(e) }})
}

// Wheel implements frame.Wheeler.
func (p *Make) Wheel(n int, _ *frame.Env) tea.Cmd {
	if p.filling() {
		return p.move(max(-1, min(1, n)))()
	}
	return p.text.by(n)()
}

// Click implements frame.Clicker: what is clicked is chosen.
func (p *Make) Click(_, y int, e *frame.Env) tea.Cmd {
	if !p.filling() || y < 0 || y >= len(p.spots) || p.spots[y] < 0 {
		return nil
	}
	p.at = p.spots[y]
	if g, _ := p.where(p.at); g == ofGo {
		return p.begin(e)
	}
	return p.choose()
}

// Aside implements frame.Asider.
func (p *Make) Aside(e *frame.Env) string {
	if p.filling() {
		return ""
	}
	return below(e, p.text.n-p.text.h-p.text.top)
}

// Title implements frame.Page.
func (p *Make) Title(e *frame.Env) string { return e.P.T("menu.build") }
