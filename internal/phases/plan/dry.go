package plan

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Changes counts the changes that steps announce.
type Changes struct {
	mu sync.Mutex
	of map[string]int // by step
}

// Count is emit, counted.
func (c *Changes) Count(emit func(event.Event) error) func(event.Event) error {
	return func(e event.Event) error {
		if change, ok := e.(event.Change); ok {
			c.mu.Lock()
			if c.of == nil {
				c.of = map[string]int{}
			}
			c.of[change.Step]++
			c.mu.Unlock()
		}
		return emit(e)
	}
}

// Of is how many changes a step has announced so far.
func (c *Changes) Of(step string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[step]
}

// dry makes a dry run of the plan. What comes after a change that was not made cannot always be told: such a step
// counts as changed, with what it announced until then. Nothing is tried twice, proved or undone, and no host is left
// out.
func (b *Builder) dry(p *engine.Plan) {
	p.Spare = nil
	for i := range p.Phases {
		p.Phases[i].After = nil
	}
	for _, s := range p.Steps {
		if b.phase(s.Phase).Open {
			continue
		}
		s.Retry, s.Undo, s.Timeout = engine.Retry{}, nil, 2*time.Minute
		runDry(s, b.o.Emit, b.o.Announced)
	}
}

// runDry has a step ask and announce. Where its functions cannot continue because something before them was not done,
// they are taken for work to be done.
func runDry(s *engine.Step, emit func(event.Event) error, announced func(step string) int) {
	inside := wait.WithDry // nothing that is waited for comes in a dry run
	when, check, apply, verify := s.When, s.Check, s.Apply, s.Verify
	s.Verify = nil
	if when != nil {
		s.When = func(ctx context.Context) (yes bool, why event.Msg, err error) {
			if wait.Recover(func() error { yes, why, err = when(inside(ctx)); return err }) != nil {
				return true, event.Msg{}, nil
			}
			return yes, why, nil
		}
	}
	if check != nil {
		s.Check = func(ctx context.Context) (done bool, err error) {
			if wait.Recover(func() error { done, err = check(inside(ctx)); return err }) != nil {
				return false, ctx.Err()
			}
			return done, nil
		}
	}
	switch {
	case apply != nil:
		s.Apply = func(ctx context.Context) error {
			err := wait.Recover(func() error { return apply(inside(ctx)) })
			switch {
			case err != nil && event.AsFault(err).Code == "limit.not-done":
				return err
			case err == nil || errors.Is(err, engine.ErrUnchanged) || errors.Is(ctx.Err(), context.Canceled):
				return err
			case announced(s.ID) > 0 && errors.Is(err, wait.ErrDry):
				return nil
			}
			return emit(event.Notice{Host: s.Host, Step: s.ID, Text: event.M("plan.unsure")})
		}
	case verify != nil:
		// It may make what others ask with, such as the way to the API server. That the proof is not there yet is no
		// news.
		s.Apply = func(ctx context.Context) error {
			_ = wait.Recover(func() error { return verify(inside(ctx)) })
			return engine.ErrUnchanged
		}
		s.Timeout = 20 * time.Second
	}
}
