package journal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// crowded is a file on a disk that is full until the reserve is given up.
type crowded struct {
	*os.File
	reserve string
}

func (c *crowded) Sync() error {
	if _, err := os.Stat(c.reserve); err == nil {
		return &os.PathError{Op: "sync", Path: c.Name(), Err: syscall.ENOSPC}
	}
	return c.File.Sync()
}

func (c *crowded) Write(p []byte) (int, error) {
	if _, err := os.Stat(c.reserve); err == nil {
		n, _ := c.File.Write(p[:len(p)/2])
		return n, &os.PathError{Op: "write", Path: c.Name(), Err: syscall.ENOSPC}
	}
	return c.File.Write(p)
}

// A disk that something else fills does not end the log.
func TestTheLogGoesOnWhenTheDiskIsFull(t *testing.T) {
	c := open(t)
	w := newRun(t, c, "deploy")
	reserve := filepath.Join(w.Dir(), ReserveName)
	st, err := os.Stat(reserve)
	if err != nil {
		t.Skip("the file system of the test has no reserve:", err)
	}
	if taken, ok := st.Sys().(*syscall.Stat_t); !ok || taken.Blocks*512 < reserveSize {
		t.Errorf("the reserve takes %d blocks", taken.Blocks)
	}
	file, ok := w.file.(*os.File)
	if !ok {
		t.Fatal("the log is no file")
	}
	w.file = &crowded{file, reserve}
	bus := event.NewBus(time.Now, w)
	for _, e := range some() {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(reserve); err == nil {
		t.Error("the reserve is there still")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	recs, err := readAll(t, w.Dir())
	if err != nil || len(recs) != len(some()) {
		t.Errorf("%d records, %v", len(recs), err)
	}
	// One that is left by a killed run goes with the next run.
	if err := os.WriteFile(reserve, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next := newRun(t, c, "deploy")
	if _, err := os.Stat(reserve); err == nil {
		t.Error("a killed run's reserve stays")
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(c.Path(), "runs", "*", ReserveName))
	if err != nil || len(left) > 0 {
		t.Error(strings.Join(left, " "), err)
	}
}

// late is a file on a disk that is found to be full when it is synced, and that then has not kept what was written.
type late struct{ crowded }

func (l *late) Write(p []byte) (int, error) { return l.File.Write(p) }

// The reserve is also there for a disk that says only at the sync that it is full: what was written since is written
// again.
func TestADiskThatIsFullAtTheSync(t *testing.T) {
	c := open(t)
	w := newRun(t, c, "deploy")
	reserve := filepath.Join(w.Dir(), ReserveName)
	if _, err := os.Stat(reserve); err != nil {
		t.Skip("the file system of the test has no reserve:", err)
	}
	file, ok := w.file.(*os.File)
	if !ok {
		t.Fatal("the log is no file")
	}
	w.file = &late{crowded{file, reserve}}
	bus := event.NewBus(time.Now, w)
	for _, e := range some() {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if recs, err := readAll(t, w.Dir()); err != nil || len(recs) != len(some()) {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

// What a node printed stands in its log once, also when half of it was written before the disk was full.
func TestANodesLogIsWrittenOnce(t *testing.T) {
	w := newRun(t, open(t), "deploy")
	reserve := filepath.Join(w.Dir(), ReserveName)
	if _, err := os.Stat(reserve); err != nil {
		t.Skip("the file system of the test has no reserve:", err)
	}
	w.nodes.write = func(f *os.File, p []byte) (int, error) {
		if _, err := os.Stat(reserve); err == nil {
			n, _ := f.Write(p[:len(p)/2])
			return n, syscall.ENOSPC
		}
		return f.Write(p)
	}
	now := time.Date(2026, 11, 21, 10, 15, 30, 0, time.UTC)
	if err := event.NewBus(func() time.Time { return now },
		w).Emit(event.Output{Host: "n1", Step: "a", Stream: "out", Line: "once"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), NodeLog("n1")))
	if err != nil || string(text) != "2026-11-21T10:15:30.000Z a out| once\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A log that nothing was written to leaves nothing; one with a record stays.
func TestDiscard(t *testing.T) {
	c := open(t)
	w := newRun(t, c, "deploy")
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Dir()); !os.IsNotExist(err) {
		t.Error("the directory stays:", err)
	}
	w = newRun(t, c, "deploy")
	if err := event.NewBus(time.Now, w).Emit(some()[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if recs, err := readAll(t, w.Dir()); err != nil || len(recs) != 1 {
		t.Errorf("%d records, %v", len(recs), err)
	}
}
