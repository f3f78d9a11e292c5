package pages

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Files chooses a file: directories are walked through, a path can be typed.
type Files struct {
	task
	d       *Deps
	title   string // of i18n
	suffix  []string
	dir     string
	entries []backend.Entry
	list    list
	filter  filter
	open    func(path string) tea.Cmd
}

func newFiles(d *Deps, title, dir string, open func(path string) tea.Cmd, suffix ...string) *Files {
	return &Files{d: d, title: title, dir: dir, open: open, suffix: suffix}
}

// Init implements frame.Page.
func (p *Files) Init(*frame.Env) tea.Cmd { return p.read(p.dir) }

type listing struct {
	dir  string
	list []backend.Entry
}

func (p *Files) read(dir string) tea.Cmd {
	get, suffix := p.d.S.List, p.suffix
	return p.task.start(event.M("files.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		dir, list, err := get(ctx, dir, suffix)
		return listing{dir, list}, err
	})
}

// Update implements frame.Page.
func (p *Files) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if l, ok := result.(listing); ok && done {
		p.dir, p.entries, p.list, p.filter = l.dir, l.list, list{}, filter{}
	}
	return c
}

// Type implements frame.Page.
func (p *Files) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) { return nil, p.filter.take(m) }

func (p *Files) shown() []backend.Entry {
	var out []backend.Entry
	for _, x := range p.entries {
		if p.filter.text == "" || p.filter.fits(map[string]string{"name": x.Name}) {
			out = append(out, x)
		}
	}
	return out
}

func (p *Files) enter() tea.Cmd {
	list := p.shown()
	if p.list.at >= len(list) {
		return nil
	}
	x := list[p.list.at]
	path := filepath.Join(p.dir, x.Name)
	if x.Dir {
		return p.read(path)
	}
	return p.open(path)
}

func (p *Files) typed() tea.Cmd {
	return frame.Send(frame.Prompt{Title: event.M("files.path"), Lines: []event.Msg{event.M("files.path.what")},
		Value: strings.TrimRight(p.dir, "/") + "/", Path: true, Word: "ui.key.choose", Do: func(s string) tea.Cmd {
			s = afresh(s)
			if strings.HasSuffix(s, "/") || s == "" {
				return p.read(s)
			}
			return p.open(s)
		}})
}

// afresh is what was typed from where it starts again: an absolute path, or one from the home directory, behind the
// directory that stood there.
func afresh(s string) string {
	s = strings.TrimSpace(s)
	if i := max(strings.LastIndex(s, "//"), strings.LastIndex(s, "/~/")); i >= 0 {
		return s[i+1:]
	}
	return s
}

// Paste implements frame.Paster.
func (p *Files) Paste(text string, _ *frame.Env) tea.Cmd {
	p.filter.paste(text)
	return nil
}

// Typing implements frame.Typer.
func (p *Files) Typing() bool { return p.filter.typing }

// Keys implements frame.Page.
func (p *Files) Keys(*frame.Env) []frame.Binding {
	if p.filter.typing {
		return append(p.filter.typed(), p.list.keys()...)
	}
	keys := append(p.list.keys(),
		frame.Binding{Keys: []string{"enter", "right"}, Show: "Enter", Word: "ui.key.choose", Do: p.enter},
		frame.Binding{Keys: []string{"left", "backspace"}, Show: "←", Word: "ui.key.up",
			Do: func() tea.Cmd { return p.read(filepath.Dir(p.dir)) }},
		frame.Binding{Keys: []string{"e"}, Word: "ui.key.path", Do: p.typed, Now: true})
	return append(keys, p.filter.keys()...)
}

// Wheel implements frame.Wheeler.
func (p *Files) Wheel(n int, _ *frame.Env) tea.Cmd { p.list.move(n); return nil }

// Click implements frame.Clicker.
func (p *Files) Click(_, y int, _ *frame.Env) tea.Cmd {
	if i := p.list.top + y - 2; y >= 2 && i < p.list.n {
		if p.list.at == i {
			return p.enter()
		}
		p.list.at = i
	}
	return nil
}

// Render implements frame.Page.
func (p *Files) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"   " + t.Title.Render(widget.Cut(event.Clean(p.dir), w-6, t.Glyphs.Cut))}
	entries := p.shown()
	if p.filter.typing || p.filter.text != "" {
		out = append(out, p.filter.line(e, len(entries), len(p.entries), w))
	} else {
		out = append(out, "")
	}
	if p.fault != nil || p.busy && p.entries == nil {
		return append(out, indent(p.lines(e, w-6), 3)...), nil
	}
	if len(entries) == 0 {
		out = append(out, "   "+t.Dim.Render(e.P.T("files.none", "suffix", strings.Join(p.suffix, " "))))
	}
	room := 24
	for _, x := range entries {
		room = max(room, widget.Width(event.Clean(x.Name))+2)
	}
	room = min(room, w-3-12-20)
	from, to := p.list.sight(len(entries), h-len(out))
	for i := from; i < to; i++ {
		x := entries[i]
		l := new(widget.Line)
		if x.Dir {
			l.Add(t.Busy, widget.Fit(event.Clean(x.Name)+"/", room, t.Glyphs.Cut))
		} else {
			l.Add(t.Text, widget.Fit(event.Clean(x.Name), room, t.Glyphs.Cut)).Add(t.Dim,
				widget.FitRight(report.Size(x.Size), 10, "")).Space(2).Add(t.Dim,
				x.Changed.Local().Format("2006-01-02 15:04"))
		}
		out = append(out, row(e, i == p.list.at, l.String(), w))
	}
	return out, nil
}

// Title implements frame.Page.
func (p *Files) Title(e *frame.Env) string { return e.P.T(p.title) }

// NewFile chooses a deploy.yaml and leads to its review.
func NewFile(d *Deps) *Files {
	return newFiles(d, "menu.file", "", func(path string) tea.Cmd { return push(NewReview(d, path)) }, ".yaml", ".yml")
}

// Review shows what a deploy.yaml says and what is wrong with it, and begins the run.
type Review struct {
	quiet
	task
	d    *Deps
	path string
	got  backend.Checked
	have bool
	top  int
	h, n int
}

// NewReview makes the page.
func NewReview(d *Deps, path string) *Review { return &Review{d: d, path: path} }

// Init implements frame.Page.
func (p *Review) Init(*frame.Env) tea.Cmd { return p.begin() }

func (p *Review) begin() tea.Cmd {
	get, path := p.d.S.Check, p.path
	return p.task.start(event.M("files.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get(ctx, path)
	})
}

// Update implements frame.Page.
func (p *Review) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if got, ok := result.(backend.Checked); ok && done {
		p.got, p.have = got, true
	}
	return c
}

// Keys implements frame.Page.
func (p *Review) Keys(e *frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { return p.Wheel(n, e) } }
	keys := []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: move(-1)},
		{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		{Keys: []string{"pgup"}, Do: move(-10), Help: true},
		{Keys: []string{"pgdown"}, Do: move(10), Help: true},
		{Keys: []string{"r"}, Word: "ui.key.again", Do: p.begin},
	}
	if p.have && !p.got.Problems.HasErrors() {
		keys = append([]frame.Binding{
			{Keys: []string{"enter"}, Show: "Enter", Word: "file.do", Do: p.sure, Now: true},
			{Keys: []string{"p"}, Word: "ui.key.plan", Do: func() tea.Cmd {
				return push(NewTell(p.d, "file.plan", p.got.Cluster.Name, backend.Plan{Request: p.deploy()}))
			}, Now: true},
		}, keys...)
	}
	return keys
}

// deploy is the request of the file.
func (p *Review) deploy() request.Deploy { return request.Deploy{Common: request.OfFile(p.path)} }

func (p *Review) sure() tea.Cmd {
	return frame.Send(frame.Ask{
		Title: event.M("file.sure", "cluster", p.got.Cluster.Name),
		Lines: []event.Msg{event.M("file.sure.what", "count", fmt.Sprint(len(p.got.Cluster.Nodes)))},
		Choices: []frame.Choice{
			{Key: "y", Word: "file.do", Do: func() tea.Cmd {
				return frame.Send(frame.Replace{Page: NewLaunch(p.d, backend.Start{Request: p.deploy()})})
			}},
			{Key: "n", Word: "ui.ask.cancel"},
		},
	})
}

// Wheel implements frame.Wheeler.
func (p *Review) Wheel(n int, _ *frame.Env) tea.Cmd {
	p.top = max(0, min(p.top+n, p.n-p.h))
	return nil
}

// Render implements frame.Page.
func (p *Review) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"   " + t.Title.Render(widget.Cut(event.Clean(p.path), w-6, t.Glyphs.Cut)), ""}
	if !p.have {
		return append(out, indent(p.lines(e, w-6), 3)...), nil
	}
	c := p.got.Cluster
	var body []string
	if c.Name != "" {
		name := t.Strong.Render(event.Clean(c.Name)) + "  "
		if c.Status == request.Unknown {
			name += t.Busy.Render(e.P.T("file.new"))
		} else {
			word, style := status(e, c.Status)
			name += style.Render(word)
		}
		body = append(body, widget.Cut(name+"  "+t.Dim.Render(members(e, c)), w-6, t.Glyphs.Cut))
		for _, f := range p.got.Facts {
			body = append(body, t.Dim.Render(widget.Cut(e.P.Msg(f), w-6, t.Glyphs.Cut)))
		}
		body = append(body, "")
	}
	if p.got.Problems.HasErrors() { // what has to be fixed stands first
		body = append(append(body, p.problems(e, w)...), "")
	}
	name, addr := 4, 7
	for _, n := range c.Nodes {
		name, addr = max(name, widget.Width(event.Clean(n.Name))), max(addr, len(n.IP.String()))
	}
	for _, n := range c.Nodes {
		body = append(body, new(widget.Line).Add(t.Strong,
			widget.Fit(event.Clean(n.Name), min(name, w/3), t.Glyphs.Cut)).Space(2).Add(t.Text,
			widget.Fit(n.IP.String(), addr, "")).Space(2).
			Add(t.Dim, widget.Fit(n.Arch, 6, "")).Space(2).Add(t.Dim, roles(e, n)).String())
	}
	if !p.got.Problems.HasErrors() {
		body = append(append(body, ""), p.problems(e, w)...)
	}
	p.n, p.h = len(body), h-len(out)
	p.top = max(0, min(p.top, p.n-p.h))
	return append(out, indent(body[p.top:], 3)...), nil
}

// problems are what is wrong with the file.
func (p *Review) problems(e *frame.Env, w int) []string {
	t := e.Theme
	if len(p.got.Problems) == 0 {
		return []string{t.Good.Render(t.Glyphs.OK + " " + e.P.T("file.fine"))}
	}
	errors, warnings := p.got.Problems.Count()
	out := []string{t.Strong.Render(e.P.T("file.problems", "errors", fmt.Sprint(errors), "warnings",
		fmt.Sprint(warnings)))}
	for _, x := range p.got.Problems {
		style, glyph := t.Warn, t.Glyphs.Ignored
		if x.Severity == event.Error {
			style, glyph = t.Bad, t.Glyphs.Failed
		}
		text, next := e.P.Fault(x.Fault())
		out = append(out, style.Render(glyph)+" "+t.Dim.Render(fmt.Sprintf("%d:%d ", x.Line, x.Col)+event.Clean(x.Key)))
		out = append(out, indent(wrapped(t.Text, text, w-8), 2)...)
		if next != "" {
			out = append(out, indent(wrapped(t.Dim, t.Glyphs.Arrow+" "+next, w-8), 2)...)
		}
	}
	return out
}

// Aside implements frame.Asider.
func (p *Review) Aside(e *frame.Env) string { return below(e, p.n-p.h-p.top) }

// Title implements frame.Page.
func (p *Review) Title(e *frame.Env) string { return e.P.T("file.title") }
