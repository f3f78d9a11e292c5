package stand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// EndRuns ends the runs that a test leaves behind: each is a process of its own and outlives its terminal, and a test
// that failed on the way.
func (s *Stand) EndRuns(ctx context.Context) error {
	return endRuns(ctx, s.State(), s.Program("eggo-tui"), s.Program("eggo-server"))
}

// endRuns kills whoever holds the lock of a cluster and is one of the programs, by the number that it wrote into the
// lock's file.
func endRuns(ctx context.Context, state string, programs ...string) error {
	entries, err := os.ReadDir(state)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	ours := make([]string, len(programs))
	for i, p := range programs {
		ours[i] = filepath.Clean(p)
		if real, err := filepath.EvalSymlinks(p); err == nil {
			ours[i] = real
		}
	}
	for _, e := range entries {
		c, at := journal.At(state, e.Name())
		if at != nil || !c.Busy() {
			continue
		}
		h, why := c.Holder()
		if why != nil { // it is giving the lock back
			continue
		}
		exe, why := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.PID))
		if why != nil || !slices.Contains(ours, filepath.Clean(exe)) {
			err = errors.Join(err, fmt.Errorf("cluster %s: process %d is %q, none of %s (%v)", e.Name(), h.PID,
				exe, strings.Join(ours, ", "), why))
			continue
		}
		if why := syscall.Kill(h.PID, syscall.SIGKILL); why != nil && !errors.Is(why, syscall.ESRCH) {
			err = errors.Join(err, why)
			continue
		}
		err = errors.Join(err, Until(ctx, 30*time.Second, "the end of the run of "+e.Name(),
			func(context.Context) error {
				if c.Busy() {
					return errors.New("it holds its lock")
				}
				return nil
			}))
	}
	return err
}
