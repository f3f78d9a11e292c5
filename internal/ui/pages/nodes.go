package pages

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Remove chooses the nodes that leave a cluster.
type Remove struct {
	d      *Deps
	c      request.ClusterRuns
	list   list // over those that the filter lets through
	filter filter
	out    map[string]bool
	purge  bool
}

// NewRemove makes the page.
func NewRemove(d *Deps, c request.ClusterRuns) *Remove {
	return &Remove{d: d, c: c, out: map[string]bool{}}
}

// Init implements frame.Page.
func (p *Remove) Init(*frame.Env) tea.Cmd { return nil }

// Update implements frame.Page.
func (p *Remove) Update(tea.Msg, *frame.Env) tea.Cmd { return nil }

func (p *Remove) names() []string {
	var out []string
	for _, n := range p.c.Nodes {
		if p.out[n.Name] {
			out = append(out, n.Name)
		}
	}
	return out
}

// Type implements frame.Page.
func (p *Remove) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) { return nil, p.filter.take(m) }

// Paste implements frame.Paster.
func (p *Remove) Paste(text string, _ *frame.Env) tea.Cmd {
	p.filter.paste(text)
	return nil
}

// Typing implements frame.Typer.
func (p *Remove) Typing() bool { return p.filter.typing }

// shown are the nodes that the filter lets through.
func (p *Remove) shown() []config.Node {
	return slices.DeleteFunc(slices.Clone(p.c.Nodes), func(n config.Node) bool {
		state := ""
		if p.out[n.Name] {
			state = "leaves"
		}
		return !p.filter.fits(map[string]string{"name": n.Name, "addr": n.IP.String(), "arch": n.Arch,
			"role": strings.Join(n.RoleNames(), " "), "state": state})
	})
}

func (p *Remove) toggle() tea.Cmd {
	if list := p.shown(); p.list.at < len(list) {
		n := list[p.list.at].Name
		p.out[n] = !p.out[n]
	}
	return nil
}

// all marks those that are shown, or none of them when all are marked.
func (p *Remove) all() tea.Cmd {
	list := p.shown()
	on := slices.ContainsFunc(list, func(n config.Node) bool { return !p.out[n.Name] })
	for _, n := range list {
		p.out[n.Name] = on
	}
	return nil
}

// plan shows what would be done; the confirmation is asked for from there.
func (p *Remove) plan(e *frame.Env) tea.Cmd {
	names := p.names()
	if len(names) == 0 {
		return frame.Send(frame.Note{Text: e.P.T("remove.nobody")})
	}
	q := request.Delete{
		Common: request.OfCluster(p.c.Name), Names: names, Drain: request.DrainTimeout, Purge: p.purge,
	}
	page := NewTell(p.d, "menu.remove", p.c.Name, backend.Plan{Request: q})
	start := backend.Start{Request: q}
	page.then("remove.do", func() tea.Cmd {
		return frame.Send(frame.Prompt{
			Title: event.M("remove.title", "count", fmt.Sprint(len(names)), "cluster", p.c.Name),
			Lines: []event.Msg{event.M("remove.sure", "names", e.P.List(report.Ranges(names)))},
			Label: event.M("cleanup.type", "cluster", p.c.Name), Must: p.c.Name, Word: "remove.do", Danger: true,
			Do: func(string) tea.Cmd { return frame.Send(frame.Replace{Page: NewLaunch(p.d, start)}) },
		})
	})
	return push(page)
}

// Keys implements frame.Page.
func (p *Remove) Keys(e *frame.Env) []frame.Binding {
	if p.filter.typing {
		return append(p.filter.typed(), p.list.keys()...)
	}
	keys := append(p.list.keys(),
		frame.Binding{Keys: []string{"space", "x"}, Show: "Space", Word: "ui.key.mark", Do: p.toggle},
		frame.Binding{Keys: []string{"p"}, Word: "ui.key.purge", Do: func() tea.Cmd { p.purge = !p.purge; return nil }},
		frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.plan",
			Do: func() tea.Cmd { return p.plan(e) }, Now: true},
		frame.Binding{Keys: []string{"*"}, Word: "wizard.key.mark-all", Do: p.all, Help: true})
	return append(keys, p.filter.keys()...)
}

// Wheel implements frame.Wheeler.
func (p *Remove) Wheel(n int, _ *frame.Env) tea.Cmd { p.list.move(n); return nil }

// Click implements frame.Clicker.
func (p *Remove) Click(_, y int, _ *frame.Env) tea.Cmd {
	if i := p.list.top + y - 3; y >= 3 && i < p.list.n {
		p.list.at = i
		return p.toggle()
	}
	return nil
}

// Render implements frame.Page.
func (p *Remove) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"", "   " + t.Dim.Render(widget.Cut(e.P.T("remove.choose", "cluster", p.c.Name), w-6,
		t.Glyphs.Cut)), ""}
	list := p.shown()
	if p.filter.typing || p.filter.text != "" {
		out[2] = p.filter.line(e, len(list), len(p.c.Nodes), w)
	}
	if len(list) == 0 {
		out = append(out, "   "+t.Dim.Render(widget.Cut(e.P.T("wizard.nodes.filtered", "filter", p.filter.text), w-6,
			t.Glyphs.Cut)))
	}
	from, to := p.list.sight(len(list), h-len(out)-3)
	name, addr := 4, 7
	for _, n := range p.c.Nodes {
		name, addr = max(name, widget.Width(event.Clean(n.Name))), max(addr, len(n.IP.String()))
	}
	for i := from; i < to; i++ {
		n := list[i]
		l := new(widget.Line)
		if p.out[n.Name] {
			l.Add(t.Bad, "["+t.Glyphs.Failed+"]")
		} else {
			l.Add(t.Dim, "[ ]")
		}
		l.Space(1).Add(t.Strong, widget.Fit(event.Clean(n.Name), min(name, w/3), t.Glyphs.Cut)).Space(2).Add(t.Text,
			widget.Fit(n.IP.String(), addr, "")).Space(2).Add(t.Dim, roles(e, n))
		if p.out[n.Name] {
			l.Space(2).Add(t.Bad, e.P.T("remove.leaves"))
		}
		out = append(out, row(e, i == p.list.at, l.String(), w))
	}
	return append(out, "", purgeLine(e, p.purge, w)), nil
}

// purgeLine says whether data and images go too.
func purgeLine(e *frame.Env, on bool, w int) string {
	t := e.Theme
	mark, style := "[ ]", t.Dim
	if on {
		mark, style = "["+t.Glyphs.OK+"]", t.Warn
	}
	return "   " + style.Render(widget.Cut(mark+" "+e.P.T("remove.purge"), w-6, t.Glyphs.Cut))
}

func roles(e *frame.Env, n config.Node) string {
	var out []string
	for _, r := range n.RoleNames() {
		if e.P.Has("ui.role." + r) {
			r = e.P.T("ui.role." + r)
		}
		out = append(out, r)
	}
	return e.P.List(out)
}

// Title implements frame.Page.
func (p *Remove) Title(e *frame.Env) string { return e.P.T("menu.remove") }

// Add asks for the addresses of nodes and what they are to be.
type Add struct {
	quiet
	d     *Deps
	c     request.ClusterRuns
	addrs []string
	kind  int
}

// kind of nodes that can be added.
type kind struct {
	word  string // of i18n
	roles []bundle.Role
}

func kinds() []kind {
	return []kind{
		{"add.kind.worker", []bundle.Role{bundle.Worker}},
		{"add.kind.master", []bundle.Role{bundle.ControlPlane}},
		{"add.kind.master-worker", []bundle.Role{bundle.ControlPlane, bundle.Worker}},
		{"add.kind.etcd", []bundle.Role{bundle.Etcd}},
	}
}

// NewAdd makes the page.
func NewAdd(d *Deps, c request.ClusterRuns) *Add { return &Add{d: d, c: c} }

// Init implements frame.Page.
func (p *Add) Init(*frame.Env) tea.Cmd { return p.ask() }

// Update implements frame.Page.
func (p *Add) Update(tea.Msg, *frame.Env) tea.Cmd { return nil }

func (p *Add) ask() tea.Cmd {
	return frame.Send(frame.Prompt{
		Title: event.M("add.title", "cluster", p.c.Name), Lines: []event.Msg{event.M("add.explain")},
		Label: event.M("add.addresses"), Value: strings.Join(p.addrs, " "), Word: "ui.key.choose",
		Check: func(s string) (event.Msg, bool) {
			_, bad := p.parse(s)
			return bad, bad.Key == ""
		},
		Do: func(s string) tea.Cmd {
			p.addrs, _ = p.parse(s)
			return nil
		},
	})
}

// parse reads addresses; the second result says what is wrong.
func (p *Add) parse(s string) ([]string, event.Msg) {
	var out []string
	for _, f := range strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || r == ',' || r == '，' || r == ';'
	}) {
		ip, err := netip.ParseAddr(f)
		if err != nil {
			return nil, event.M("add.no-address", "text", f)
		}
		ip = ip.Unmap()
		a := ip.String()
		if i := slices.IndexFunc(p.c.Nodes, func(n config.Node) bool { return n.IP == ip }); i >= 0 {
			return nil, event.M("add.there", "addr", a, "node", p.c.Nodes[i].Name)
		}
		if slices.Contains(out, a) {
			return nil, event.M("add.twice", "addr", a)
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, event.M("add.nobody")
	}
	return out, event.Msg{}
}

func (p *Add) plan(e *frame.Env) tea.Cmd {
	if len(p.addrs) == 0 {
		return p.ask()
	}
	q := request.Join{Common: request.OfCluster(p.c.Name)}
	for _, a := range p.addrs {
		ip, _ := netip.ParseAddr(a) // it was parsed before
		q.Nodes = append(q.Nodes, config.Node{IP: ip, Port: 22, Roles: kinds()[p.kind].roles})
	}
	page := NewTell(p.d, "menu.add", p.c.Name, backend.Plan{Request: q})
	start := backend.Start{Request: q}
	page.then("add.do", func() tea.Cmd { return frame.Send(frame.Replace{Page: NewLaunch(p.d, start)}) })
	return push(page)
}

// Keys implements frame.Page.
func (p *Add) Keys(e *frame.Env) []frame.Binding {
	turn := func(n int) func() tea.Cmd {
		return func() tea.Cmd { p.kind = (p.kind + n + len(kinds())) % len(kinds()); return nil }
	}
	return []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: turn(-1)},
		{Keys: []string{"down", "j"}, Do: turn(1), Help: true},
		{Keys: []string{"e"}, Word: "ui.key.edit", Do: p.ask, Now: true},
		{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.plan", Do: func() tea.Cmd { return p.plan(e) },
			Now: true},
	}
}

// Render implements frame.Page.
func (p *Add) Render(e *frame.Env, w, _ int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"", "   " + clusterLine(e, p.c, w-6, min(24, w/3)), "",
		"   " + t.Strong.Render(e.P.T("add.addresses"))}
	if len(p.addrs) == 0 {
		out = append(out, "   "+t.Dim.Render(e.P.T("add.none")))
	}
	for _, l := range strings.Split(widget.Wrap(strings.Join(p.addrs, "  "), w-8), "\n") {
		out = append(out, "     "+t.Text.Render(l))
	}
	out = append(out, "", "   "+t.Strong.Render(e.P.T("add.as")))
	for i, k := range kinds() {
		style := t.Text
		if i == p.kind {
			style = t.Strong
		}
		out = append(out, row(e, i == p.kind, style.Render(e.P.T(k.word)), w))
	}
	return out, nil
}

// Title implements frame.Page.
func (p *Add) Title(e *frame.Env) string { return e.P.T("menu.add") }

// Cleanup shows what a cleanup would take away, and begins it when the cluster's name is typed.
type Cleanup struct {
	*Tell
	c     request.ClusterRuns
	purge bool
}

// NewCleanup makes the page.
func NewCleanup(d *Deps, c request.ClusterRuns) *Cleanup {
	p := &Cleanup{Tell: NewTell(d, "menu.cleanup", c.Name, nil), c: c}
	p.query = p.inventory()
	p.then("cleanup.do", p.confirm)
	p.wrap = true
	p.even = true // what cannot be seen can be cleaned up all the same
	return p
}

// inventory asks what would go.
func (p *Cleanup) inventory() backend.Query {
	return backend.Inventory{Common: request.OfCluster(p.c.Name), Purge: p.purge}
}

func (p *Cleanup) confirm() tea.Cmd {
	start := backend.Start{Request: request.Cleanup{Common: request.OfCluster(p.c.Name), Purge: p.purge}}
	lines := []event.Msg{event.M("cleanup.sure", "cluster", p.c.Name, "count", fmt.Sprint(len(p.c.Nodes)))}
	if p.purge {
		lines = append(lines, event.M("cleanup.purge"))
	}
	return frame.Send(frame.Prompt{
		Title: event.M("cleanup.title", "cluster", p.c.Name), Lines: lines,
		Label: event.M("cleanup.type", "cluster", p.c.Name), Must: p.c.Name, Word: "cleanup.do", Danger: true,
		Do: func(string) tea.Cmd { return frame.Send(frame.Replace{Page: NewLaunch(p.d, start)}) },
	})
}

// Keys implements frame.Page.
func (p *Cleanup) Keys(e *frame.Env) []frame.Binding {
	return append(p.Tell.Keys(e), frame.Binding{Keys: []string{"p"}, Word: "ui.key.purge", Do: func() tea.Cmd {
		p.purge = !p.purge
		p.query = p.inventory()
		return p.begin(e)
	}})
}

// Render implements frame.Page: what goes, below whether data and images do too.
func (p *Cleanup) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	lines, cursor := p.Tell.Render(e, w, h-2)
	return slices.Insert(lines, 1, "", purgeLine(e, p.purge, w)), cursor
}
