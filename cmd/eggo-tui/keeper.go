package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// needsYes is the fault of a verb that has to be confirmed where nobody can be asked.
func (env *environment) needsYes(yes bool, verb string) error {
	if _, person := terminal(env); yes || person {
		return nil
	}
	return event.NewFault(event.ClassUsage, "usage.needs-yes", nil, "verb", verb)
}

// greeter asks, and is told how many nodes have been logged in to.
type greeter interface {
	asker
	expect(n int)
	met(ctx context.Context, n int)
}

// keeper asks at the terminal, one question at a time, and keeps the secrets for the run.
type keeper struct {
	asker
	env  *environment
	one  sync.Mutex
	kept map[string]string
	keys *backend.KeyRound
}

// newKeeper makes one for a command line.
func newKeeper(env *environment) *keeper {
	k := &keeper{asker: atTerminal{env}, env: env, kept: map[string]string{}}
	at := keysAtTerminal(env)
	k.keys = &backend.KeyRound{Ask: func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		k.one.Lock()
		defer k.one.Unlock()
		return at(ctx, keys)
	}}
	return k
}

func (k *keeper) secret(ctx context.Context, id string, what event.Msg) (string, error) {
	k.one.Lock()
	defer k.one.Unlock()
	if v, ok := k.kept[id]; ok {
		return v, nil
	}
	v, err := k.asker.secret(ctx, id, what)
	if err == nil {
		k.kept[id] = v
	}
	return v, err
}

func (k *keeper) hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	return k.keys.HostKey(ctx, backend.HostKey(q))
}

func (k *keeper) signer(ctx context.Context, q backend.Signer) (bool, error) {
	k.one.Lock()
	defer k.one.Unlock()
	if _, person := terminal(k.env); !person {
		return false, errNobody
	}
	return k.asker.signer(ctx, q)
}

func (k *keeper) expect(n int) {
	k.keys.Expect(n)
	fmt.Fprintln(k.env.Stderr, k.env.P.T("front.greet", "count", fmt.Sprint(n)))
}

func (k *keeper) met(ctx context.Context, _ int) { k.keys.Met(ctx) }
