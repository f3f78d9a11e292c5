package lab

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

//go:embed files/work.sh
var work string

// slowness compares the same work here and there. It is done here again and again while it is done there, so that what
// else runs on this machine weighs on both.
func (k inVM) slowness(ctx context.Context, node string) (float64, error) {
	type answer struct {
		text string
		err  error
	}
	there := make(chan answer, 1)
	go func() {
		text, err := k.l.Run(ctx, node, work)
		there <- answer{text, err}
	}()
	var sum float64
	for n := 1.0; ; n++ {
		text, err := program(ctx, "sh", "-c", work).output()
		if err != nil {
			return 0, err
		}
		took, err := nanoseconds(text)
		if err != nil {
			return 0, err
		}
		sum += took
		select {
		case a := <-there:
			if a.err != nil {
				return 0, a.err
			}
			took, err := nanoseconds(a.text)
			if err != nil {
				return 0, err
			}
			return timesAsLong(sum/n, took), nil
		case <-time.After(200 * time.Millisecond): // this machine is to have time for the node
		}
	}
}

func nanoseconds(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && n <= 0 {
		err = fmt.Errorf("the work took %q ns", text)
	}
	return n, err
}

// timesAsLong is the quotient of two times, with one digit; a node counts as no faster than this machine.
func timesAsLong(here, there float64) float64 { return max(1, math.Round(there/here*10)/10) }

// measure records how slow the node is.
func (l *Lab) measure(ctx context.Context, node string) error {
	s, err := l.kind(node).slowness(ctx, node)
	if err != nil {
		return fmt.Errorf("measuring its slowness: %w", err)
	}
	if s > 1 {
		l.say("%s takes %g times as long as this machine", node, s)
	}
	return os.WriteFile(l.file(node, "slowness"), []byte(strconv.FormatFloat(s, 'g', -1, 64)+"\n"), 0o644)
}

// Slowness says how many times as long as on this machine a program runs on the node, as it was measured when the node
// booted: 1 for one in a namespace.
func (l *Lab) Slowness(node string) float64 {
	text, err := os.ReadFile(l.file(node, "slowness"))
	if err != nil {
		return 1
	}
	s, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || s < 1 {
		return 1
	}
	return s
}
