package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// machine has a clock that can be set.
type machine struct {
	set time.Time
	ran time.Duration
}

// runs lets time pass while a server runs.
func (m *machine) runs(d time.Duration) { m.set, m.ran = m.set.Add(d), m.ran+d }

// server starts a server on a data directory. warned counts its warnings.
func (m *machine) server(t *testing.T, data string, warned *int) *trusted {
	t.Helper()
	began := m.ran
	c := &trusted{now: func() time.Time { return m.set }, ran: func() time.Duration { return m.ran - began },
		path: filepath.Join(data, clockFile), save: replaced, warn: func(time.Time, time.Time) { *warned++ }}
	if err := c.load(filepath.Join(data, databaseFile)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A clock that is suddenly years ahead is not trusted at once: the trusted time continues from where it was, and
// follows the clock after it has been ahead for days. A clock that is set back is trusted.
func TestAClockThatIsFarAhead(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	m, warned, data := &machine{set: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}, 0, t.TempDir()
	is := func(c *trusted, want time.Time, warnings int) {
		t.Helper()
		if got := c.Now(); !got.Equal(want) || warned != warnings {
			t.Errorf("%s with %d warnings, want %s with %d", got, warned, want, warnings)
		}
	}
	c := m.server(t, data, &warned)
	is(c, m.set, 0)
	m.runs(day)
	is(c, m.set, 0)
	m.set = m.set.Add(20 * day) // the machine was off
	c = m.server(t, data, &warned)
	is(c, m.set, 0)
	real := m.set
	m.set = m.set.Add(10 * year)
	is(c, real, 1) // while it runs
	m.runs(time.Hour)
	real = real.Add(time.Hour)
	is(c, real, 1)
	c = m.server(t, data, &warned)
	is(c, real, 2) // and when it is started again
	m.runs(day)
	real = real.Add(day)
	is(c, real, 2)
	m.set = real // it is set right
	is(c, real, 2)
	m.set = real.Add(-year)
	is(c, m.set, 2)
	m.set = real
	is(m.server(t, data, &warned), m.set.Add(-year), 3) // which is far ahead of what was trusted last
	c = m.server(t, data, &warned)
	for range 6 {
		m.runs(day)
		c.Now()
		c = m.server(t, data, &warned)
	}
	if c.Now().After(real) {
		t.Error("trusted too early")
	}
	m.runs(25 * time.Hour)
	if got := c.Now(); !got.Equal(m.set) {
		t.Errorf("after days it is still %s and not %s", got, m.set)
	}
}

// The first server that writes its clock down begins where the database was written last.
func TestTheClockOfADataDirectoryWithoutOne(t *testing.T) {
	m, warned, data := &machine{set: time.Date(2036, 11, 29, 0, 0, 0, 0, time.UTC)}, 0, t.TempDir()
	if c := m.server(t, data, &warned); !c.Now().Equal(m.set) || warned != 0 {
		t.Error("new:", c.Now(), warned)
	}
	data = t.TempDir()
	file, before := filepath.Join(data, databaseFile), time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, before, before); err != nil {
		t.Fatal(err)
	}
	if c := m.server(t, data, &warned); !c.Now().Equal(before) || warned != 1 {
		t.Error("with a database:", c.Now(), warned)
	}
	if err := os.WriteFile(filepath.Join(data, clockFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newTrusted(data, nil); err == nil {
		t.Error("a damaged file counts as none")
	}
}

// A disk that is full is reported by the database, which has words for it; the file follows when there is room.
func TestTheClockOnAFullDisk(t *testing.T) {
	data, full := t.TempDir(), error(syscall.ENOSPC)
	m := &machine{set: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}
	c := &trusted{now: func() time.Time { return m.set }, ran: func() time.Duration { return m.ran },
		path: filepath.Join(data, clockFile), save: func(path string, text []byte) error {
			if full != nil {
				return &os.PathError{Op: "write", Path: path, Err: full}
			}
			return replaced(path, text)
		}}
	if err := c.load(filepath.Join(data, databaseFile)); err != nil || !c.Now().Equal(m.set) {
		t.Error(err, c.Now())
	}
	full = nil
	c.Now()
	if _, err := os.Stat(c.path); err != nil {
		t.Error(err)
	}
	full = syscall.EROFS
	if err := c.load(filepath.Join(data, databaseFile)); err == nil {
		t.Error("a file that cannot be written at all is no matter")
	}
}
