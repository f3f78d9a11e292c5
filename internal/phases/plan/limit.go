package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// limit keeps the plan's work to the hosts of the limit and the jump host.
func (b *Builder) limit(p *engine.Plan) {
	needed := b.neededBy(p)
	for _, s := range p.Steps {
		if s.Host == "" || b.phase(s.Phase).Open || slices.Contains(b.o.Limit, s.Host) {
			continue
		}
		if needed[s.ID] {
			mustBeDone(s)
		} else {
			askOnly(s, b.o.Skip)
		}
	}
}

// neededBy are the steps that those of the hosts of the limit need, and what these need in turn.
func (b *Builder) neededBy(p *engine.Plan) map[string]bool {
	byID, barriers := map[string]*engine.Step{}, map[string][]string{}
	for _, s := range p.Steps {
		byID[s.ID] = s
	}
	for _, barrier := range p.Barriers {
		barriers[barrier.ID] = barrier.Needs
	}
	out := map[string]bool{}
	var follow func(id string)
	follow = func(id string) {
		if behind, is := barriers[id]; is && !out[id] && !b.loose[id] {
			out[id] = true
			for _, n := range behind {
				follow(n)
			}
		}
		if s := byID[id]; s != nil && !out[id] {
			out[id] = true
			if s.Host == "" && b.phase(s.Phase).Loose {
				return // they wait for everybody, and continue without whom they can
			}
			for _, n := range s.Needs {
				follow(n)
			}
		}
	}
	for _, s := range p.Steps {
		if slices.Contains(b.o.Limit, s.Host) {
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
func askOnly(s *engine.Step, skip func(host string) bool) {
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
		if skip != nil {
			once.Do(func() { skip(s.Host) })
		}
		return false, event.M("why.not-in-limit", "node", s.Host), nil
	}
	s.Check = func(context.Context) (bool, error) { return true, nil }
}
