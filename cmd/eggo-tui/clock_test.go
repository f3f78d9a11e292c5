package main

import (
	"context"
	"time"
)

// swift is a clock on which pauses, as between the tries of a step, are a hundredth as long. What waits for something
// outside, as for an answer, waits by the machine's clock still.
type swift struct{}

// Now implements operation.Clock.
func (swift) Now() time.Time { return time.Now() }

// Sleep implements operation.Clock.
func (swift) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d / 100)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
