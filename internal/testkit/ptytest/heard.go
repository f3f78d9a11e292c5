package ptytest

import (
	"strings"
	"testing"
	"time"
)

// Heard is a writer whose text a test waits for.
type Heard struct {
	said chan string
	rest string // that nobody has waited for yet
}

// NewHeard makes one that takes more than a test says.
func NewHeard() *Heard { return &Heard{said: make(chan string, 4096)} }

// Write implements io.Writer.
func (h *Heard) Write(b []byte) (int, error) {
	h.said <- string(b)
	return len(b), nil
}

// Wait returns when the words have been said one after the other, after those of the last time.
func (h *Heard) Wait(t *testing.T, words ...string) {
	t.Helper()
	end := time.After(20 * time.Second)
	for _, w := range words {
		for !strings.Contains(h.rest, w) {
			select {
			case more := <-h.said:
				h.rest += more
			case <-end:
				t.Fatalf("%q was not said:\n%s", w, h.rest)
			}
		}
		_, h.rest, _ = strings.Cut(h.rest, w)
	}
}
