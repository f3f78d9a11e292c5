package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// smallDisk is an ext4 file system of so many MiB in a file of its own.
func smallDisk(t *testing.T, s *stand.Stand, name string, size int64) string {
	t.Helper()
	image, dir := filepath.Join(s.Dir, name+".img"), filepath.Join(s.Dir, name)
	must(t, "image", os.WriteFile(image, nil, 0o600))
	must(t, "image", os.Truncate(image, size<<20))
	must(t, "directory", os.MkdirAll(dir, 0o700))
	for _, cmd := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		out, err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).CombinedOutput()
		must(t, cmd[0]+": "+string(out), err)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "umount",
			dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// TestSmallStateDisk: a disk without the space for the bundle is named before a byte is unpacked; one that something
// else fills meanwhile ends with the same fault. The event log is whole each time, nothing of the bundle is left, and
// nothing is touched.
func TestSmallStateDisk(t *testing.T) {
	turn(t, 0)
	s := newLab(t, 1)
	file, err := s.Deploy("small.yaml", "small", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	refused := func(t *testing.T, state string) {
		t.Helper()
		got := tryFrom(t, s, state, 6, "deploy", "-f", file)
		if err := got.Has("bundle.no-space", state, "MiB", "Suggested fix: "); err != nil {
			t.Error(err)
		}
		noChange(t, state, "small")
		runs, err := stand.Runs(state, "small")
		must(t, "event logs", err)
		ended := false
		for _, r := range runs[len(runs)-1] { // closed connections follow
			end, is := r.Event.(event.RunEnded)
			ended = ended || is && end.Fault != nil && end.Fault.Class == event.ClassBundle
		}
		if !ended {
			t.Error("the log does not say how the run ended")
		}
		if left, _ := filepath.Glob(filepath.Join(state, "bundles", "*", "*")); len(left) > 0 {
			t.Error("left of the bundle:", left)
		}
	}
	t.Run("too small", func(t *testing.T) { refused(t, smallDisk(t, s, "too-small", 256)) })
	t.Run("gets full", func(t *testing.T) {
		state := smallDisk(t, s, "gets-full", 1024)
		ctx, stop := context.WithCancel(t.Context())
		filled := make(chan error, 1)
		go func() { filled <- fillDisk(ctx, state) }()
		refused(t, state)
		stop()
		must(t, "fill", <-filled)
	})
}

// fillDisk writes as soon as something is unpacked until the disk is full.
func fillDisk(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return err
	}
	defer f.Close()
	block := bytes.Repeat([]byte("x"), 1<<20)
	for ctx.Err() == nil {
		if started, _ := filepath.Glob(filepath.Join(dir, "bundles", "*", "members", "*")); len(started) == 0 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		for {
			if _, err := f.Write(block); err != nil {
				return nil // full
			}
		}
	}
	return nil
}
