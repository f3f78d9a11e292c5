package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Menu is the first page: what can be done, the likeliest thing first.
type Menu struct {
	quiet
	task
	d        *Deps
	clusters []jumphost.Cluster
	loaded   bool
	at       string // the entry under the cursor
	moved    bool   // the person has chosen it
	rows     []spot
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
	why string // of i18n: why it cannot be done now; "" when it can
	of  []jumphost.Cluster
	do  func() tea.Cmd
}

// Init implements frame.Page.
func (p *Menu) Init(*frame.Env) tea.Cmd { return p.load() }

func (p *Menu) load() tea.Cmd {
	get := p.d.S.Clusters
	if get == nil {
		p.loaded = true
		return nil
	}
	return p.task.start(event.M("menu.reading"), func(ctx context.Context, _ jumphost.Asker) (any, error) { return get(ctx) })
}

// Update implements frame.Page.
func (p *Menu) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	if _, back := m.(frame.Back); back {
		return p.load()
	}
	c, result, done := p.take(m)
	if list, ok := result.([]jumphost.Cluster); ok && done {
		p.clusters, p.loaded = list, true
	}
	return c
}

func (p *Menu) with(fits func(jumphost.Cluster) bool) []jumphost.Cluster {
	var out []jumphost.Cluster
	for _, c := range p.clusters {
		if fits(c) {
			out = append(out, c)
		}
	}
	return out
}

// broken says whether the last run of a cluster can be gone on with.
func broken(c jumphost.Cluster) bool {
	r := last(c)
	return (c.Status == jumphost.Interrupted || c.Status == jumphost.Failed) && (c.File != "" || c.Tried != "") && (r.Verb == "deploy" || r.Verb == "join")
}

// entries in the order in which they are shown: first what is likeliest.
func (p *Menu) entries() []entry {
	d := p.d
	one := func(id string, of []jumphost.Cluster, why string, page func(jumphost.Cluster) frame.Page) entry {
		x := entry{id: id, of: of}
		if len(of) == 0 {
			x.why = why
		}
		x.do = func() tea.Cmd {
			if len(of) == 1 {
				return push(page(of[0]))
			}
			return push(NewPick(d, id, of, page))
		}
		return x
	}
	page := func(id string, there bool, f func() frame.Page) entry {
		x := entry{id: id, do: func() tea.Cmd { return push(f()) }}
		if !there {
			x.why = "menu.why.later"
		}
		return x
	}
	running := p.with(func(c jumphost.Cluster) bool { return c.Status == jumphost.Running })
	stopped := p.with(broken)
	idle := p.with(func(c jumphost.Cluster) bool {
		return c.File != "" && c.Status != jumphost.Running && c.Status != jumphost.Removed
	})
	known := p.with(func(c jumphost.Cluster) bool { return c.File != "" })
	ran := p.with(func(c jumphost.Cluster) bool { return len(c.Runs) > 0 })
	why := "menu.why.no-cluster"
	if len(running) > 0 {
		why = "menu.why.busy"
	}
	asks := func(c jumphost.Cluster) bool { return c.Said() == jumphost.Waiting }
	slices.SortStableFunc(running, func(a, b jumphost.Cluster) int { // what waits for somebody comes first
		switch {
		case asks(a) == asks(b):
			return 0
		case asks(a):
			return -1
		}
		return 1
	})
	back := "watch"
	if slices.ContainsFunc(running, asks) {
		back = "decide"
	}
	watch := one(back, running, "menu.why.none-runs", func(c jumphost.Cluster) frame.Page { return NewOpening(d, last(c).Ref, 0) })
	whyNot := "menu.why.none-stopped"
	if len(p.with(func(c jumphost.Cluster) bool { return c.File == "" && c.Tried == "" && c.Status == jumphost.Failed })) > 0 {
		whyNot = "menu.why.not-begun"
	}
	resume := one("resume", stopped, whyNot, func(c jumphost.Cluster) frame.Page {
		if c.File == "" { // nothing was touched yet: what was to be installed is shown again
			return NewReview(d, c.Tried)
		}
		return NewLaunch(d, jumphost.Start{Verb: "deploy", Of: c.Name, Again: true})
	})
	rest := []entry{
		page("install", d.Install != nil, func() frame.Page { return d.Install() }),
		page("file", d.S.Check != nil, func() frame.Page { return NewFile(d) }),
		resume,
		one("add", idle, why, func(c jumphost.Cluster) frame.Page {
			if d.Add != nil {
				return d.Add(c)
			}
			return NewAdd(d, c)
		}),
		one("remove", idle, why, func(c jumphost.Cluster) frame.Page { return NewRemove(d, c) }),
		{id: "upgrade", why: "menu.why.upgrade"},
		one("cleanup", idle, why, func(c jumphost.Cluster) frame.Page { return NewCleanup(d, c) }),
		one("status", known, "menu.why.no-cluster", func(c jumphost.Cluster) frame.Page {
			return NewTell(d, "menu.status", c.Name, "status", "--id", c.Name)
		}),
		page("bundle", d.S.Bundle != nil, func() frame.Page { return NewBundle(d) }),
		page("runs", true, func() frame.Page { return NewRuns(d, "") }),
	}
	if len(ran) == 0 {
		rest[len(rest)-1].why = "menu.why.no-run"
	}
	first := rest[0]
	switch {
	case len(running) > 0:
		first = watch
	case len(stopped) > 0:
		first = resume
	case len(known) > 0:
		first = rest[7]
	}
	out := []entry{first}
	for _, x := range rest {
		if x.id != first.id {
			out = append(out, x)
		}
	}
	return out
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
		return nil
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
		{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.choose", Do: p.enter},
		{Keys: []string{"r"}, Word: "ui.key.again", Do: p.load, Help: true},
	}
	for i := range 10 { // the numbers that stand before the entries
		keys = append(keys, frame.Binding{Keys: []string{fmt.Sprint((i + 1) % 10)}, Do: func() tea.Cmd {
			if list := p.entries(); i < len(list) {
				p.at, p.moved = list[i].id, true
				return p.enter()
			}
			return nil
		}, Help: true})
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
	return nil
}

// Bare implements frame.Bare: the menu has a head of its own.
func (p *Menu) Bare() bool { return true }

// Title implements frame.Page.
func (p *Menu) Title(*frame.Env) string { return "" }

// Render implements frame.Page.
func (p *Menu) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := p.head(e, w, h >= 30)
	list := p.entries()
	at := p.index(list)
	left := 0
	for _, x := range list {
		wide := widget.Width(e.P.T("menu." + x.id))
		if x.why != "" {
			wide += 4 + widget.Width(e.P.T("plain.not-now"))
		}
		left = max(left, wide)
	}
	left = min(left+8, w-6)
	beside := w >= 100
	if beside {
		left = max(left, 40)
	}
	gap := 0 // between entries, where there is room
	if h-len(out) > 2*len(list)+12 || beside && h-len(out) > 2*len(list)+4 {
		gap = 1
	}
	var rows []string
	p.rows = p.rows[:0]
	for i, x := range list {
		p.rows = append(p.rows, spot{len(out) + len(rows), x.id})
		rows = append(rows, p.entry(e, x, i, i == at, left))
		if i == 0 || gap > 0 {
			rows = append(rows, "")
		}
	}
	if beside {
		room := h - len(out)
		panel := p.panel(e, list[at], w-left-8, room)
		panel = p.known(e, panel, w-left-8, room)
		panel, rows = widget.Block(panel, w-left-8, room, t.Glyphs.Cut), widget.Block(rows, left, room, t.Glyphs.Cut)
		for i := range rows {
			bar := t.Border.Render(t.Glyphs.Vertical)
			if i >= room-1 {
				bar = " "
			}
			out = append(out, rows[i]+"  "+bar+"   "+panel[i])
		}
		return out, nil
	}
	out = append(out, rows...)
	out = append(out, t.Border.Render(strings.Repeat(t.Glyphs.Rule, w)))
	return append(out, indent(p.panel(e, list[at], w-6, h-len(out)), 3)...), nil
}

// known puts the clusters of this machine below what an entry says, as many as there is room for.
func (p *Menu) known(e *frame.Env, panel []string, w, h int) []string {
	room := h - len(panel) - 4
	if len(p.clusters) == 0 || room < 3 {
		return panel
	}
	n := min(len(p.clusters), room)
	if n < len(p.clusters) {
		n--
	}
	panel = append(panel, "", "", e.Theme.Dim.Render(e.P.T("menu.here")))
	for _, c := range p.clusters[:n] {
		panel = append(panel, clusterLine(e, c, w, p.names(w)))
	}
	if n < len(p.clusters) {
		panel = append(panel, e.Theme.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(p.clusters)-n))))
	}
	return panel
}

// names is how wide the names of clusters are.
func (p *Menu) names(w int) int {
	n := 8
	for _, c := range p.clusters {
		n = max(n, widget.Width(event.Clean(c.Name)))
	}
	return min(n, w/3)
}

// head is the name of the house, with an egg.
func (p *Menu) head(e *frame.Env, w int, tall bool) []string {
	t, g := e.Theme, e.Theme.Glyphs
	right := event.Clean(p.d.Version)
	words := e.P.T("menu.slogan")
	known := ""
	switch n := len(p.clusters); {
	case !p.loaded:
		known = e.P.T("menu.reading")
	case n == 0:
		known = e.P.T("menu.knows-none")
	case n == 1:
		known = e.P.T("menu.knows-one", "name", p.clusters[0].Name)
	default:
		known = e.P.T("menu.knows", "count", fmt.Sprint(n))
	}
	one := new(widget.Line).Space(3).Add(t.Strong, g.TopLeft+g.Horizontal+g.Horizontal+g.Horizontal+g.TopRight)
	two := new(widget.Line).Space(3).Add(t.Strong, g.Vertical).Space(1).Add(t.Yolk, g.Yolk).Space(1).Add(t.Strong, g.Vertical).Space(2).Add(t.Strong, "egg").Add(t.Title, "o").Space(3)
	two.Add(t.Text, widget.Cut(words, w-two.Width()-widget.Width(right)-4, g.Cut))
	two.To(w-widget.Width(right)-3).Add(t.Dim, right)
	three := new(widget.Line).Space(3).Add(t.Strong, g.BottomLeft+g.Horizontal+g.Horizontal+g.Horizontal+g.BottomRight).Space(2)
	three.Add(t.Dim, widget.Cut(known, w-three.Width()-3, g.Cut))
	out := []string{one.String(), two.String(), three.String(), t.Border.Render(strings.Repeat(g.Rule, w))}
	if tall {
		out = append(append([]string{""}, out...), "")
	}
	return out
}

// entry draws a row of the list.
func (p *Menu) entry(e *frame.Env, x entry, i int, on bool, w int) string {
	t := e.Theme
	l := new(widget.Line).Space(1)
	if on {
		l.Add(t.Chosen, t.Glyphs.Pointer)
	} else {
		l.Space(1)
	}
	number := t.Key
	style := t.Text
	switch {
	case x.why != "":
		number, style = t.Faint, t.Idle
	case on:
		style = t.Strong
	}
	l.Space(2).Add(number, number10(i)).Space(2).Add(style, e.P.T("menu."+x.id))
	if x.why != "" { // what cannot be done now is not told by its colour alone
		l.Space(2).Add(t.Idle, "("+e.P.T("plain.not-now")+")")
	}
	return widget.Fit(l.String(), w, t.Glyphs.Cut)
}

// number10 is the key of an entry: 1 to 9, then 0.
func number10(i int) string {
	if i > 9 {
		return " "
	}
	return fmt.Sprint((i + 1) % 10)
}

// panel says what an entry would do, and on what, in h lines: with what became of the newest run where there is room.
func (p *Menu) panel(e *frame.Env, x entry, w, h int) []string {
	out := p.says(e, x, w, len(x.of), true)
	for n := len(x.of); len(out) > h && n > 0; n-- {
		out = p.says(e, x, w, n, false)
	}
	return out
}

// says is the panel with so many of the clusters.
func (p *Menu) says(e *frame.Env, x entry, w, most int, whole bool) []string {
	t := e.Theme
	out := []string{t.Title.Render(widget.Cut(e.P.T("menu."+x.id), w, t.Glyphs.Cut))}
	out = append(out, wrapped(t.Text, e.P.T("menu."+x.id+".what"), w)...)
	if x.why != "" {
		return append(append(out, ""), wrapped(t.Warn, t.Glyphs.Blocked+" "+e.P.T(x.why), w)...)
	}
	if len(x.of) > 0 {
		out = append(out, "")
	}
	for i, c := range x.of {
		if i == most || i == 4 && len(x.of) > 5 {
			out = append(out, t.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(x.of)-i))))
			break
		}
		out = append(out, clusterLine(e, c, w, p.names(w)))
		if r := last(c); i == 0 && r.Run != "" {
			out = append(out, indent(waits(e, r, w-2), 2)...)
			if !whole {
				continue
			}
			line := verb(e, r.Verb) + "  " + ago(e, r.At)
			if r.Took > 0 {
				line += "  " + took(r.Took)
			}
			out = append(out, "  "+t.Dim.Render(widget.Cut(line, w-2, t.Glyphs.Cut)))
			if r.Fault != nil && broken(c) {
				text, _ := e.P.Fault(r.Fault)
				out = append(out, indent(wrapped(t.Dim, text, w-2), 2)...)
			}
			if c.File == "" && c.Tried != "" {
				out = append(out, indent(wrapped(t.Text, t.Glyphs.Arrow+" "+e.P.T("menu.tried", "file", c.Tried), w-2), 2)...)
			}
		}
	}
	if p.fault != nil {
		out = append(append(out, ""), told(e, p.fault, w)...)
	}
	return out
}

// waits says which steps of a run wait for a decision, and why: the first two, and how many more.
func waits(e *frame.Env, r jumphost.Run, w int) []string {
	if r.Said() != jumphost.Waiting {
		return nil
	}
	var out []string
	for i, x := range r.Waits {
		if i == 2 {
			return append(out, e.Theme.Dim.Render(e.P.T("menu.more", "count", fmt.Sprint(len(r.Waits)-i))))
		}
		node := event.Clean(x.Node)
		if node == "" {
			node = e.P.T("report.jump-host")
		}
		out = append(out, wrapped(e.Theme.Bad, e.Theme.Glyphs.Ignored+" "+e.P.T("menu.waits", "node", node, "step", e.P.Msg(x.Step), "ago", ago(e, x.Since)), w)...)
		if x.Fault != nil {
			text, _ := e.P.Fault(x.Fault)
			out = append(out, indent(wrapped(e.Theme.Dim, text, w-2), 2)...)
		}
	}
	return out
}

// clusterLine is a cluster in one line: how it is, its name, of what it is made.
func clusterLine(e *frame.Env, c jumphost.Cluster, w, name int) string {
	t := e.Theme
	word, style := status(e, c.Said())
	wide := 0
	for _, s := range []string{jumphost.Running, jumphost.Waiting, jumphost.Installed, jumphost.Failed, jumphost.Interrupted, jumphost.Removed, jumphost.Unknown} {
		said, _ := status(e, s)
		wide = max(wide, widget.Width(said))
	}
	l := new(widget.Line).Add(t.Strong, widget.Fit(event.Clean(c.Name), name, t.Glyphs.Cut)).Space(2).Add(style, widget.Fit(word, wide, ""))
	if m := members(e, c); m != "" {
		l.Space(2).Add(t.Dim, m)
	}
	return widget.Cut(l.String(), w, t.Glyphs.Cut)
}

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
