package pages

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Pick chooses a cluster.
type Pick struct {
	d    *Deps
	id   string // of the menu's entry
	of   []request.ClusterRuns
	page func(request.ClusterRuns) frame.Page
	list list // over those that the filter lets through

	filter filter
	first  int // line of the first row, as drawn last
}

// NewPick makes the page; the page of the cluster that is chosen takes its place on top.
func NewPick(d *Deps, id string, of []request.ClusterRuns, page func(request.ClusterRuns) frame.Page) *Pick {
	return &Pick{d: d, id: id, of: of, page: page}
}

// Init implements frame.Page.
func (p *Pick) Init(*frame.Env) tea.Cmd { return nil }

// Update implements frame.Page.
func (p *Pick) Update(tea.Msg, *frame.Env) tea.Cmd { return nil }

// Type implements frame.Page.
func (p *Pick) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) { return nil, p.filter.take(m) }

// Paste implements frame.Page.
func (p *Pick) Paste(text string, _ *frame.Env) tea.Cmd {
	p.filter.paste(text)
	return nil
}

// Typing implements frame.Typer.
func (p *Pick) Typing() bool { return p.filter.typing }

// shown are the clusters that the filter lets through.
func (p *Pick) shown() []request.ClusterRuns {
	return slices.DeleteFunc(slices.Clone(p.of), func(c request.ClusterRuns) bool {
		return !p.filter.fits(map[string]string{"name": c.Name, "state": c.Said()})
	})
}

func (p *Pick) enter() tea.Cmd {
	if of := p.shown(); p.list.at < len(of) {
		return push(p.page(of[p.list.at]))
	}
	return nil
}

// Keys implements frame.Page.
func (p *Pick) Keys(*frame.Env) []frame.Binding {
	if p.filter.typing {
		return append(p.filter.typed(), p.list.keys()...)
	}
	return append(append(p.list.keys(), frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.choose",
		Do: p.enter, Now: true}), p.filter.keys()...)
}

// Wheel implements frame.Wheeler.
func (p *Pick) Wheel(n int, _ *frame.Env) tea.Cmd { p.list.move(n); return nil }

// Click implements frame.Clicker.
func (p *Pick) Click(_, y int, _ *frame.Env) tea.Cmd {
	if i := p.list.top + y - p.first; y >= p.first && i < len(p.shown()) {
		p.list.at = i
		return p.enter()
	}
	return nil
}

// Render implements frame.Page.
func (p *Pick) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	of := p.shown()
	out := []string{"   " + e.Theme.Dim.Render(e.P.T("menu.which")), ""}
	if p.filter.typing || p.filter.text != "" {
		out = append(out, p.filter.line(e, len(of), len(p.of), w))
		if len(of) == 0 {
			out = append(out, "   "+e.Theme.Dim.Render(widget.Cut(e.P.T("runs.no-match"), w-6, e.Theme.Glyphs.Cut)))
		}
	}
	p.first = len(out)
	name := 8
	for _, c := range p.of {
		name = max(name, widget.Width(event.Clean(c.Name)))
	}
	from, to := p.list.sight(len(of), h-len(out))
	for i := from; i < to; i++ {
		out = append(out, row(e, i == p.list.at, clusterLine(e, of[i], w-3, min(name, w/2)), w))
	}
	return out, nil
}

// Title implements frame.Page.
func (p *Pick) Title(e *frame.Env) string { return e.P.T("menu." + p.id) }
