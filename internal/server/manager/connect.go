package manager

import (
	"context"
	"errors"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// connect tries to reach the API server until it answers, for as long as it takes.
func (c *cluster) connect() {
	rec := c.shown.Load().Record
	c.part()
	ctx, cancel := context.WithCancel(c.life)
	n := c.connecting
	c.leave = cancel
	c.m.all.Go(func() {
		defer cancel()
		var err error
		for {
			if err = c.m.runner.Reach(ctx, rec); err == nil || never(err) || ctx.Err() != nil {
				break
			}
			c.post(func() { c.troubled(n, err) })
			if c.m.clock.Sleep(ctx, connectAgain) != nil {
				break
			}
		}
		if c.life.Err() == nil {
			c.post(func() { c.connected(n, err) })
		}
	})
}

// part ends the connecting, if the cluster is. What it finds out does not count any more.
func (c *cluster) part() {
	if c.leave != nil {
		c.leave()
	}
	c.connecting++
	c.leave, c.trouble = nil, nil
}

// troubled shows why the API server does not answer.
func (c *cluster) troubled(n uint64, err error) {
	if c.connecting == n {
		c.trouble = event.AsFault(err)
		c.show()
	}
}

// never says of an error of Reach that another try does not help.
func never(err error) bool {
	f := (*event.Fault)(nil)
	return errors.As(err, &f) && f.Class == event.ClassUsage
}

func (c *cluster) connected(n uint64, err error) {
	if c.connecting != n {
		return
	}
	c.leave = nil
	c.keep(func() bool { return c.connecting == n }, func(ctx context.Context) error {
		switch {
		case c.state == state.Canceling && c.rec.Operation == nil:
			return c.apply(ctx, state.CancelSuccess, func(r *Record) { r.Unavailable, r.Fault = true, c.canceled() })
		case c.state != state.Connecting:
			return nil
		case err != nil:
			return c.apply(ctx, state.InitFailed, func(r *Record) { r.Unavailable, r.Fault = true, event.AsFault(err) })
		}
		return c.apply(ctx, state.InitSuccess, func(r *Record) { r.Unavailable, r.EverRan, r.Fault = false, true, nil })
	})
}

// ask asks the API server whether it answers, unless it is being asked.
func (c *cluster) ask() {
	if !c.asking.CompareAndSwap(false, true) {
		return
	}
	v := c.shown.Load()
	c.m.all.Go(func() {
		err := c.m.runner.Reach(c.life, v.Record)
		c.asking.Store(false)
		c.post(func() { c.healthy(v.Epoch, err) })
	})
}

// healthy takes what the health loop found. One answer that does not come is none; two in a row are.
func (c *cluster) healthy(epoch uint64, err error) {
	if c.rec.Epoch != epoch || !c.state.Ready() {
		c.failed = 0
		return
	}
	c.trouble = event.AsFault(err)
	if c.failed++; err == nil {
		c.failed = 0
	}
	e := state.Event("")
	switch {
	case c.state == state.Running && c.failed >= 2:
		e = state.InfoFailed
	case c.state == state.Unreachable && err == nil:
		e = state.InfoSuccess
	}
	if e == "" {
		c.show() // why it does not answer may be something else by now
	} else if err := c.apply(c.life, e, nil); err != nil {
		c.m.report(c.name, err) // the next look tries again
	}
}
