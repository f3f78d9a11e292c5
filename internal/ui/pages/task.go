package pages

import (
	"context"
	"errors"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// task is something slow that a page waits for: it says what it does, may ask, and ends with a result or a fault.
type task struct {
	doing  event.Msg
	fault  *event.Fault
	busy   bool
	cancel context.CancelFunc
	ch     chan tea.Msg
}

type (
	doingMsg  struct{ what event.Msg }
	secretMsg struct {
		what   event.Msg
		answer chan<- string
	}
	keysMsg struct {
		ask.HostKeys
		answer chan<- []bool
	}
	signerMsg struct {
		signer ask.Signer
		answer chan<- bool
	}
	movedMsg struct{ to any }
	doneMsg  struct {
		result any
		err    error
	}
)

// start begins; the page gets what it says through take.
func (t *task) start(what event.Msg, f func(ctx context.Context, to ask.Asker) (any, error)) tea.Cmd {
	return t.show(what, func(ctx context.Context, to *teller) (any, error) { return f(ctx, to) })
}

// show is start for what shows how far it is.
func (t *task) show(what event.Msg, f func(ctx context.Context, to *teller) (any, error)) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background()) // ends when the page is left: Close
	ch := make(chan tea.Msg)
	t.Close() // of what was asked before, nobody wants to know any more
	*t = task{doing: what, busy: true, cancel: cancel, ch: ch}
	go func() {
		r, err := f(ctx, &teller{ctx, ch})
		select {
		case ch <- doneMsg{r, err}:
		case <-ctx.Done():
		}
	}()
	return t.next(ctx)
}

func (t *task) next(ctx context.Context) tea.Cmd {
	ch := t.ch
	return func() tea.Msg {
		select {
		case m := <-ch:
			return taskMsg{ctx, t, m}
		case <-ctx.Done():
			return nil
		}
	}
}

// after answers and goes on.
func (t *task) after(ctx context.Context, answer func()) tea.Cmd {
	next := t.next(ctx)
	return func() tea.Msg {
		answer()
		return next()
	}
}

type taskMsg struct {
	ctx context.Context
	of  *task
	msg tea.Msg
}

// take handles what the task says; done is true once, with the result, when it ended well. Before, the result is how
// far it is.
func (t *task) take(m tea.Msg) (c tea.Cmd, result any, done bool) {
	tm, ok := m.(taskMsg)
	if !ok {
		return nil, nil, false
	}
	if tm.of != t || tm.ctx.Err() != nil { // of another task, or of one that was given up
		return nil, nil, false
	}
	switch m := tm.msg.(type) {
	case doingMsg:
		t.doing = m.what
	case movedMsg:
		return t.next(tm.ctx), m.to, false
	case secretMsg: // nothing more is taken until there is an answer
		return frame.Send(frame.Prompt{
			Title: event.M("ask.title.secret"), Lines: []event.Msg{m.what}, Secret: true, Word: "ask.word.give",
			Do:     func(s string) tea.Cmd { return t.after(tm.ctx, func() { m.answer <- s }) },
			Cancel: func() tea.Cmd { return t.after(tm.ctx, func() { close(m.answer) }) },
		}), nil, false
	case keysMsg:
		return frame.Send(askKeys(m.HostKeys, func(trusted []bool) tea.Cmd {
			return t.after(tm.ctx, func() { m.answer <- trusted })
		})), nil, false
	case signerMsg:
		return frame.Send(askSigner(m.signer, func(yes bool) tea.Cmd {
			return t.after(tm.ctx, func() { m.answer <- yes })
		})), nil, false
	case doneMsg:
		t.busy = false
		t.cancel()
		switch {
		case errors.Is(m.err, errNoAnswer): // whoever sees this knows that he was asked
			t.fault = event.NewFault(event.ClassUsage, "ask.given-up", nil)
			return nil, nil, false
		case m.err != nil:
			t.fault = event.AsFault(m.err)
			return nil, nil, false
		}
		return nil, m.result, true
	}
	return t.next(tm.ctx), nil, false
}

// Close implements frame.Closer for the page that embeds it.
func (t *task) Close() {
	if t.cancel != nil {
		t.cancel()
	}
}

// lines show what is done, or what went wrong.
func (t *task) lines(e *frame.Env, w int) []string {
	switch {
	case t.fault != nil:
		return told(e, t.fault, w)
	case t.busy:
		return []string{e.Theme.Busy.Render(widget.Cut(e.Theme.Glyphs.Running+" "+e.P.Msg(t.doing), w,
			e.Theme.Glyphs.Cut))}
	}
	return nil
}

// askKeys shows the keys of machines that are contacted for the first time. Unless some are trusted, all are refused.
func askKeys(q ask.HostKeys, answer func([]bool) tea.Cmd) frame.AskKeys {
	none := func() tea.Cmd { return answer(make([]bool, len(q.Keys))) }
	return frame.AskKeys{
		Title: event.M("ask.title.keys", "count", strconv.Itoa(len(q.Keys))), About: event.M("ask.keys"),
		Done: "ask.keys.go", Leave: "ask.keys.stop", Keys: q.Keys, Known: q.Known,
		Do: answer, Refuse: none, Cancel: none,
	}
}

// askSigner shows who signed a bundle. The default is to refuse.
func askSigner(s ask.Signer, answer func(bool) tea.Cmd) frame.Ask {
	return frame.Ask{
		Title: event.M("ask.title.signer"),
		Body: func(e *frame.Env, w int) []string {
			out := wrapped(e.Theme.Text, e.P.T("ask.signer", "bundle", event.Clean(s.Bundle), "name", s.Name, "arch",
				s.Arch), w)
			out = append(out, "", "  "+e.Theme.Dim.Render(event.Clean(s.Type)),
				"  "+e.Theme.Accent.Render(event.Clean(s.Fingerprint)), "")
			return append(out, wrapped(e.Theme.Dim, e.P.T("ask.signer.how"), w)...)
		},
		Whole: true,
		Choices: []frame.Choice{
			{Key: "n", Word: "ask.signer.no", Do: func() tea.Cmd { return answer(false) }},
			{Key: "y", Word: "ask.signer.yes", Do: func() tea.Cmd { return answer(true) }},
		},
		Cancel: func() tea.Cmd { return answer(false) },
	}
}

// teller is the task's end of the line.
type teller struct {
	ctx context.Context
	ch  chan<- tea.Msg
}

func (t *teller) send(ctx context.Context, m tea.Msg) bool {
	select {
	case t.ch <- m:
		return true
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return false
}

// moved shows how far the task is.
func (t *teller) moved(to any) { t.send(t.ctx, movedMsg{to}) }

var errNoAnswer = errors.New("no answer")

// Ask implements ask.Asker.
func (t *teller) Ask(ctx context.Context, q ask.Question) (out ask.Answer, err error) {
	switch q := q.(type) {
	case ask.Secret:
		answer, ok := make(chan string, 1), false
		if out.Secret, ok, err = answered(ctx, t, secretMsg{q.What, answer}, answer); err == nil && !ok {
			err = errNoAnswer
		}
	case ask.HostKeys:
		answer := make(chan []bool, 1)
		out.Trusted, _, err = answered(ctx, t, keysMsg{q, answer}, answer)
	case ask.Signer:
		answer, yes := make(chan bool, 1), false
		yes, _, err = answered(ctx, t, signerMsg{q, answer}, answer)
		out.Trusted = []bool{yes}
	case ask.Progress:
		t.send(t.ctx, doingMsg{q.What})
	}
	return out, err
}

// answered sends a question and waits for the answer; ok is false if there is none.
func answered[T any](ctx context.Context, t *teller, question tea.Msg, answer <-chan T) (a T, ok bool, err error) {
	t.send(ctx, question)
	select {
	case a, ok = <-answer:
		return a, ok, nil
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	return a, false, context.Canceled
}
