package upgrade

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	soakEvery  = 10 * time.Second // between two rounds of checks
	soakProbe  = time.Minute      // what the user's command has
	soakMisses = 3                // rounds one after another that end a soak
	soakKeep   = 30 * time.Second // between two writes of how long it was well
	soakTell   = 30 * time.Second // between two words about it at its begin
	soakRarer  = 5                // they become rarer by this part of the time that has passed
)

// Soak has the new control plane prove itself while it runs as the old minor: as long as it lasts there is a way back.
type Soak struct {
	Env   *input.Env
	State *State
	For   time.Duration
	Probe string // a shell command of the user's on the control host; "" is none
	// Checks are ours, each with the name by which a failure is told.
	Checks []func(context.Context) error
	// Sleep waits; nil does so by the clock.
	Sleep func(context.Context, time.Duration) error
}

// Step watches the control plane when the steps of needs are done. One that is cut off and continued lasts as long as
// is left of it; one that has failed begins again.
func (s *Soak) Step(needs []string) *engine.Step {
	st := plan.Step(plan.PhaseSoak, "watch", "", needs)
	st.Timeout = 2*s.For + time.Hour
	st.Check = func(context.Context) (bool, error) { return s.State.Is().Committed, nil }
	st.Apply, st.Waits = s.watch, true
	return st
}

func (s *Soak) watch(ctx context.Context) error {
	if s.Env.Dry {
		return engine.ErrUnchanged
	}
	if s.State.Is().Soak.IsZero() {
		now := s.Env.Now()
		if err := s.State.Change(ctx, func(b *Begun) { b.Soak, b.Watched = now, 0 }); err != nil {
			return err
		}
	}
	watched := s.State.Is().Watched
	var last, kept time.Time // when the round before was well, and when that was kept
	says := telling{soak: s, begun: s.Env.Now()}
	for rounds, misses := 1, 0; ; rounds++ {
		err := s.round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := s.Env.Now()
		switch {
		case err != nil:
			last = time.Time{}
			if misses++; misses >= soakMisses {
				return s.failed(ctx, err, misses)
			}
		case last.IsZero():
			misses, last = 0, now
		default:
			misses, watched, last = 0, watched+now.Sub(last), now
		}
		if err == nil && watched >= s.For {
			return s.tell(ctx, "notice.soak-done", "rounds", strconv.Itoa(rounds))
		}
		left := max(s.For-watched, 0)
		if err != nil || now.Sub(kept) >= soakKeep {
			kept = now
			if err := s.State.Change(ctx, func(b *Begun) { b.Watched = watched }); err != nil {
				return err
			}
		}
		if err := says.round(ctx, err, now, left, rounds); err != nil {
			return err
		}
		pause := soakEvery
		if err == nil {
			pause = min(pause, left)
		}
		if err := s.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// failed ends a soak: the next one begins again.
func (s *Soak) failed(ctx context.Context, cause error, misses int) error {
	if err := s.State.Change(ctx, func(b *Begun) { b.Soak, b.Watched = time.Time{}, 0 }); err != nil {
		return err
	}
	return event.NewFault(event.ClassFailed, "upgrade.soak-failed", cause, "times", strconv.Itoa(misses))
}

// telling gives notice of the rounds of a soak: of each change at once, and of those that are as the one before ever
// more rarely, so that a soak of a day writes no more of them than a few dozen. Who shows one knows by its "until" how
// long the soak still lasts.
type telling struct {
	soak   *Soak
	begun  time.Time // when the watching began
	told   time.Time
	missed bool // the round before
}

// round gives notice of a round if it is worth one.
func (t *telling) round(ctx context.Context, missed error, now time.Time, left time.Duration, rounds int) error {
	key, kv := "notice.soak", []string{"left", left.Round(time.Second).String(), "rounds", strconv.Itoa(rounds)}
	if t.soak.State.Is().OneWay {
		key = "notice.soak-one-way"
	}
	again := missed == nil && t.missed
	t.missed = missed != nil
	switch {
	case missed != nil:
		key, kv = "notice.soak-miss", append(kv, "why", event.Clean(event.AsFault(missed).Error()))
	case again:
		key = "notice.soak-again"
		fallthrough
	default:
		if !again && now.Sub(t.told) < max(soakTell, t.told.Sub(t.begun)/soakRarer) {
			return nil
		}
		kv = append(kv, event.Until, now.Add(left).UTC().Format(time.RFC3339))
	}
	t.told = now
	return t.soak.tell(ctx, key, kv...)
}

func (s *Soak) sleep(ctx context.Context, d time.Duration) error {
	if s.Sleep != nil {
		return s.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (s *Soak) tell(ctx context.Context, key string, kv ...string) error {
	return s.Env.Emit(event.Notice{Step: engine.StepID(ctx), Text: event.M(key, kv...)})
}

// round makes every check once.
func (s *Soak) round(ctx context.Context) error {
	for _, check := range s.Checks {
		one, cancel := context.WithTimeout(ctx, wait.ProbeLimit)
		err := check(one)
		cancel()
		if err != nil {
			return err
		}
	}
	if s.Probe == "" {
		return nil
	}
	return s.probe(ctx)
}

// tail is the end of what a command says.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(p), nil
}

// probe runs the user's command. What it says goes into the fault of one that does not end well, and nowhere else.
func (s *Soak) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, soakProbe)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", s.Probe)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out tail
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	f := event.NewFault(event.ClassFailed, "upgrade.probe-failed", err, "command", event.Clean(s.Probe))
	if last := event.Clean(lines[len(lines)-1]); last != "" {
		f.Cause = last
	}
	return f
}
