package remote

import (
	"sync/atomic"
	"time"
)

// clock measures how long ago something was, whatever becomes of the time of day meanwhile. It is safe for concurrent
// use.
type clock struct {
	now   func() time.Time
	start time.Time     // with its monotonic reading
	at    *atomic.Int64 // nanoseconds after start
}

func newClock(now func() time.Time) clock { return clock{now: now, start: now(), at: &atomic.Int64{}} }

// reset says that it is now.
func (c clock) reset() { c.at.Store(int64(c.now().Sub(c.start))) }

// since is how long ago that was.
func (c clock) since() time.Duration { return c.now().Sub(c.start) - time.Duration(c.at.Load()) }
