package managertest

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// Start implements manager.Runner.
func (w *World) Start(ctx context.Context, r manager.Record) (manager.Run, error) {
	w.mu.Lock()
	hold, late, s, rounds := w.Hold, w.Late, w.site(r.Name), max(w.Rounds, 1)
	refused := s.refused
	s.refused = nil
	w.mu.Unlock()
	if err := held(ctx, hold); err != nil {
		return nil, err
	}
	switch {
	case refused != nil:
		return nil, refused
	case len(r.Operation.Runs) >= rounds:
		return nil, nil
	}
	run := w.Begin(r.Name, r.Operation.Kind)
	if err := held(ctx, late); err != nil {
		if !errors.Is(context.Cause(ctx), manager.ErrCanceled) { // the run knows nothing of who waits for it
			return nil, err
		}
		_ = run.Abort()
	}
	return run, nil
}

// held waits until a channel is closed (nil: not at all), or the context ends.
func held(ctx context.Context, until <-chan struct{}) error {
	if until == nil {
		return nil
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
