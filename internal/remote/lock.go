package remote

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// lockScript is evaluated in the agent itself, whose file descriptor 9 holds the lock: it is free the moment that the
// session is gone, and no clock is in it. Who got the lock of a file that was removed meanwhile tries again. The other
// scripts do not inherit the descriptor.
//
//go:embed lock.sh
var lockScript string

const unlockScript = `
if [ -n "$eg_held" ]; then rm -f "$eg_held"; eg_held=; exec 9>&-; fi`

// Lock takes the node's lock, or says who holds it: fault lock.node-held, class locked, with the argument holder. A
// Host that loses its connection takes the lock again before it does anything else.
func (h *Host) Lock(ctx context.Context, holder string) error {
	if err := h.enter(ctx, &h.run); err != nil {
		return h.fault(err)
	}
	defer h.leave(&h.run)
	s, err := h.session(ctx, &h.run)
	if err != nil {
		return h.fault(err)
	}
	// The word keeps two runs apart that call themselves the same.
	mine := event.Clean(holder) + " #" + token(4)
	return h.fault(h.lock(ctx, s, mine))
}

func (h *Host) lock(ctx context.Context, s *session, holder string) error {
	script := "eg_f=" + shell.Quote(h.opt.LockFile) + " eg_h=" + shell.Quote(holder) + "\n" + lockScript
	r, err := h.do(ctx, &h.run, s, "x", newJob(nil), []byte(script))
	if err != nil {
		return err
	}
	switch r.Status {
	case 0:
		h.mu.Lock()
		h.holder, h.locked = holder, s
		h.mu.Unlock()
		return nil
	case 73:
		return failed("ssh.lock-file", false, nil, "file", h.opt.LockFile)
	case 76:
		return failed("ssh.node-tools", false, nil, "tools", "flock")
	}
	by := strings.TrimSpace(string(r.Stdout))
	f := event.NewFault(event.ClassLocked, "lock.node-held", nil, "holder", event.Clean(shown(by)))
	// Nobody's name stands there: who holds it is at its beginning or its end.
	f.Retry = by == holder || by == ""
	return f
}

// shown is a holder without the word that Lock added.
func shown(holder string) string {
	if i := strings.LastIndex(holder, " #"); i >= 0 {
		return holder[:i]
	}
	return holder
}

// relock takes the lock for a new session after the old one was lost. The node may hold it for the old one until the
// lease ends.
func (h *Host) relock(ctx context.Context, s *session, holder string) error {
	end := time.Now().Add(h.opt.Timeouts.Lease + 2*h.opt.Timeouts.Kill + 5*time.Second)
	for {
		err := h.lock(ctx, s, holder)
		if err == nil || !event.AsFault(err).Retry || s.dead() || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return ctxFault(ctx)
		}
	}
}

// Unlock frees the node's lock.
func (h *Host) Unlock(ctx context.Context) error {
	h.mu.Lock()
	held := h.holder != ""
	h.holder, h.locked = "", nil
	h.mu.Unlock()
	if !held {
		return nil
	}
	if err := h.enter(ctx, &h.run); err != nil {
		return h.fault(err)
	}
	defer h.leave(&h.run)
	if h.run.s == nil || h.run.s.dead() {
		return nil // and with it the lock
	}
	_, err := h.do(ctx, &h.run, h.run.s, "x", newJob(nil), []byte(unlockScript))
	return h.fault(err)
}

// keepLock sees to it that the lock, if this Host had it, is held on the connection k, before something is done there
// beside the session that holds it.
func (h *Host) keepLock(ctx context.Context, k *link) error {
	for again := true; ; again = false {
		h.mu.Lock()
		ok := h.holder == "" || h.locked != nil && !h.locked.dead() && h.locked.link == k
		h.mu.Unlock()
		if ok {
			return nil
		}
		if !again {
			return lostFault(nil)
		}
		if err := h.enter(ctx, &h.run); err != nil {
			return err
		}
		_, err := h.session(ctx, &h.run)
		h.leave(&h.run)
		if err != nil {
			return err
		}
	}
}
