package pages

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// Menu is the first page: what can be done, the likeliest thing first.
type Menu struct {
	quiet
	task
	d        *Deps
	clusters []request.ClusterRuns
	loaded   bool
	at       string // the entry under the cursor
	moved    bool   // the person has chosen it
	rows     []spot
	net      network // asked when the entry that needs it is selected
}

type spot struct {
	y  int
	id string
}

// NewMenu makes the menu.
func NewMenu(d *Deps) *Menu { return &Menu{d: d} }

// entry of the menu. Of it are the clusters that it can be done with.
type entry struct {
	id  string
	key string // that chooses it, in whatever order the entries stand
	why string // of i18n: why it cannot be done now; "" when it can
	of  []request.ClusterRuns
	do  func() tea.Cmd
}

// Init implements frame.Page.
func (p *Menu) Init(*frame.Env) tea.Cmd { return p.load() }

func (p *Menu) load() tea.Cmd {
	return p.task.start(event.M("menu.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return p.d.S.Clusters(ctx)
	})
}

// Update implements frame.Page.
func (p *Menu) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	if _, back := m.(frame.Back); back {
		return p.load()
	}
	c, result, done := p.take(m)
	if list, ok := result.([]request.ClusterRuns); ok && done {
		p.clusters, p.loaded = list, true
	}
	return tea.Batch(c, p.net.take(m))
}

// Close implements frame.Closer.
func (p *Menu) Close() {
	p.task.Close()
	p.net.Close()
}

// look asks for a network when the person looks at what needs one: nothing is sent before.
func (p *Menu) look() tea.Cmd {
	if p.at != "build" || p.net.asked || p.d.Builds == nil {
		return nil
	}
	return p.net.ask(p.d.Builds, backend.Build{})
}

// goOn is where what was cut off on a cluster goes on.
func (p *Menu) goOn(c request.ClusterRuns) frame.Page {
	switch {
	case c.File == "": // nothing was touched yet: what was to be installed is shown again
		return NewReview(p.d, c.Tried)
	case c.Leaves() && last(c).Verb == "cleanup":
		return NewCleanup(p.d, c)
	case c.Leaves():
		return NewRemove(p.d, c)
	}
	return NewLaunch(p.d, backend.Resume(c.Name))
}

// entries in the order in which they are shown: first what is likeliest.
func (p *Menu) entries() []entry {
	var out []entry
	for _, o := range backend.MenuEntries(p.clusters) {
		x := entry{id: o.ID, key: o.Key(), of: o.Of, why: o.Why}
		if page, of := p.of(o.ID), o.Of; page != nil {
			x.do = func() tea.Cmd {
				if len(of) == 1 {
					return push(page(of[0]))
				}
				return push(NewPick(p.d, o.ID, of, page))
			}
		} else if page := p.page(o.ID); page != nil {
			x.do = func() tea.Cmd { return push(page()) }
		} else if x.why == "" {
			x.why = "menu.why.later"
		}
		out = append(out, x)
	}
	return out
}

// of is the page of something that is done with a cluster, nil if it is not.
func (p *Menu) of(id string) func(request.ClusterRuns) frame.Page {
	d := p.d
	switch id {
	case "watch", "decide":
		return func(c request.ClusterRuns) frame.Page { return NewOpening(d, last(c).Ref, 0) }
	case "resume":
		return p.goOn
	case "add":
		if d.Add != nil {
			return d.Add
		}
		return func(c request.ClusterRuns) frame.Page { return NewAdd(d, c) }
	case "remove":
		return func(c request.ClusterRuns) frame.Page { return NewRemove(d, c) }
	case "upgrade":
		return func(c request.ClusterRuns) frame.Page { return NewUpgrade(d, c) }
	case "upgrade-on":
		return func(c request.ClusterRuns) frame.Page { return NewUpgradeOn(d, c) }
	case "upgrade-back":
		return func(c request.ClusterRuns) frame.Page { return NewUpgradeBack(d, c) }
	case "cleanup":
		return func(c request.ClusterRuns) frame.Page { return NewCleanup(d, c) }
	case "status":
		return func(c request.ClusterRuns) frame.Page {
			return NewTell(d, "menu.status", c.Name, backend.Status{Common: request.OfCluster(c.Name)})
		}
	}
	return nil
}

// page is that of something that is done with no cluster that is there, nil if there is none.
func (p *Menu) page(id string) func() frame.Page {
	d := p.d
	switch {
	case id == "install":
		return d.Install
	case id == "file":
		return func() frame.Page { return NewFile(d) }
	case id == "bundle":
		return func() frame.Page { return NewBundle(d) }
	case id == "build" && d.Builds != nil:
		return func() frame.Page { return NewMake(d, "make.use", d.installFrom) }
	case id == "demo":
		return func() frame.Page { return NewDemo(d) }
	case id == "runs":
		return func() frame.Page { return NewRuns(d, "") }
	}
	return nil
}

func (p *Menu) index(list []entry) int {
	if p.moved {
		for i, x := range list {
			if x.id == p.at {
				return i
			}
		}
	}
	return 0
}

func (p *Menu) move(n int) func() tea.Cmd {
	return func() tea.Cmd {
		list := p.entries()
		p.at, p.moved = list[min(max(0, p.index(list)+n), len(list)-1)].id, true
		return p.look()
	}
}

func (p *Menu) enter() tea.Cmd {
	list := p.entries()
	x := list[p.index(list)]
	if x.why != "" || x.do == nil {
		return nil
	}
	p.at, p.moved = x.id, true
	return x.do()
}

// Keys implements frame.Page.
func (p *Menu) Keys(*frame.Env) []frame.Binding {
	keys := []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: p.move(-1)},
		{Keys: []string{"down", "j"}, Do: p.move(1), Help: true},
		{Keys: []string{"home", "g"}, Do: p.move(-99), Help: true},
		{Keys: []string{"end", "G"}, Do: p.move(99), Help: true},
		{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.choose", Do: p.enter, Now: true},
		{Keys: []string{"r"}, Word: "ui.key.again", Do: p.load, Help: true},
	}
	for _, x := range p.entries() { // what stands before the entries
		keys = append(keys, frame.Binding{Keys: []string{x.key}, Do: func() tea.Cmd {
			p.at, p.moved = x.id, true
			return p.enter()
		}, Help: true, Now: true})
	}
	return keys
}

// Wheel implements frame.Wheeler.
func (p *Menu) Wheel(n int, _ *frame.Env) tea.Cmd { return p.move(max(-1, min(1, n)))() }

// Click implements frame.Clicker.
func (p *Menu) Click(_, y int, _ *frame.Env) tea.Cmd {
	for _, s := range p.rows {
		if s.y != y {
			continue
		}
		list := p.entries()
		if list[p.index(list)].id == s.id {
			return p.enter()
		}
		p.at, p.moved = s.id, true
	}
	return p.look()
}

// Bare implements frame.Bare: the menu has a head of its own.
func (p *Menu) Bare() bool { return true }

// Title implements frame.Page.
func (p *Menu) Title(*frame.Env) string { return "" }
