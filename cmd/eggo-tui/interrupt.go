package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns signals into two things: while a plan runs, the first one lets the running steps end and starts no new ones, for a
// package manager that is cut off leaves a machine in disorder; the second one, or the first at any other time, breaks off.
type interrupts struct {
	mu     sync.Mutex
	stop   chan struct{} // nil: no plan runs
	cancel func()
	closed bool
}

// watch returns a context that ends when everything is to be broken off, and a function that ends the watching.
func (i *interrupts) watch(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	i.cancel = cancel
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-signals:
				if !i.halt() {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// halt asks the running plan to end, once; it says whether there was one to ask.
func (i *interrupts) halt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop == nil || i.closed {
		return false
	}
	i.closed = true
	close(i.stop)
	return true
}

// abort breaks off at once.
func (i *interrupts) abort() {
	if i.cancel != nil {
		i.cancel()
	}
}

// begin gives the channel for engine.Options.Stop; end with the function returned. What was begun before holds again then.
func (i *interrupts) begin() (stop <-chan struct{}, end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before, closed := i.stop, i.closed
	i.stop, i.closed = make(chan struct{}), false
	return i.stop, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.stop, i.closed = before, closed
	}
}
