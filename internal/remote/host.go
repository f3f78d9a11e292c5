package remote

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Host is one node, connected. Its methods may be called side by side: scripts run one after the other, uploads beside
// them.
type Host struct {
	target Target
	opt    Options
	upOpt  Options // of the session for uploads

	run, up place // of the session for scripts, and of the one for uploads

	dialing   chan struct{} // holds one: who connects
	mu        sync.Mutex
	link      *link
	closed    bool
	single    bool        // the node allows one session only; uploads go through it too
	explained bool        // what limits uploads was said
	holder    string      // of the node's lock, "" if not held
	locked    *session    // that holds it
	gone      atomic.Bool // reconnecting was given up
	purse     purse
}

// place holds a session that is opened when it is needed.
type place struct {
	turn chan struct{} // holds one: whose turn it is
	s    *session
}

// Dial connects to a node and opens the privileged session, so that a Host that is returned can be used.
func Dial(ctx context.Context, t Target, o Options) (*Host, error) {
	if t.User == "" {
		t.User = "root"
	}
	if t.Port == 0 {
		t.Port = 22
	}
	o.fill()
	h := &Host{target: t, opt: o, upOpt: o, dialing: make(chan struct{}, 1)}
	// A node whose disk takes nothing for a while hears nothing either; Progress is what says how long that may be.
	h.upOpt.Timeouts.Lease += o.Timeouts.Progress
	h.purse.limits, h.purse.run = o.Shared.limits, &o.Shared.spent
	h.run.turn, h.up.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	h.run.turn <- struct{}{}
	defer h.leave(&h.run)
	if _, err := h.session(ctx, &h.run); err != nil {
		_ = h.Close()
		return nil, h.fault(err)
	}
	return h, nil
}

// Name is the node's name in deploy.yaml.
func (h *Host) Name() string { return h.target.Name }

// fault names the node in err.
func (h *Host) fault(err error) error {
	if err == nil {
		return nil
	}
	return event.AsFault(err).On(h.target.Name)
}

// enter waits for the turn.
func (h *Host) enter(ctx context.Context, p *place) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctxFault(ctx)
	}
	if ctx.Err() != nil {
		h.leave(p)
		return ctxFault(ctx)
	}
	return nil
}

func (h *Host) leave(p *place) { <-p.turn }

// state emits how the connection is.
func (h *Host) state(state string, err error) {
	e := event.HostState{Host: h.target.Name, State: state}
	if err != nil {
		e.Fault = event.AsFault(h.fault(err))
	}
	h.opt.Emit(e)
}

// connected returns the connection, reopened when it was lost: a node may reboot. The first connection is tried
// once.
func (h *Host) connected(ctx context.Context) (*link, error) {
	select {
	case h.dialing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctxFault(ctx)
	}
	defer func() { <-h.dialing }()
	h.mu.Lock()
	k, closed := h.link, h.closed
	h.mu.Unlock()
	switch {
	case closed:
		return nil, failed("ssh.closed", false, nil)
	case k != nil && !k.dead():
		return k, nil
	}
	again := k != nil
	if again {
		k.drop(nil)
	}
	h.state("connecting", nil)
	k, err := h.reach(ctx, again)
	if err != nil {
		h.state("closed", err)
		return nil, err
	}
	h.mu.Lock()
	h.link = k
	if h.closed {
		h.mu.Unlock()
		k.drop(nil)
		return nil, failed("ssh.closed", false, nil)
	}
	h.mu.Unlock()
	h.state("connected", nil)
	k.wg.Add(1)
	go h.watch(k)
	return k, nil
}

// watch tells of a connection that is lost.
func (h *Host) watch(k *link) {
	defer k.wg.Done()
	<-k.gone
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if !closed {
		h.state("lost", lostFault(k.err))
	}
}

// reach connects, more than once when the node was there before.
func (h *Host) reach(ctx context.Context, again bool) (*link, error) {
	end := time.Now().Add(h.opt.Timeouts.Reconnect)
	for pause := 500 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		k, err := connect(ctx, h.target, &h.opt)
		if err == nil {
			h.gone.Store(false)
			return k, nil
		}
		f := event.AsFault(err)
		if !again || !f.Retry || ctx.Err() != nil {
			return nil, err
		}
		if h.gone.Load() || time.Now().Add(pause).After(end) {
			// It was tried long enough: whoever asks next, from another place or in another try, is not to wait as long
			// again.
			h.gone.Store(true)
			last := *f
			last.Retry = false
			return nil, &last
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctxFault(ctx)
		}
	}
}

// session returns the session of a place whose turn the caller has.
func (h *Host) session(ctx context.Context, p *place) (*session, error) {
	if p.s != nil && !p.s.dead() {
		return p.s, nil
	}
	h.discard(p)
	for again := true; ; again = false {
		k, err := h.connected(ctx)
		if err != nil {
			return nil, err
		}
		opt := &h.opt
		if p == &h.up {
			opt = &h.upOpt
		}
		p.s, err = open(ctx, k, h.target, opt)
		if err == nil {
			break
		}
		p.s = nil
		// The connection may have been lost without anybody noticing until now.
		if !again || event.AsFault(err).Code != "ssh.lost" {
			return nil, err
		}
		k.cut(err)
	}
	h.mu.Lock()
	holder := h.holder
	h.mu.Unlock()
	if p == &h.run && holder != "" {
		if err := h.relock(ctx, p.s, holder); err != nil {
			h.discard(p)
			return nil, err
		}
	}
	return p.s, nil
}

func (h *Host) discard(p *place) {
	if p.s != nil {
		p.s.close()
		p.s = nil
	}
}

// Run feeds a script to a privileged POSIX shell and returns what it printed. A status that is not zero is not an
// error. A child that the script leaves behind is neither waited for nor killed. When ctx ends, the script's process
// group is killed before Run returns.
func (h *Host) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	script, err := compose(c)
	if err != nil {
		return shell.Result{}, h.fault(err)
	}
	step := h.opt.Step(ctx)
	if err := h.enter(ctx, &h.run); err != nil {
		return shell.Result{}, h.fault(err)
	}
	defer h.leave(&h.run)
	for again := true; ; again = false {
		s, err := h.session(ctx, &h.run)
		if err != nil {
			return shell.Result{}, h.fault(err)
		}
		j := newJob(nil)
		if !c.Secret && !c.Quiet {
			j = newJob(h.printed(step))
		}
		j.tell = h.waiting(step)
		r, err := h.do(ctx, &h.run, s, "r", j, script)
		if j.log != nil {
			j.log.end()
		}
		if again && errors.Is(err, errUnsent) && ctx.Err() == nil {
			continue
		}
		return r, h.fault(err)
	}
}

// errUnsent says that a script did not leave whole. The agent runs none that did not arrive whole, so it can be sent
// again.
var errUnsent = errors.New("the script was not sent")

// do runs a job in a session and gives the session up when it cannot be used again.
func (h *Host) do(ctx context.Context, p *place, s *session, mode string, j *job, script []byte) (shell.Result, error) {
	// Writing has no clock of its own; what ends a write that hangs is the end of the connection.
	sent := make(chan error, 1)
	go func() { sent <- s.begin(mode, j, script) }()
	select {
	case err := <-sent:
		if err != nil {
			h.discard(p)
			return shell.Result{}, lostFault(fmt.Errorf("%w: %w", errUnsent, err))
		}
	case <-ctx.Done():
		s.abandon(ctx.Err())
		<-sent
		h.discard(p)
		return shell.Result{}, ctxFault(ctx)
	}
	r, usable, err := s.await(ctx, j)
	if !usable {
		h.discard(p)
	}
	return r, err
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// compose makes one text of a command. It is evaluated whole or not at all, and the script in it stands in quotes, so
// that nothing of it can reach out of its place.
func compose(c shell.Command) ([]byte, error) {
	names := make([]string, 0, len(c.Env))
	for n, v := range c.Env {
		if !envName.MatchString(n) || strings.ContainsRune(v, 0) {
			return nil, failed("ssh.bad-command", false, nil, "what", event.Clean(n))
		}
		names = append(names, n)
	}
	if strings.ContainsRune(c.Script, 0) || len(c.Stdin) > maxStdin {
		return nil, failed("ssh.bad-command", false, nil, "what", "script")
	}
	sort.Strings(names)
	var b strings.Builder
	b.WriteString("unset eg_m eg_p; set --\n")
	for _, n := range names {
		b.WriteString("export " + n + "=" + shell.Quote(c.Env[n]) + "\n")
	}
	if c.Stdin != nil {
		b.WriteString("printf %s " + encode(c.Stdin) + " | base64 -d 2>/dev/null | ")
	}
	b.WriteString("eval " + shell.Quote(c.Script))
	return []byte(b.String()), nil
}

// Close ends the sessions, which frees the node's lock, and the connection.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	k := h.link
	h.mu.Unlock()
	if k == nil {
		return nil
	}
	// Whoever has a turn is cut off; an idle session is ended in peace.
	for _, p := range []*place{&h.run, &h.up} {
		select {
		case p.turn <- struct{}{}:
			h.discard(p)
			<-p.turn
		default:
		}
	}
	k.drop(errors.New("closed"))
	h.state("closed", nil)
	return nil
}
