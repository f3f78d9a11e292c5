// Package eventtest has what tests want of faults, and clocks that are set.
package eventtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Fault wants an error to be a fault with a code whose cause has a word. What it returns is never nil.
func Fault(t testing.TB, err error, code, cause string) *event.Fault {
	t.Helper()
	f := event.AsFault(err)
	if f == nil || f.Code != code || !strings.Contains(f.Cause, cause) {
		t.Errorf("want %s because of %q, got %+v", code, cause, f)
		return &event.Fault{}
	}
	return f
}

// Archs are findings of one cause on many machines.
func Archs(n int) []event.Finding {
	var out []event.Finding
	for i := range n {
		host := fmt.Sprintf("node-%d", i+1)
		out = append(out, event.Finding{Host: host, Severity: event.Error,
			Fault: *event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", "arm64", "says",
				"amd64").On(host)})
	}
	return out
}

// Stepped is a reading of a clock whose time of day was set by d: what it measures is as before.
func Stepped(t time.Time, d time.Duration) time.Time {
	type reading struct { // time.Time: seconds and nanoseconds of the day, and the monotonic reading
		wall uint64
		ext  int64
		loc  *time.Location
	}
	r := (*reading)(unsafe.Pointer(&t)) //nolint:gosec // nothing else sets one without the other
	r.wall += uint64(d/time.Second) << 30
	return t
}
