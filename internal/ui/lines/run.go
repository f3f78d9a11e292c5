package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// runView tells of a run line by line, from its event log alone, and takes what the person types meanwhile: it is the
// board for whoever does not look at a screen. The run is a process of its own and does not need it.
type runView struct {
	*conversation
	opt   backend.Board
	state *state.State
	out   *pending
	plain *report.Plain
	calm  bool
	told  map[asked]bool // what was decided here, or put off; the run has not said so yet
	deaf  bool           // nobody types any more
	over  bool           // nothing more will come
	again bool           // deploy.yaml was changed: the run ends to be gone on with
	heard time.Time      // when the last record was read

	halt   <-chan struct{} // closed by an interrupt, which is a question here; nil when none is
	disarm func()
}

// asked is a step that is asked about; it may be asked about again when it has failed again.
type asked struct {
	step string
	try  int
}

// pending keeps what a report says while the person answers a question.
type pending struct {
	p    *conversation
	back bool
	buf  bytes.Buffer
}

// Write implements io.Writer.
func (h *pending) Write(b []byte) (int, error) {
	if h.buf.Len() < 1<<20 { // whoever leaves a question open for days is spared the rest
		h.buf.Write(b)
	}
	if !h.back {
		h.flush()
	}
	return len(b), nil
}

func (h *pending) flush() {
	if h.buf.Len() > 0 {
		h.p.print(strings.TrimSuffix(h.buf.String(), "\n"))
		h.buf.Reset()
	}
}

// pollEvery is how often the log is looked at.
const pollEvery = 100 * time.Millisecond

// watch tells of a run until it has ended or the person leaves, and goes on with it when its deploy.yaml was changed on
// the way.
func watch(ctx context.Context, svc runner, p *conversation, ref request.Ref, replay float64) error {
	for {
		opt, err := svc.Open(ctx, ref, replay)
		if err != nil {
			return err
		}
		r := newRunView(p, opt)
		err = r.follow(ctx)
		if opt.Close != nil {
			opt.Close()
		}
		if err != nil || !r.again {
			return err
		}
		start := backend.Resume(ref.Cluster)
		start.Soon = true
		if ref, err = svc.Launch(ctx, start, p); err != nil {
			return err
		}
	}
}

func newRunView(p *conversation, opt backend.Board) *runView {
	r := &runView{conversation: p, opt: opt, state: state.New(), out: &pending{p: p}, calm: true,
		told: map[asked]bool{}}
	r.plain = report.NewPlain(r.out, p.p)
	r.plain.Calm = true
	if opt.Usual != nil && opt.Replay == nil {
		r.plain.Usual = opt.Usual()
	}
	return r
}

// live says whether the run goes on and can be reached.
func (r *runView) live() bool {
	return r.opt.Control != nil && r.opt.Replay == nil && !r.over && r.state.Ended == nil
}

// follow is over when the run is, or when the person has left (errLeft).
func (r *runView) follow(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	r.arm()
	defer func() { r.disarm() }()
	if r.opt.Control != nil || r.opt.Replay != nil {
		r.how()
	}
	for {
		if err := r.take(); err != nil {
			return err
		}
		if r.over || r.state.Ended != nil && r.opt.Replay == nil {
			return r.end(ctx)
		}
		if q := r.open(); q != nil && r.opt.Control != nil {
			if err := r.ask(ctx, q); err != nil {
				return err
			}
			continue
		}
		var lines <-chan heard
		if (r.opt.Control != nil || r.opt.Replay != nil) && !r.deaf {
			lines = r.listen()
		}
		select {
		case h := <-lines:
			r.wait = nil
			if err := r.command(ctx, h); err != nil {
				return err
			}
		case <-r.halt:
			r.arm()
			if err := r.leave(ctx); err != nil {
				return err
			}
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// how says what can be typed.
func (r *runView) how() {
	if r.opt.Replay != nil {
		r.say("plain.replay.how")
		return
	}
	r.say("plain.run.how")
}

// arm makes a question of the next interrupt, as long as a run goes on: it does not need this process.
func (r *runView) arm() {
	if r.disarm != nil {
		r.disarm()
	}
	r.halt, r.disarm = nil, func() {}
	if r.term.Interrupts != nil && r.opt.Control != nil && r.opt.Replay == nil {
		r.halt, r.disarm = r.term.Interrupts()
	}
}

// take reads what the run has told since.
func (r *runView) take() error {
	for {
		recs, err := r.opt.Feed.Take(1000)
		for _, rec := range recs {
			r.state.Apply(rec)
			_ = r.plain.Emit(rec) // it never fails
		}
		if len(recs) > 0 {
			r.heard = time.Now()
		}
		if errors.Is(err, io.EOF) {
			r.over = true
			return nil
		}
		if err != nil {
			return err
		}
		if len(recs) < 1000 {
			break
		}
	}
	r.plain.Tick(r.now())
	return nil
}

func (r *runView) now() time.Time {
	if r.opt.Replay != nil {
		return r.opt.Replay.Clock()
	}
	if r.opt.Control == nil { // the log may be one of long ago: its time goes on from the last record
		return r.state.Now.Add(time.Since(r.heard))
	}
	return r.state.At(time.Now())
}

// end says what there is to say when nothing more comes, and takes questions until an empty line. How the run ended,
// its report has said.
func (r *runView) end(ctx context.Context) error {
	if r.state.Ended == nil {
		r.say("plain.run.cut")
	}
	if r.again || r.deaf {
		return nil
	}
	r.over = true
	for {
		text, err := r.line(ctx, r.t("plain.run.over"))
		if errors.Is(err, io.EOF) || err == nil && (text == "" || narrow(text) == "q") {
			return nil
		}
		if err == nil {
			err = r.command(ctx, heard{text: text})
		}
		if err != nil {
			return err
		}
	}
}

// open is the oldest question that was not answered here, nor put off.
func (r *runView) open() *state.Question {
	for _, q := range r.state.Open {
		if !r.told[asked{q.Step.ID, q.Try}] {
			return q
		}
	}
	return nil
}

// answer waits for a line while the log is read on; false when what was asked about is no longer asked. An interrupt is
// q.
func (r *runView) answer(ctx context.Context, still func() bool) (string, bool, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case h := <-r.listen():
			r.wait = nil
			return narrow(typed(h.text)), true, h.err
		case <-r.halt:
			r.arm()
			return "q", true, nil
		case <-tick.C:
			if err := r.take(); err != nil {
				return "", false, err
			}
			if r.over || r.state.Ended != nil || !still() {
				return "", false, nil
			}
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
	}
}

// pick is choose while a run goes on. "" is that what was asked about is no longer asked, def that nothing else was
// typed.
func (r *runView) pick(ctx context.Context, list []choice, def string, still func() bool) (string, error) {
	for i, c := range list {
		r.print(fmt.Sprintf("%2d  %s", i+1, c.text))
	}
	r.say("plain.number-default", "default", fmt.Sprint(1+slices.IndexFunc(list, func(c choice) bool {
		return c.id == def
	})))
	for {
		text, on, err := r.answer(ctx, still)
		switch i, ok := numbered(text, len(list)); {
		case err != nil || !on:
			return "", err
		case text == "":
			return def, nil
		case text == "q":
			return "q", nil
		case ok:
			return list[i].id, nil
		}
		r.say("plain.no-such", "text", text)
	}
}

func (r *runView) name(host string) string {
	if host == "" {
		return r.t("report.jump-host")
	}
	return event.Clean(host)
}

// detach leaves the run to itself.
func (r *runView) detach() error {
	if r.live() {
		r.say("ui.quit.detached", "cluster", event.Clean(r.state.Run.Cluster))
	}
	return errLeft
}

// leave asks what becomes of a run that goes on.
func (r *runView) leave(ctx context.Context) error {
	if !r.live() {
		return errLeft
	}
	back := r.out.back
	r.out.back = true
	defer func() {
		r.out.back = back
		if !back {
			r.out.flush()
		}
	}()
	r.say("ui.quit.title", "cluster", event.Clean(r.state.Run.Cluster))
	var list []choice
	for _, k := range []string{"ui.quit.detach", "ui.quit.stop", "ui.quit.abort"} {
		list = append(list, choice{k, r.t(k) + ": " + r.t(k+"-hint")})
	}
	do, err := r.pick(ctx, append(list, r.choices("ui.quit.go-on")...), "ui.quit.go-on", func() bool { return true })
	switch {
	case errors.Is(err, io.EOF), do == "ui.quit.detach", do == "q":
		return r.detach()
	case err != nil:
		return err
	case do == "ui.quit.stop":
		err = r.opt.Control.Stop()
	case do == "ui.quit.abort":
		err = r.opt.Control.Abort()
	default:
		return nil
	}
	if err != nil {
		r.fault(err)
		return nil
	}
	r.say("ui.quit.stopping")
	return nil
}

// edit opens deploy.yaml in the person's editor. What has a fault counts for nothing and is told.
func (r *runView) edit() error {
	c, after, err := r.opt.Edit()
	if err == nil {
		err = r.outside(c)
	}
	if err == nil {
		r.again, err = after()
	}
	if err == nil {
		r.say(map[bool]string{true: "ui.quit.stopping", false: "plain.run.unchanged"}[r.again])
	}
	return err
}

func (r *runView) shell(host string) {
	c, err := r.opt.Shell(host)
	if err == nil {
		r.say("plain.run.shell", "node", event.Clean(host))
		err = r.outside(c)
		if errors.As(err, new(*exec.ExitError)) { // how the last command in a shell ended is nobody's fault
			err = nil
		}
	}
	r.fault(err)
}

// outside gives the terminal to another program until that has ended.
func (r *runView) outside(c *exec.Cmd) error {
	c.Stdin, c.Stdout, c.Stderr = r.term.In, r.term.Out, r.term.Err
	return c.Run()
}
