package event

import (
	"testing"
	"time"
	"unsafe"
)

// stepped is a reading of a clock whose time of day was set by d: what it measures is as before.
func stepped(t time.Time, d time.Duration) time.Time {
	type reading struct { // time.Time: seconds and nanoseconds of the day, and the monotonic reading
		wall uint64
		ext  int64
		loc  *time.Location
	}
	r := (*reading)(unsafe.Pointer(&t)) //nolint:gosec // nothing else sets one without the other
	r.wall += uint64(d/time.Second) << 30
	return t
}

// Between two records is the time that really passed, whatever becomes of the clock; that it was set is said once.
func TestTimeThatPassedIsWhatWasMeasured(t *testing.T) {
	for _, by := range []time.Duration{15 * time.Second, -15 * time.Second, time.Hour, -24 * time.Hour} {
		begin := time.Now()
		passed, set := time.Duration(0), time.Duration(0)
		m := &memory{}
		bus := NewBus(func() time.Time { return stepped(begin.Add(passed), set) }, m)
		publish := func() {
			t.Helper()
			if err := bus.Emit(PhaseStarted{"p"}); err != nil {
				t.Fatal(err)
			}
		}
		publish()
		passed, set = time.Second, by
		publish()
		passed = 3 * time.Second
		publish()
		var at []time.Time
		var said []string
		for i, r := range m.got {
			if r.Seq != uint64(i+1) {
				t.Fatal("a gap")
			}
			if n, ok := r.Event.(Notice); ok {
				said = append(said, n.Text.Key+" "+n.Text.Args["by"])
				continue
			}
			at = append(at, r.Time)
		}
		if len(at) != 3 || at[1].Sub(at[0]) != time.Second || at[2].Sub(at[1]) != 2*time.Second {
			t.Errorf("set by %s: %v", by, at)
		}
		if len(said) != 1 || said[0] != "run.clock-set "+by.String() {
			t.Errorf("set by %s: said %v", by, said)
		}
	}
}
