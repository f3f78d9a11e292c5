package main

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
)

// together is how long first-contact keys wait for company, so that those of all machines are shown at once.
const together = 600 * time.Millisecond

// screenAsker asks on the screen, each secret once, and keeps the answers for the run's process.
type screenAsker struct {
	ask jumphost.Asker

	one  sync.Mutex // one secret at a time
	mu   sync.Mutex
	kept map[string]string
	open []keyQuestion
	wait *time.Timer
	done int // machines that were met

	opened, refused int // machines that the answers led to, and those that did not take them
}

type keyQuestion struct {
	key    jumphost.HostKey
	answer chan keyAnswer
}

type keyAnswer struct {
	yes bool
	err error
}

func newScreenAsker(ask jumphost.Asker) *screenAsker {
	return &screenAsker{ask: ask, kept: map[string]string{}}
}

// knowing begins with answers that were given before.
func (a *screenAsker) knowing(answers map[string]string) *screenAsker {
	for k, v := range answers {
		a.kept[k] = v
	}
	return a
}

func (a *screenAsker) secret(ctx context.Context, id string, what event.Msg) (string, error) {
	a.one.Lock()
	defer a.one.Unlock()
	a.mu.Lock()
	v, ok := a.kept[id]
	a.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := a.ask.Secret(ctx, what)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	a.kept[id] = v
	a.mu.Unlock()
	return v, nil
}

// led takes what came of logging in to a machine.
func (a *screenAsker) led(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.opened++
	case event.AsFault(err).Class == event.ClassAuth:
		a.refused++
	}
}

func (a *screenAsker) hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	k := keyQuestion{jumphost.HostKey{Node: q.Node, Addr: q.Addr, Type: q.Type, Fingerprint: q.Fingerprint}, make(chan keyAnswer, 1)}
	a.mu.Lock()
	a.open = append(a.open, k)
	if a.wait != nil {
		a.wait.Stop()
	}
	a.wait = time.AfterFunc(together, func() { a.askKeys(ctx) })
	a.mu.Unlock()
	select {
	case r := <-k.answer:
		return r.yes, r.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (a *screenAsker) signer(ctx context.Context, q jumphost.Signer) (bool, error) {
	a.one.Lock()
	defer a.one.Unlock()
	return a.ask.Signer(ctx, q)
}

// askKeys shows the keys that have come together.
func (a *screenAsker) askKeys(ctx context.Context) {
	a.one.Lock()
	defer a.one.Unlock()
	a.mu.Lock()
	list := a.open
	a.open = nil
	a.mu.Unlock()
	if len(list) == 0 {
		return
	}
	var keys []jumphost.HostKey
	for _, k := range list {
		keys = append(keys, k.key)
	}
	yes, err := a.ask.HostKeys(ctx, keys)
	for _, k := range list {
		k.answer <- keyAnswer{yes, err}
	}
}

func (a *screenAsker) expect(n int) {
	a.ask.Doing(event.M("launch.greet", "done", "0", "total", strconv.Itoa(n)))
}

func (a *screenAsker) met(n int) {
	a.mu.Lock()
	a.done++
	done := a.done
	a.mu.Unlock()
	a.ask.Doing(event.M("launch.greet", "done", strconv.Itoa(done), "total", strconv.Itoa(n)))
}

func (a *screenAsker) answers() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept
}

func parseAddr(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return ip, errors.New("no address: " + s)
	}
	return ip.Unmap(), nil
}
