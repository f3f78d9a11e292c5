package pages

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// NewBundle chooses a bundle and leads to what is in it.
func NewBundle(d *Deps) *Files {
	return newFiles(d, "menu.bundle", "", func(path string) tea.Cmd { return push(NewLook(d, path)) }, ".tar.gz",
		".tgz", ".part00", ".part01", ".00", ".01")
}

// Look shows the manifest of a bundle and verifies it when asked to.
type Look struct {
	task
	d       *Deps
	path    string
	got     backend.Bundle
	have    bool
	top     int
	n, h    int
	verify  task
	part    atomic.Uint64 // of the verifying, in thousandths
	checked bool
	filter  filter // of the members
}

// NewLook makes the page.
func NewLook(d *Deps, path string) *Look { return &Look{d: d, path: path} }

// Init implements frame.Page.
func (p *Look) Init(*frame.Env) tea.Cmd {
	get, path := p.d.S.Bundle, p.path
	return p.task.start(event.M("files.reading"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return get(ctx, path)
	})
}

type verified struct{}

func (p *Look) check() tea.Cmd {
	if p.verify.busy {
		return nil
	}
	p.checked = false
	p.part.Store(0)
	run, path := p.d.S.Verify, p.path
	return p.verify.start(event.M("bundle.verifying", "part", "0"),
		func(ctx context.Context, to ask.Asker) (any, error) {
			var last time.Time
			err := run(ctx, path, func(done, total int64) {
				if now := time.Now(); total > 0 && now.Sub(last) > 100*time.Millisecond {
					last = now
					p.part.Store(uint64(1000 * done / total))
					what := event.M("bundle.verifying", "part", fmt.Sprint(100*done/total))
					ask.Tell(ctx, to, ask.Progress{What: what})
				}
			})
			return verified{}, err
		})
}

// Update implements frame.Page.
func (p *Look) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if got, ok := result.(backend.Bundle); ok && done {
		p.got, p.have = got, true
	}
	more, result, done := p.verify.take(m)
	if _, ok := result.(verified); ok && done {
		p.checked = true
	}
	return tea.Batch(c, more)
}

// Close implements frame.Closer.
func (p *Look) Close() {
	p.task.Close()
	p.verify.Close()
}

// Type implements frame.Page.
func (p *Look) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) { return nil, p.filter.take(m) }

// Paste implements frame.Page.
func (p *Look) Paste(text string, _ *frame.Env) tea.Cmd {
	p.filter.paste(text)
	return nil
}

// Typing implements frame.Typer.
func (p *Look) Typing() bool { return p.filter.typing }

// Keys implements frame.Page.
func (p *Look) Keys(e *frame.Env) []frame.Binding {
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { return p.Wheel(n, e) } }
	keys := []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: move(-1)},
		{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		{Keys: []string{"pgup"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: move(1 - p.h), Help: true},
		{Keys: []string{"pgdown", "space"}, Do: move(p.h - 1), Help: true},
	}
	if p.filter.typing {
		return append(p.filter.typed(), keys...)
	}
	if p.have {
		keys = append(keys, frame.Binding{Keys: []string{"v", "enter"}, Word: "ui.key.verify", Do: p.check})
	}
	if p.have {
		keys = append(keys, p.filter.keys()...)
	}
	return keys
}

// Wheel implements frame.Wheeler.
func (p *Look) Wheel(n int, _ *frame.Env) tea.Cmd {
	p.top = max(0, min(p.top+n, p.n-p.h))
	return nil
}

// Render implements frame.Page.
func (p *Look) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	out := []string{"   " + t.Title.Render(widget.Cut(event.Clean(p.path), w-6, t.Glyphs.Cut)), ""}
	if !p.have {
		return append(out, indent(p.lines(e, w-6), 3)...), nil
	}
	switch {
	case p.verify.busy:
		part := float64(p.part.Load()) / 1000
		word := e.P.Msg(p.verify.doing)
		room := w - 8 - widget.Width(word)
		out = append(out, "   "+widget.Bar(t.BarFull, t.BarRest, t.Glyphs.BarFull, t.Glyphs.BarRest, room, part)+"  "+
			t.Dim.Render(word))
	case p.verify.fault != nil:
		out = append(out, indent(told(e, p.verify.fault, w-6), 3)...)
	case p.checked:
		out = append(out, "   "+t.Good.Render(t.Glyphs.OK+" "+e.P.T("bundle.verified")))
	default:
		out = append(out, "   "+t.Dim.Render(e.P.T("bundle.not-verified")))
	}
	out = append(out, "")
	var body []string
	if p.filter.typing || p.filter.text != "" {
		var shown, all int
		body, shown, all = p.members(e, w)
		out[len(out)-1] = p.filter.line(e, shown, all, w)
		if shown == 0 {
			body = []string{t.Dim.Render(widget.Cut(e.P.T("runs.no-match"), w-6, t.Glyphs.Cut))}
		}
	} else {
		body, _, _ = p.members(e, w)
		body = append(p.facts(e, w), body...)
	}
	p.n, p.h = len(body), h-len(out)
	p.top = max(0, min(p.top, p.n-p.h))
	return append(out, indent(body[p.top:], 3)...), nil
}

// facts are the lines that say what the bundle is.
func (p *Look) facts(e *frame.Env, w int) []string {
	t, b := e.Theme, p.got
	var body []string
	for _, f := range [][2]string{{"bundle.name", b.Name}, {"bundle.kubernetes", b.Kubernetes}, {"bundle.arch", b.Arch},
		{"bundle.os", b.OS}, {"bundle.size", report.Size(b.Size)}, {"bundle.base", b.Base}, {"bundle.id", b.ID}} {
		if f[1] != "" {
			body = append(body, new(widget.Line).Add(t.Dim,
				widget.Fit(e.P.T(f[0]), 16, t.Glyphs.Cut)).Space(2).Add(t.Text,
				widget.Cut(event.Clean(f[1]), w-26, t.Glyphs.Cut)).String())
		}
	}
	return append(body, "")
}

// members are the lines of what is in the bundle, by kind, as far as the filter lets it through, and how many these are
// of how many.
func (p *Look) members(e *frame.Env, w int) (body []string, shown, all int) {
	t := e.Theme
	name, version := 8, 8 // the groups stand in the same columns
	for _, g := range p.got.Groups {
		for _, m := range g.Members {
			name, version = max(name, widget.Width(event.Clean(m.Name))),
				max(version, widget.Width(event.Clean(m.Version)))
		}
	}
	name = min(name, w/2)
	version = min(version, max(8, w-name-26))
	for _, g := range p.got.Groups {
		all += len(g.Members)
		kind := e.P.T("bundle.group." + g.Kind)
		var lines []string
		for _, m := range g.Members {
			if p.filter.fits(map[string]string{"name": m.Name, "version": m.Version, "kind": g.Kind + " " + kind}) {
				l := new(widget.Line).Space(2).Add(t.Text,
					widget.Fit(event.Clean(m.Name), name, t.Glyphs.Cut)).Space(2).Add(t.Dim,
					widget.Fit(event.Clean(m.Version), version, t.Glyphs.Cut)).Space(2).Add(t.Dim,
					widget.FitRight(report.Size(m.Size), 10, ""))
				lines = append(lines, l.String())
			}
		}
		if len(lines) == 0 && p.filter.text != "" {
			continue
		}
		if shown += len(lines); len(body) > 0 {
			body = append(body, "")
		}
		body = append(append(body, t.Strong.Render(kind)+"  "+
			t.Dim.Render(fmt.Sprintf("%d  %s", len(g.Members), report.Size(g.Size)))), lines...)
	}
	return body, shown, all
}

// Aside implements frame.Asider.
func (p *Look) Aside(e *frame.Env) string { return below(e, p.n-p.h-p.top) }

// Title implements frame.Page.
func (p *Look) Title(e *frame.Env) string { return e.P.T("menu.bundle") }
