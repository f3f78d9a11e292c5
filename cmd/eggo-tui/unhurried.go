package main

import (
	"io"
	"time"
)

// moment is how long a message on stderr is waited for.
const moment = time.Second

// unhurried is a writer that nobody waits for longer than a moment: what stalls (Ctrl-S, a pipe that is not read) loses
// messages and stops nobody.
type unhurried struct {
	w    io.Writer
	free chan struct{} // has an element while nothing is being written
}

func newUnhurried(w io.Writer) *unhurried {
	u := &unhurried{w, make(chan struct{}, 1)}
	u.free <- struct{}{}
	return u
}

// Unwrap is what it writes to, for those who ask whether that is a terminal.
func (u *unhurried) Unwrap() io.Writer { return u.w }

// Write never fails.
func (u *unhurried) Write(p []byte) (int, error) {
	late := time.NewTimer(moment)
	defer late.Stop()
	select {
	case <-u.free:
	default: // it stalls, or another message is on its way
		select {
		case <-u.free:
		case <-late.C:
			return len(p), nil
		}
	}
	text, done := append([]byte(nil), p...), make(chan struct{})
	go func() {
		_, _ = u.w.Write(text)
		u.free <- struct{}{}
		close(done)
	}()
	select {
	case <-done:
	case <-late.C:
	}
	return len(p), nil
}
