package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns signals into two things: while a plan runs, the first one lets the running steps end and starts no
// new ones, for a package manager that is cut off leaves a machine in disorder; the second one, or the first at any
// other time, breaks off. One more ends the program. That the terminal goes away ends everything but a run.
type interrupts struct {
	mu     sync.Mutex
	stop   chan struct{} // nil: no plan runs
	cancel func()
	exit   func() // ends the program
	closed bool
	broken bool           // it was broken off
	stays  int            // runs that a hangup is nothing to
	front  chan os.Signal // not nil: a front end takes the signals
}

// watch returns a context that ends when everything is to be broken off, and a function that ends the watching.
func (i *interrupts) watch(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	i.cancel = cancel
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				i.handle(sig)
			case <-over:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(over); cancel() }
}

// handle does what a signal is for.
func (i *interrupts) handle(sig os.Signal) {
	i.mu.Lock()
	front, stays, broken := i.front, i.stays > 0, i.broken
	i.mu.Unlock()
	switch {
	case front != nil:
		select {
		case front <- sig:
		default: // it has enough to do
		}
	case sig == syscall.SIGHUP && stays:
	case i.halt():
	case broken && i.exit != nil:
		i.exit()
	default:
		i.abort()
	}
}

// take gives the signals to a front end, until the function returned is called.
func (i *interrupts) take() (<-chan os.Signal, func()) {
	if i == nil {
		return nil, func() {}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.front
	i.front = make(chan os.Signal, 4)
	return i.front, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.front = before
	}
}

// stayOn has hangups mean nothing, until the function returned is called.
func (i *interrupts) stayOn() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stays++
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.stays--
	}
}

// noPipe makes an error of a write to a pipe that nobody reads any more, which would end the program.
func (i *interrupts) noPipe() {
	if i != nil {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
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
	i.mu.Lock()
	i.broken = true
	i.mu.Unlock()
	if i.cancel != nil {
		i.cancel()
	}
}

// begin gives the channel for engine.Options.Stop; end with the function returned. What was begun before holds again
// then.
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
