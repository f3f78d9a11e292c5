package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// clockFile in the data directory is how far the clock of the machine has been trusted.
const clockFile = "clock"

const (
	// plausibleGap is how long a server may have been stopped without more being asked of the clock.
	plausibleGap = 30 * 24 * time.Hour
	// heldFor is how long the server runs with a clock that is further ahead before it trusts it.
	heldFor = 7 * 24 * time.Hour
	// keepClock is how often the file is written.
	keepClock = 10 * time.Minute
)

// trusted is a clock for what cannot be undone: entries of the audit log are deleted by it, the server's CA is replaced
// and certificates of clusters are renewed by it. It follows the clock of the machine, but for one that is suddenly far
// ahead: of that, only the time counts that passes while the server runs, until it has been ahead for long.
type trusted struct {
	now  func() time.Time     // the clock of the machine
	ran  func() time.Duration // how long the process has run, whatever the clock is set to
	path string
	save func(path string, text []byte) error
	warn func(now, trusted time.Time) // once for each process

	mu     sync.Mutex
	at     clockState
	last   time.Duration // of ran
	wrote  time.Time     // as it is in the file
	warned bool
}

// clockState is the content of the file.
type clockState struct {
	Time time.Time     `json:"time"`
	Held time.Duration `json:"held_ns"` // for how long the clock of the machine has been ahead while the server ran
}

// newTrusted reads how far the clock was trusted by the last server of the data directory. One that did not write it
// down yet has written its database.
func newTrusted(data string, warn func(now, trusted time.Time)) (*trusted, error) {
	began := time.Now()
	t := &trusted{now: time.Now, ran: func() time.Duration { return time.Since(began) },
		path: filepath.Join(data, clockFile), save: replaced, warn: warn}
	return t, t.load(filepath.Join(data, databaseFile))
}

// replaced writes a file as a whole.
func replaced(path string, text []byte) error {
	return renameio.WriteFile(path, text, 0o600, renameio.IgnoreUmask())
}

func (t *trusted) load(database string) error {
	t.at = clockState{Time: t.now()}
	text, err := os.ReadFile(t.path)
	if err == nil {
		err = json.Unmarshal(text, &t.at)
	} else if info, missing := os.Stat(database); os.IsNotExist(err) {
		if err = nil; missing == nil {
			t.at.Time = info.ModTime()
		}
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	t.step()
	if err = t.write(); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil // the database says what is full, and Now tries again
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// Now returns the time that is trusted.
func (t *trusted) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.step(); t.at.Time.Sub(t.wrote).Abs() >= keepClock {
		_ = t.write() // the next call tries again; until then the file is older than it could be
	}
	return t.at.Time
}

// step takes the time that has passed into account.
func (t *trusted) step() {
	now, ran := t.now().Round(0), t.ran()
	passed := ran - t.last
	t.last = ran
	t.at.Time, t.at.Held = t.at.Time.Add(passed), t.at.Held+passed
	switch {
	case now.Sub(t.at.Time) <= plausibleGap:
		t.at = clockState{Time: now}
	case t.at.Held >= heldFor:
		t.at, t.warned = clockState{Time: now}, false
	case !t.warned:
		t.warned = true
		t.warn(now, t.at.Time)
	}
}

func (t *trusted) write() error {
	text, err := json.Marshal(t.at)
	if err == nil {
		err = t.save(t.path, append(text, '\n'))
	}
	if err == nil {
		t.wrote = t.at.Time
	}
	return err
}
