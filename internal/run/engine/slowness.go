package engine

import (
	"context"
	"time"
)

// slownessKey carries in a context how slow the work is that belongs to it.
type slownessKey struct{}

// WithSlowness returns a context whose work takes so many times longer than usual.
func WithSlowness(ctx context.Context, times float64) context.Context {
	return context.WithValue(ctx, slownessKey{}, times)
}

// Slowness returns how many times longer than usual the work that ctx belongs to takes: 1 or more.
func Slowness(ctx context.Context) float64 {
	times, _ := ctx.Value(slownessKey{}).(float64)
	return max(1, times)
}

// Stretch returns the limit d for the work that ctx belongs to: longer on a slow host.
func Stretch(ctx context.Context, d time.Duration) time.Duration { return times(d, Slowness(ctx)) }

func times(d time.Duration, n float64) time.Duration { return time.Duration(float64(d) * n) }

// slowness returns how much longer than usual a step may take. A step that polls waits for what other hosts do, so that
// the slowest of them counts.
func (r *runner) slowness(s *Step) float64 {
	if r.plan.Slowness == nil {
		return 1
	}
	n := max(1, r.plan.Slowness(s.Host))
	if s.Retry.Polls {
		n = max(n, r.plan.Slowness(""))
	}
	return n
}
