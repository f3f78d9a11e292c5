package pages

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Launch is the page between an intention and the board: it asks what has to be known, begins the run, and gives its
// place to the board, and that of the pages before it: from the board the way back leads to the menu.
type Launch struct {
	quiet
	task
	d     *Deps
	start backend.Start
}

// NewLaunch begins a run when it is shown.
func NewLaunch(d *Deps, s backend.Start) *Launch { return &Launch{d: d, start: s} }

// Init implements frame.Page.
func (p *Launch) Init(*frame.Env) tea.Cmd { return p.begin() }

func (p *Launch) begin() tea.Cmd {
	d, s := p.d, p.start
	return p.task.start(event.M("launch.begin"), func(ctx context.Context, to ask.Asker) (any, error) {
		ref, err := d.S.Launch(ctx, s, to)
		if err != nil {
			return nil, err
		}
		return d.open(ctx, ref, 0)
	})
}

// Update implements frame.Page.
func (p *Launch) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	if x, ok := result.(opened); ok && done {
		return frame.Send(frame.Settle{Page: p.d.Run(x.ref, x.o)})
	}
	return c
}

// Keys implements frame.Page.
func (p *Launch) Keys(*frame.Env) []frame.Binding {
	if p.fault == nil {
		return nil
	}
	return []frame.Binding{{Keys: []string{"r"}, Word: "ui.key.retry", Do: p.begin}}
}

// Render implements frame.Page.
func (p *Launch) Render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t := e.Theme
	q := p.start.Request
	from := q.Base().Source
	name := event.Clean(cmp.Or(from.Cluster, from.File))
	out := []string{"", "   " + t.Strong.Render(verb(e, string(q.Verb()))) + "  " + t.Title.Render(name)}
	if _, plain := q.(request.Deploy); !plain {
		call := q.Call()
		call.Cluster = from.Cluster
		out = append(out, "   "+t.Dim.Render(widget.Cut(event.Clean(e.P.Command(call)), w-6, t.Glyphs.Cut)))
	}
	out = append(append(out, ""), indent(p.lines(e, w-6), 3)...)
	if p.fault == nil {
		out = append(append(out, ""), indent(wrapped(t.Dim, e.P.T("launch.explain"), min(76, w-6)), 3)...)
	}
	return out, nil
}

// Title implements frame.Page.
func (p *Launch) Title(e *frame.Env) string { return e.P.T("launch.title") }

// Opening shows the board of a run as soon as it is read.
type Opening struct {
	quiet
	task
	d    *Deps
	ref  request.Ref
	open func(ctx context.Context) (opened, error)
}

// NewOpening opens a run.
func NewOpening(d *Deps, r request.Ref, replay float64) *Opening {
	return &Opening{d: d, ref: r, open: func(ctx context.Context) (opened, error) { return d.open(ctx, r, replay) }}
}

// NewDemo opens the run that the program carries with it to be shown.
func NewDemo(d *Deps) *Opening {
	return &Opening{d: d, open: func(ctx context.Context) (opened, error) {
		o, err := d.S.Demo(ctx)
		return opened{o: o}, err
	}}
}

// Init implements frame.Page.
func (p *Opening) Init(*frame.Env) tea.Cmd {
	open := p.open
	return p.task.start(event.M("launch.open"), func(ctx context.Context, _ ask.Asker) (any, error) {
		return open(ctx)
	})
}

// Update implements frame.Page.
func (p *Opening) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	c, result, done := p.take(m)
	x, ok := result.(opened)
	switch {
	case !ok || !done:
		return c
	case x.o.Story:
		return frame.Send(frame.Replace{Page: runview.New(x.o)})
	}
	return frame.Send(frame.Replace{Page: p.d.Run(x.ref, x.o)})
}

// Keys implements frame.Page.
func (p *Opening) Keys(*frame.Env) []frame.Binding { return nil }

// Render implements frame.Page.
func (p *Opening) Render(e *frame.Env, w, _ int) ([]string, *tea.Cursor) {
	return append([]string{""}, indent(p.lines(e, w-6), 3)...), nil
}

// Title implements frame.Page.
func (p *Opening) Title(*frame.Env) string { return event.Clean(p.ref.Cluster) }
