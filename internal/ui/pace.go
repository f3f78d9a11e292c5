package ui

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

const (
	// slowWrite is how long a terminal may take for a frame: at ten frames a second half of the time is left to it.
	slowWrite = 50 * time.Millisecond
	// fastWrites is how many frames in a row must take less than half of that until a slow terminal counts as a fast
	// one again; each time that it falls back it takes twice as many.
	fastWrites     = 30
	fastWritesMost = 40 * fastWrites
)

// pace is a terminal that is written to, and knows whether it keeps up. What moves on the screen by itself costs a
// frame each time: over a slow line those would delay what says something, and the answer to a key.
type pace struct {
	terminalFile
	now  func() time.Time
	slow atomic.Bool // written by the renderer, read by pages

	fast, need int // frames in a row that were fast, and how many it takes
}

var _ frame.Writer = (*pace)(nil)

// newPace wraps a terminal; for what is none it gives nil.
func newPace(out io.Writer) *pace {
	f, ok := out.(terminalFile)
	if !ok {
		return nil
	}
	return &pace{terminalFile: f, now: time.Now, need: fastWrites}
}

// Terminal implements frame.Writer.
func (p *pace) Terminal() io.Writer { return p.terminalFile }

// Write implements io.Writer: a call is a frame.
func (p *pace) Write(b []byte) (int, error) {
	began := p.now()
	n, err := p.terminalFile.Write(b)
	p.took(p.now().Sub(began))
	return n, err
}

func (p *pace) took(d time.Duration) {
	switch slow := p.slow.Load(); {
	case d > slowWrite:
		p.fast = 0
		p.slow.Store(true)
	case d > slowWrite/2:
		p.fast = 0
	case slow:
		if p.fast++; p.fast >= p.need {
			p.fast, p.need = 0, min(2*p.need, fastWritesMost)
			p.slow.Store(false)
		}
	}
}
