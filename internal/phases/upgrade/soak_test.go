package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// soaking is a soak of an hour whose clock only the pauses move on.
type soaking struct {
	Soak
	now    time.Time
	rounds int
}

func newSoaking(t *testing.T, check func(context.Context) error) *soaking {
	t.Helper()
	s := &soaking{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	e := &input.Env{StateDir: t.TempDir(), Now: func() time.Time { return s.now },
		Emit: func(event.Event) error { return nil }}
	s.Soak = Soak{Env: e, State: NewState(e, Begun{Hops: []Hop{{Version: "v1.35.4"}}}), For: time.Hour,
		Checks: []func(context.Context) error{func(ctx context.Context) error {
			s.rounds++
			return check(ctx)
		}},
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.now = s.now.Add(d)
			return ctx.Err()
		}}
	return s
}

// again watches a day later, as the next run does.
func (s *soaking) again(t *testing.T) {
	t.Helper()
	s.now, s.rounds = s.now.Add(24*time.Hour), 0
	is, err := ReadBegun(s.Env.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	s.State = NewState(s.Env, is)
	if err := s.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A soak that has failed proves nothing: the next one has its whole time.
func TestASoakThatFailedBeginsAgain(t *testing.T) {
	t.Parallel()
	ill := false
	var s *soaking
	s = newSoaking(t, func(context.Context) error {
		if ill = s.rounds >= 180 && s.rounds < 183; ill && s.now.Day() == 4 {
			return errors.New("etcd is ill")
		}
		return nil
	})
	if f := event.AsFault(s.watch(t.Context())); f == nil || f.Code != "upgrade.soak-failed" {
		t.Fatal(f)
	}
	if s.again(t); s.rounds < 360 {
		t.Errorf("passed after %d rounds", s.rounds)
	}
}

// Of a soak that was cut off counts what was watched, and not the time that nobody watched.
func TestASoakThatIsCutOffContinues(t *testing.T) {
	t.Parallel()
	ctx, cut := context.WithCancel(t.Context())
	var s *soaking
	s = newSoaking(t, func(context.Context) error {
		if s.rounds == 121 && ctx.Err() == nil { // after twenty minutes
			cut()
		}
		return nil
	})
	if err := s.watch(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s.again(t); s.rounds < 240 || s.rounds > 245 {
		t.Errorf("passed after %d rounds", s.rounds)
	}
}

// A round that fails is no time that the control plane was well in.
func TestAMissIsNoGoodTime(t *testing.T) {
	t.Parallel()
	var s *soaking
	s = newSoaking(t, func(context.Context) error {
		if s.rounds%3 == 0 {
			return errors.New("a node is not Ready")
		}
		return nil
	})
	if err := s.watch(t.Context()); err != nil || s.rounds < 1000 {
		t.Errorf("%v after %d rounds", err, s.rounds)
	}
}

// A soak of a day is told as the first minutes pass, and then ever more rarely; what changes is told at once.
func TestALongSoakIsToldInAFewNotices(t *testing.T) {
	t.Parallel()
	var s *soaking
	s = newSoaking(t, func(context.Context) error {
		if s.rounds == 4000 || s.rounds == 4001 {
			return errors.New("etcd is ill")
		}
		return nil
	})
	s.For = 24 * time.Hour
	begun := s.now
	var told []string
	early := 0
	s.Env.Emit = func(e event.Event) error {
		n := e.(event.Notice)
		if told = append(told, n.Text.Key); s.now.Sub(begun) < 150*time.Second {
			early++
		}
		if n.Text.Key == "notice.soak-again" && s.rounds != 4002 {
			t.Errorf("it was well again in round 4002, and that is told in round %d", s.rounds)
		}
		if n.Text.Key == "notice.soak" {
			left, err := time.ParseDuration(n.Text.Args["left"])
			if until := s.now.Add(left).Format(time.RFC3339); err != nil || n.Text.Args[event.Until] != until {
				t.Errorf("%v at %s: want it over at %s", n.Text.Args, s.now, until)
			}
		}
		return nil
	}
	if err := s.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) > 60 || early != 5 {
		t.Errorf("%d notices, %d of them in the first minutes", len(told), early)
	}
	at := slices.Index(told, "notice.soak-miss")
	if want := []string{"notice.soak-miss", "notice.soak-miss", "notice.soak-again"}; at < 0 ||
		!slices.Equal(told[at:at+3], want) || told[len(told)-1] != "notice.soak-done" {
		t.Error(told)
	}
	if is, _ := ReadBegun(s.Env.StateDir); s.For-is.Watched > time.Minute {
		t.Errorf("kept as watched for %s", is.Watched) // one that is cut off continues there
	}
}

// What a probe has started ends with the probe.
func TestAProbeEndsWithAllThatItHasStarted(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), write.Fd())
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	s := Soak{Probe: "exec 3>" + path + "; (echo up >&3; sleep 4; echo alive >&3) & wait"}
	ended := make(chan error, 1)
	go func() { ended <- s.probe(ctx) }()
	if _, err := io.ReadFull(read, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	cut()
	if err := <-ended; err == nil {
		t.Error("it has ended well")
	}
	write.Close()
	if left, err := io.ReadAll(read); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}
