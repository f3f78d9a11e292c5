package pages

import (
	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Pick chooses a cluster.
type Pick struct {
	quiet
	d    *Deps
	id   string // of the menu's entry
	of   []jumphost.Cluster
	page func(jumphost.Cluster) frame.Page
	list list
}

// NewPick makes the page; the page of the cluster that is chosen takes its place on top.
func NewPick(d *Deps, id string, of []jumphost.Cluster, page func(jumphost.Cluster) frame.Page) *Pick {
	return &Pick{d: d, id: id, of: of, page: page}
}

// Init implements frame.Page.
func (p *Pick) Init(*frame.Env) tea.Cmd { return nil }

// Update implements frame.Page.
func (p *Pick) Update(tea.Msg, *frame.Env) tea.Cmd { return nil }

func (p *Pick) enter() tea.Cmd {
	if p.list.at < len(p.of) {
		return push(p.page(p.of[p.list.at]))
	}
	return nil
}

// Keys implements frame.Page.
func (p *Pick) Keys(*frame.Env) []frame.Binding {
	return append(p.list.keys(), frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.choose", Do: p.enter})
}

// Wheel implements frame.Wheeler.
func (p *Pick) Wheel(n int, _ *frame.Env) tea.Cmd { p.list.move(n); return nil }

// Click implements frame.Clicker.
func (p *Pick) Click(_, y int, _ *frame.Env) tea.Cmd {
	if i := p.list.top + y - 2; y >= 2 && i < len(p.of) {
		p.list.at = i
		return p.enter()
	}
	return nil
}

// Render implements frame.Page.
func (p *Pick) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	out := []string{"   " + e.Theme.Dim.Render(e.P.T("menu.which")), ""}
	name := 8
	for _, c := range p.of {
		name = max(name, widget.Width(event.Clean(c.Name)))
	}
	from, to := p.list.sight(len(p.of), h-len(out))
	for i := from; i < to; i++ {
		out = append(out, row(e, i == p.list.at, clusterLine(e, p.of[i], w-3, min(name, w/2)), w))
	}
	return out, nil
}

// Title implements frame.Page.
func (p *Pick) Title(e *frame.Env) string { return e.P.T("menu." + p.id) }
