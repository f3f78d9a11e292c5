package upgrade

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// At says whether the window is open, and if not when it opens next.
func (w Window) At(now time.Time) (open bool, next time.Time) {
	if w.From == w.To {
		return true, now
	}
	on := func(day int, d time.Duration) time.Time { // the clock's time of a day, also of one with a changed hour
		y, m, today := now.Date()
		return time.Date(y, m, today+day, 0, 0, int(d/time.Second), 0, now.Location())
	}
	from, to := on(0, w.From), on(0, w.To)
	switch {
	case w.From < w.To && now.Before(from), w.From > w.To && now.Before(from) && !now.Before(to):
		return false, from
	case w.From < w.To && !now.Before(to):
		return false, on(1, w.From)
	}
	return true, now
}

// Ahead has a step wait for the window, by a step of its own ahead of it; one that is done already does not wait. It
// returns both, or the step alone when the window is always open.
func (w Window) Ahead(e *input.Env, of *engine.Step) []*engine.Step {
	if w == (Window{}) || of.Apply == nil {
		return []*engine.Step{of}
	}
	s := plan.Step(of.Phase, "window", of.Host, of.Needs)
	s.Timeout = 25 * time.Hour
	s.Check = func(ctx context.Context) (bool, error) {
		if open, _ := w.At(e.Now()); open || of.Check == nil {
			return open, nil
		}
		return of.Check(ctx)
	}
	s.Apply, s.Waits = func(ctx context.Context) error { return w.await(ctx, e) }, true
	of.Needs = append(slices.Clip(of.Needs), s.ID)
	return []*engine.Step{s, of}
}

// await waits until the window opens.
func (w Window) await(ctx context.Context, e *input.Env) error {
	if e.Dry {
		return engine.ErrUnchanged
	}
	told := false
	for {
		now := e.Now()
		open, next := w.At(now)
		if open {
			return engine.ErrUnchanged
		}
		if !told {
			told = true
			if err := e.Emit(event.Notice{Step: engine.StepID(ctx),
				Text: event.M("notice.upgrade-window", "time", next.Format("2006-01-02 15:04 -07:00"))}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(next.Sub(now), time.Minute)): // the clock may be set meanwhile
		}
	}
}
