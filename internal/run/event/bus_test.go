package event

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type memory struct {
	got []Record
	err error
}

func (m *memory) Emit(r Record) error {
	m.got = append(m.got, r) // no lock: the bus promises one at a time
	return m.err
}

// slow is a committer that counts what waits in Commit at once.
type slow struct {
	memory
	mu      sync.Mutex
	waiting int
	gate    chan struct{}
	all     chan struct{}
	want    int
}

func (s *slow) Append(r Record) error { return s.Emit(r) }
func (s *slow) Commit(Record) error {
	s.mu.Lock()
	if s.waiting++; s.waiting == s.want {
		close(s.all)
	}
	s.mu.Unlock()
	<-s.gate
	return nil
}

func TestManyPublishersMakeOneSequence(t *testing.T) {
	a, b := &memory{}, &memory{}
	bus := NewBus(nil, a, b)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if _, err := bus.Publish(PhaseStarted{"p"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i, r := range a.got {
		if r.Seq != uint64(i+1) || i > 0 && r.Time.Before(a.got[i-1].Time) || r.Time.Location() != time.UTC {
			t.Fatalf("record %d is %v", i, r)
		}
	}
	if len(a.got) != 1600 || cmp.Diff(a.got, b.got) != "" {
		t.Fatal("the sinks saw different runs")
	}
}

func TestAFailingSinkIsReportedAndTheOthersStillHear(t *testing.T) {
	full := errors.New("disk full")
	bad, good := &memory{err: full}, &memory{}
	if _, err := NewBus(nil, bad, good).Publish(PhaseStarted{"p"}); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if len(good.got) != 1 {
		t.Fatal("the front end must be able to tell of it")
	}
}

func TestCommitsShareTheirWait(t *testing.T) {
	s := &slow{gate: make(chan struct{}), all: make(chan struct{}), want: 10}
	bus := NewBus(nil, s)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { _ = bus.Emit(PhaseStarted{"p"}) })
	}
	<-s.all // all ten are in Commit at once, else this never comes
	close(s.gate)
	wg.Wait()
	if len(s.got) != 10 {
		t.Fatal(len(s.got))
	}
}

func TestWhatIsPublishedIsWhatWillBeReadBack(t *testing.T) {
	clock := func() time.Time { return time.Now() } // with a monotonic reading, which no log has
	bus := NewBus(clock)
	f := &Fault{Code: "c", Class: ClassFailed, Cause: "a\x1b[31mb", Retry: true, Err: errors.New("e"),
		Args: map[string]string{}}
	for _, e := range []Event{
		Output{Line: "a\x1b]0;title\x07b\n"}, StepEnded{Fault: f}, StepUndone{Fault: f}, StepRetry{Fault: *f},
		StepAsked{Fault: *f}, Finding{Fault: *f}, HostState{Fault: f}, RunEnded{Fault: f}, PhaseEnded{Fault: f},
	} {
		r, err := bus.Publish(e)
		if err != nil {
			t.Fatal(err)
		}
		line, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, back); d != "" || strings.Contains(string(line), `\u001b`) {
			t.Errorf("%s\n%s", line, d)
		}
	}
	if f.Err == nil || !f.Retry {
		t.Error("the caller's fault was changed")
	}
}

func TestALineIsBounded(t *testing.T) {
	bus := NewBus(nil)
	for _, long := range []string{strings.Repeat("中", MaxLine), strings.Repeat("a\xff", MaxLine),
		strings.Repeat("a\n", MaxLine), strings.Repeat("x", MaxLine)} {
		r, _ := bus.Publish(Output{Line: long})
		line := r.Event.(Output).Line
		if len(line) > MaxLine || len(line) < MaxLine-16 || !utf8.ValidString(line) {
			t.Errorf("%d bytes, valid %v", len(line), utf8.ValidString(line))
		}
	}
}

func TestTimings(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(id, host string, from, to int, needs ...string) Timing {
		return Timing{Step: id, Host: host, Needs: needs, Start: t0.Add(time.Duration(from) * time.Second),
			End: t0.Add(time.Duration(to) * time.Second)}
	}
	up := at("b", "n1", 0, 4)
	up.Lane = "bulk"
	ids := func(ts []Timing) (s string) {
		for _, x := range ts {
			s += x.Step
		}
		return s
	}
	for _, c := range []struct {
		name           string
		steps          []Timing
		critical, long string
		barriers       []Barrier
	}{
		{"nothing ran", nil, "", "", nil},
		{"one", []Timing{at("a", "n1", 0, 5)}, "a", "a", nil},
		{"a chain over hosts", []Timing{at("a", "n1", 0, 5), at("b", "n2", 5, 9, "a"), at("c", "n1", 5, 6, "a")}, "ab",
			"ab", nil},
		{"another lane is not waited for", []Timing{at("a", "n1", 0, 3), up, at("c", "n1", 5, 6)}, "ac", "b", nil},
		{"a busy host", []Timing{at("a", "n1", 0, 3), at("b", "n1", 3, 9), at("c", "n2", 0, 1),
			at("d", "n1", 9, 10, "c")}, "abd", "b", nil},
		{"through barriers", []Timing{at("a", "n1", 0, 5), at("b", "n2", 0, 3), at("c", "n3", 5, 9, "y")}, "ac", "ac",
			[]Barrier{{"y", []string{"x", "b", "gone"}}, {"x", []string{"a", "y"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ids(CriticalPath(c.steps, c.barriers)); got != c.critical {
				t.Errorf("critical path %q, want %q", got, c.critical)
			}
			if got := ids(LongestChain(c.steps, c.barriers)); got != c.long {
				t.Errorf("longest chain %q, want %q", got, c.long)
			}
		})
	}
}
