package main

import (
	"context"
	"strconv"
	"sync"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// screenAsker asks on the screen, each secret once, and keeps the answers for the run's process.
type screenAsker struct {
	ask backend.Asker

	one  sync.Mutex // one secret at a time
	mu   sync.Mutex
	kept map[string]string
	keys *backend.KeyRound

	opened, refused int // machines that the answers led to, and those that did not take them
}

func newScreenAsker(ask backend.Asker) *screenAsker {
	a := &screenAsker{ask: ask, kept: map[string]string{}}
	a.keys = &backend.KeyRound{Ask: func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		a.one.Lock()
		defer a.one.Unlock()
		return ask.HostKeys(ctx, keys, comparedWith)
	}}
	return a
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
	return a.keys.HostKey(ctx, backend.HostKey(q))
}

func (a *screenAsker) signer(ctx context.Context, q backend.Signer) (bool, error) {
	a.one.Lock()
	defer a.one.Unlock()
	return a.ask.Signer(ctx, q)
}

func (a *screenAsker) expect(n int) {
	a.keys.Expect(n)
	a.ask.Doing(event.M("launch.greet", "done", "0", "total", strconv.Itoa(n)))
}

func (a *screenAsker) met(ctx context.Context, n int) {
	done := a.keys.Met(ctx)
	a.ask.Doing(event.M("launch.greet", "done", strconv.Itoa(done), "total", strconv.Itoa(n)))
}

func (a *screenAsker) answers() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept
}
