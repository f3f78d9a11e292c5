package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// job is a verb that changes nodes.
type job struct {
	verb string // as runs are named
	o    runOptions
	more []config.Node // nodes that are contacted besides the cluster's
	// only makes the session's cluster what the verb talks to, before anybody is asked; nil: it is that of deploy.yaml.
	only func(ctx context.Context, s *session) error
	ask  func(ctx context.Context, s *session) error // what is asked besides; nil: nothing
	do   func(ctx context.Context, env *environment) error
}

// begin does a job: it asks all there is to ask, starts the run in a process of its own, and shows it until it ends.
// With --foreground the run is in this process; where the answers are there already, this is the process.
func begin(ctx context.Context, env *environment, j job) error {
	if env.Answers != nil {
		return j.do(ctx, env)
	}
	env.Interrupts.noPipe()
	in, err := j.questions(ctx, env)
	if err != nil {
		return err
	}
	env.Stderr = newUnhurried(env.Stderr) // not before: what is asked about has to have been on the screen
	if j.o.foreground {
		here := *env
		here.Answers, here.Ask = &in, kept(in.Secrets)
		return j.do(ctx, &here)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p, err := startApart(env.Interrupts, env.Args[0], env.Args[1:], "", in)
	if err != nil {
		return err
	}
	return p.show(env, j.o)
}

// needsYes is the fault of a verb that has to be confirmed where nobody can be asked.
func (env *environment) needsYes(yes bool, verb string) error {
	if _, person := terminal(env); yes || person || env.Answers != nil {
		return nil
	}
	return event.NewFault(event.ClassUsage, "usage.needs-yes", nil, "verb", verb)
}

// questions asks all that there is to ask.
func (j *job) questions(ctx context.Context, env *environment) (answers, error) {
	asking := *env
	k := newKeeper(env)
	_, person := terminal(env)
	if person || env.Ask != nil { // whoever cannot be asked is not counted on: unknown host keys are refused
		asking.Ask = k
	}
	s, err := prepare(ctx, &asking, j.o, j.verb)
	if err != nil {
		return answers{}, err
	}
	s.env.Ask = k
	if person || s.policy == remote.Ask || j.ask != nil {
		if err := s.questions(ctx, k, j); err != nil {
			return answers{}, err
		}
	}
	return answers{Secrets: k.kept, Confirmed: true, HostKeys: s.asked()}, nil
}

// keeper asks at the terminal, one question at a time, and keeps the secrets for the run.
type keeper struct {
	asker
	env  *environment
	one  sync.Mutex
	kept map[string]string
	keys *keyRound
}

// newKeeper makes one for a command line.
func newKeeper(env *environment) *keeper {
	k := &keeper{asker: env.asker(), env: env, kept: map[string]string{}}
	at := keysAtTerminal(env)
	k.keys = &keyRound{ask: func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
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
	return k.keys.hostKey(ctx, q)
}

func (k *keeper) signer(ctx context.Context, q backend.Signer) (bool, error) {
	k.one.Lock()
	defer k.one.Unlock()
	if _, person := terminal(k.env); !person && k.env.Ask == nil {
		return false, errNobody
	}
	return k.asker.signer(ctx, q)
}

func (k *keeper) expect(n int) {
	k.keys.expect(n)
	fmt.Fprintln(k.env.Stderr, k.env.P.T("front.greet", "count", fmt.Sprint(n)))
}

func (k *keeper) met(ctx context.Context, _ int) { k.keys.met(ctx) }
