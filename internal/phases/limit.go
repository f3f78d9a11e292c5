package phases

import (
	"context"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// Limit keeps a plan's work to the named hosts and the jump host. Preflight looks at every machine as ever; of all other steps of other hosts
// nothing but the questions is left. One that a named host's step needs and that is not done ends what needs it (limit.not-done); one that
// nobody named needs is skipped when it is not done, and the last checks then expect nothing of its host if the cluster can do without it.
func Limit(p *engine.Plan, names []string) *engine.Plan {
	needed := neededBy(p, names)
	for _, s := range p.Steps {
		if s.Host == "" || s.Phase == plan.PhasePreflight || slices.Contains(names, s.Host) {
			continue
		}
		if needed[s.ID] {
			mustBeDone(s)
		} else {
			askOnly(s, p.Spare)
		}
	}
	return p
}

// neededBy are the steps that those of the named hosts need, and what these need in turn.
func neededBy(p *engine.Plan, names []string) map[string]bool {
	byID, barriers := map[string]*engine.Step{}, map[string][]string{}
	for _, s := range p.Steps {
		byID[s.ID] = s
	}
	for _, b := range p.Barriers {
		barriers[b.ID] = b.Needs
	}
	out := map[string]bool{}
	var follow func(id string)
	follow = func(id string) {
		if behind, is := barriers[id]; is && !out[id] {
			out[id] = true
			for _, n := range behind {
				follow(n)
			}
		}
		if s := byID[id]; s != nil && !out[id] {
			out[id] = true
			if s.Host == "" && (s.Phase == plan.PhaseAddons || s.Phase == plan.PhaseCheck) {
				return // the last checks and what runs in the cluster wait for everybody, and go on without whom they can
			}
			for _, n := range s.Needs {
				follow(n)
			}
		}
	}
	for _, s := range p.Steps {
		if slices.Contains(names, s.Host) {
			follow(s.ID)
		}
	}
	return out
}

// mustBeDone leaves a step its questions; work to be done is a fault.
func mustBeDone(s *engine.Step) {
	s.Undo = nil
	fault := func(cause error) error {
		f := event.NewFault(event.ClassFailed, "limit.not-done", cause, "step", s.ID).On(s.Host)
		f.Retry = cause != nil && event.AsFault(cause).Retry
		return f
	}
	if s.Check != nil {
		s.Verify = nil
		s.Apply = func(context.Context) error { return fault(nil) }
		return
	}
	// Nobody can say whether work without a question is done, but its proof.
	s.Apply = nil
	if verify := s.Verify; verify != nil {
		s.Verify = func(ctx context.Context) error {
			if err := verify(ctx); err != nil {
				return fault(err)
			}
			return nil
		}
	}
}

// askOnly skips a step that is not done; one that is done is so reported.
func askOnly(s *engine.Step, spare func(host string) bool) {
	when, check, verify := s.When, s.Check, s.Verify
	s.Apply, s.Verify, s.Undo, s.Retry = nil, nil, nil, engine.Retry{}
	var once sync.Once
	s.When = func(ctx context.Context) (bool, event.Msg, error) {
		done, why := true, event.Msg{}
		err := wait.Recover(func() (err error) {
			if when != nil {
				if yes, reason, err := when(ctx); err != nil || !yes {
					done, why = false, reason
					return err
				}
			}
			switch {
			case check != nil:
				done, err = check(ctx)
			case verify != nil:
				err = verify(ctx)
			}
			return err
		})
		if ctx.Err() != nil {
			return false, event.Msg{}, ctx.Err()
		}
		if err == nil && (done || why.Key != "") { // done, or does not apply
			return done, why, nil
		}
		if spare != nil {
			once.Do(func() { spare(s.Host) })
		}
		return false, event.M("why.not-in-limit", "node", s.Host), nil
	}
	s.Check = func(context.Context) (bool, error) { return true, nil }
}
