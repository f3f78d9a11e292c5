package journal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
)

// crowded is a file on a disk that is full until the reserve is given up.
type crowded struct {
	*os.File
	reserve string
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
