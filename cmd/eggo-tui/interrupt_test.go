package main

import (
	"os"
	"syscall"
	"testing"
)

// In the process of a run the first signal stops, the second aborts, the third ends the program; a hangup does none of
// these while the run is at work.
func TestSignalsOfARun(t *testing.T) {
	t.Parallel()
	aborted, ended := 0, 0
	i := interrupts{cancel: func() { aborted++ }, exit: func() { ended++ }}
	stop, end := i.begin()
	defer end()
	undo := i.stayOn()
	want := func(sig os.Signal, stopped bool, a, e int) {
		t.Helper()
		i.handle(sig)
		is := false
		select {
		case <-stop:
			is = true
		default:
		}
		if is != stopped || aborted != a || ended != e {
			t.Errorf("after %v: stopped %v, aborted %d, ended %d", sig, is, aborted, ended)
		}
	}
	want(syscall.SIGHUP, false, 0, 0)
	want(os.Interrupt, true, 0, 0)
	want(syscall.SIGHUP, true, 0, 0)
	want(syscall.SIGTERM, true, 1, 0)
	want(os.Interrupt, true, 1, 1)
	front, giveBack := i.take()
	want(os.Interrupt, true, 1, 1)
	if sig := <-front; sig != os.Interrupt {
		t.Error(sig)
	}
	giveBack()
	undo()
	want(syscall.SIGHUP, true, 1, 2)
}
