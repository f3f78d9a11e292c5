package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// filter is what is typed after /.
type filter struct {
	text   string
	typing bool
	field  widget.Field // the text with the cursor
}

// take takes a key while it is typed.
func (f *filter) take(m tea.KeyPressMsg) bool {
	if !f.typing {
		return false
	}
	switch m.String() {
	case "enter":
		f.typing = false
	case "esc", "ctrl+c":
		f.typing, f.text = false, ""
	case "up", "down":
		return false
	default:
		f.field.Set(f.text)
		f.field.Key(m)
		f.text = f.field.Value()
	}
	return true
}

func (f *filter) paste(text string) {
	if f.typing {
		f.field.Set(f.text)
		f.field.Insert(text)
		f.text = f.field.Value()
	}
}

// line shows it.
func (f *filter) line(e *frame.Env, shown, all, w int) string {
	f.field.Set(f.text)
	text, x := f.field.Shown(w / 2)
	l := new(widget.Line).Space(1).Add(e.Theme.Key, "/").Space(1)
	if before := widget.Cut(text, x, ""); f.typing {
		at, rest := " ", ""
		if under := []rune(strings.TrimPrefix(text, before)); len(under) > 0 {
			at, rest = string(under[0]), string(under[1:])
		}
		l.Add(e.Theme.Text, before).Add(e.Theme.Cursor, at).Add(e.Theme.Text, rest)
	} else {
		l.Add(e.Theme.Text, text)
	}
	right := e.P.T("ui.filter", "shown", fmt.Sprint(shown), "all", fmt.Sprint(all))
	return l.To(w-widget.Width(right)-1).Add(e.Theme.Dim, right).String()
}

// keys returns the binding that starts the filter, and that of Esc if there is something to clear.
func (f *filter) keys() []frame.Binding {
	out := []frame.Binding{{Keys: []string{"/"}, Word: "ui.key.filter", Do: func() tea.Cmd {
		f.typing = true
		return nil
	}}}
	if f.text != "" {
		out = append(out, frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.clear", Do: func() tea.Cmd {
			f.text = ""
			return nil
		}})
	}
	return out
}

// typed are the keys while it is typed: all others are letters.
func (f *filter) typed() []frame.Binding {
	return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.filter-this"},
		{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.clear"}}
}

// fits says whether all words are in the text; key:value words match that field only, and ! before a word turns it
// round.
func (f *filter) fits(fields map[string]string) bool {
	all := ""
	for _, v := range fields {
		all += " " + strings.ToLower(v)
	}
	for _, word := range strings.Fields(strings.ToLower(f.text)) {
		rest, not := strings.CutPrefix(word, "!")
		in, want := all, rest
		if k, v, ok := strings.Cut(rest, ":"); ok {
			if field, has := fields[k]; has {
				in, want = strings.ToLower(field), v
			}
		}
		if strings.Contains(in, want) == not {
			return false
		}
	}
	return true
}

// Runs lists the runs of all clusters, newest first.
type Runs struct {
	task
	d      *Deps
	only   string // cluster; "" is all
	all    []request.Run
	loaded bool
	list   list
	filter filter
	first  int // line of the first row
}

// NewRuns makes the page; cluster "" is all.
func NewRuns(d *Deps, cluster string) *Runs { return &Runs{d: d, only: cluster} }

// Init implements frame.Page.
func (p *Runs) Init(*frame.Env) tea.Cmd { return p.load() }

func (p *Runs) load() tea.Cmd {
	get := p.d.S.Clusters
	return p.task.start(event.M("menu.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get(ctx)
	})
}

// Update implements frame.Page.
func (p *Runs) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	if _, back := m.(frame.Back); back {
		return p.load()
	}
	c, result, done := p.take(m)
	if list, ok := result.([]request.ClusterRuns); ok && done {
		p.all, p.loaded = nil, true
		for _, c := range list {
			if p.only == "" || p.only == c.Name {
				p.all = append(p.all, c.Runs...)
			}
		}
		slices.SortStableFunc(p.all, func(a, b request.Run) int { return strings.Compare(b.Run, a.Run) })
	}
	return c
}

// Type implements frame.Page.
func (p *Runs) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) { return nil, p.filter.take(m) }

// Paste implements frame.Paster.
func (p *Runs) Paste(text string, _ *frame.Env) tea.Cmd {
	p.filter.paste(text)
	return nil
}

func (p *Runs) shown(e *frame.Env) []request.Run {
	var out []request.Run
	for _, r := range p.all {
		word, _ := ended(e, r)
		if p.filter.fits(map[string]string{"cluster": r.Cluster, "run": r.Run, "verb": r.Verb + " " + verb(e, r.Verb),
			"state": r.Status + " " + r.Said() + " " + word}) {
			out = append(out, r)
		}
	}
	return out
}

func (p *Runs) chosen(e *frame.Env) (request.Run, bool) {
	list := p.shown(e)
	if p.list.at < 0 || p.list.at >= len(list) {
		return request.Run{}, false
	}
	return list[p.list.at], true
}

func (p *Runs) open(e *frame.Env, replay float64) tea.Cmd {
	r, ok := p.chosen(e)
	if !ok {
		return nil
	}
	if r.Status == request.Running {
		replay = 0
	}
	return push(NewOpening(p.d, r.Ref, replay))
}

// Typing implements frame.Typer.
func (p *Runs) Typing() bool { return p.filter.typing }

// Keys implements frame.Page.
func (p *Runs) Keys(e *frame.Env) []frame.Binding {
	if p.filter.typing {
		return append(p.filter.typed(), p.list.keys()...)
	}
	keys := p.list.keys()
	keys = append(keys,
		frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: "ui.key.open-run",
			Do: func() tea.Cmd { return p.open(e, 0) }},
		frame.Binding{Keys: []string{"p"}, Word: "ui.key.replay", Do: func() tea.Cmd { return p.open(e, 8) }})
	return append(append(keys, p.filter.keys()...),
		frame.Binding{Keys: []string{"r"}, Word: "ui.key.again", Do: p.load, Help: true})
}

// Wheel implements frame.Wheeler.
func (p *Runs) Wheel(n int, _ *frame.Env) tea.Cmd { p.list.move(n); return nil }

// Click implements frame.Clicker.
func (p *Runs) Click(_, y int, e *frame.Env) tea.Cmd {
	if i := p.list.top + y - p.first; y >= p.first && i < p.list.n {
		if i == p.list.at {
			return p.open(e, 0)
		}
		p.list.at = i
	}
	return nil
}

// Render implements frame.Page.
func (p *Runs) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	if !p.loaded {
		return append([]string{""}, indent(p.lines(e, w-6), 3)...), nil
	}
	if len(p.all) == 0 {
		return append([]string{""}, indent(wrapped(t.Dim, e.P.T("runs.none"), w-6), 3)...), nil
	}
	runs := p.shown(e)
	var out []string
	if p.filter.typing || p.filter.text != "" {
		out = append(out, p.filter.line(e, len(runs), len(p.all), w))
	}
	cols := p.columns(e, runs, w)
	out = append(out, "   "+t.Dim.Render(widget.Cut(p.line(cols,
		[]string{e.P.T("col.when"), e.P.T("col.cluster"), e.P.T("col.what"), e.P.T("col.status"), e.P.T("col.took")}),
		w-3, "")))
	p.first = len(out)
	details := 0
	switch {
	case h > 28:
		details = 7
	case h > 18:
		details = 5
	}
	why := 3 + cols[0] + cols[1] + cols[2] + cols[3] + cols[4] + 11 // where there is room for what a run failed of
	from, to := p.list.sight(len(runs), h-len(out)-details)
	for i := from; i < to; i++ {
		r := runs[i]
		word, style := ended(e, r)
		l := new(widget.Line).Add(t.Dim, widget.Fit(when(r), cols[0], "")).Space(2).Add(t.Strong,
			widget.Fit(event.Clean(r.Cluster), cols[1], t.Glyphs.Cut)).Space(2).
			Add(t.Text, widget.Fit(verb(e, r.Verb), cols[2], t.Glyphs.Cut)).Space(2).Add(style,
			widget.Fit(word, cols[3], t.Glyphs.Cut)).Space(2).Add(t.Dim, widget.FitRight(took(r.Took), cols[4], ""))
		if r.Fault != nil && w >= why+24 {
			text, _ := e.P.Fault(r.Fault)
			l.Space(3).Add(t.Dim, widget.Cut(event.Clean(text), w-why-3, t.Glyphs.Cut))
		}
		out = append(out, row(e, i == p.list.at, l.String(), w))
	}
	if len(runs) == 0 {
		out = append(out, "   "+t.Dim.Render(e.P.T("runs.no-match")))
	}
	if r, ok := p.chosen(e); ok && details > 0 {
		out = widget.Block(out, w, h-details, "")
		out = append(out, t.Border.Render(strings.Repeat(t.Glyphs.Rule, w)))
		line := r.Run
		if !r.At.IsZero() {
			line += "  " + ago(e, r.At)
		}
		if r.Version != "" {
			line += "  eggo " + event.Clean(r.Version)
		}
		out = append(out, "   "+t.Dim.Render(widget.Cut(line, w-6, t.Glyphs.Cut)))
		if r.Fault != nil {
			out = append(out, indent(told(e, r.Fault, w-6), 3)...)
		}
		out = append(out, indent(waits(e, r, w-6), 3)...)
	}
	return out, nil
}

// columns are the widths of when, cluster, what, status, took.
func (p *Runs) columns(e *frame.Env, runs []request.Run, w int) [5]int {
	c := [5]int{16, widget.Width(e.P.T("col.cluster")), widget.Width(e.P.T("col.what")),
		widget.Width(e.P.T("col.status")), max(7, widget.Width(e.P.T("col.took")))}
	for _, r := range runs {
		word, _ := ended(e, r)
		c[1], c[2], c[3] = max(c[1], widget.Width(event.Clean(r.Cluster))), max(c[2], widget.Width(verb(e, r.Verb))),
			max(c[3], widget.Width(word))
	}
	if over := 3 + c[0] + c[1] + c[2] + c[3] + c[4] + 8 - w; over > 0 {
		c[1] = max(8, c[1]-over)
	}
	return c
}

func (p *Runs) line(c [5]int, cells []string) string {
	return widget.Fit(cells[0], c[0], "") + "  " + widget.Fit(cells[1], c[1], "") + "  " + widget.Fit(cells[2], c[2],
		"") + "  " + widget.Fit(cells[3], c[3], "") + "  " + widget.FitRight(cells[4], c[4], "")
}

func when(r request.Run) string {
	if r.At.IsZero() {
		return "-"
	}
	return r.At.Local().Format("2006-01-02 15:04")
}

// Title implements frame.Page.
func (p *Runs) Title(e *frame.Env) string { return e.P.T("menu.runs") }
