package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Holder names the process that works on a cluster: program and place.
type Holder struct {
	PID   int       `json:"pid"`
	User  string    `json:"user"`
	Host  string    `json:"host"`
	Verb  string    `json:"verb"`
	Since time.Time `json:"since"`
	// Run is the ID of the run that the holder writes, noRun before there is one; "" was written by a version that did
	// not say it.
	Run string `json:"run,omitempty"`
	// Program is eggo-tui or eggo-server; "" was written by a version that did not record it.
	Program string `json:"program,omitempty"`
}

// String returns program and place in one line, as the lock of a node shows them.
func (h Holder) String() string {
	return fmt.Sprintf("%s@%s pid %d: %s %s", h.User, h.Host, h.PID, cmp.Or(h.Program, anyProgram), h.Verb)
}

// Held returns the fault lock.cluster-held, class locked: the holder has the lock of the cluster.
func (h Holder) Held() *event.Fault {
	since := "?"
	if !h.Since.IsZero() {
		since = h.Since.UTC().Format(time.RFC3339)
	}
	return event.NewFault(event.ClassLocked, "lock.cluster-held", nil, "program", cmp.Or(h.Program, anyProgram),
		"pid", strconv.Itoa(h.PID), "user", cmp.Or(h.User, "?"), "host", cmp.Or(h.Host, "?"),
		"verb", cmp.Or(h.Verb, "?"), "since", since)
}

const (
	noRun      = "-"
	anyProgram = "eggo" // a holder that did not record its program
	// A process that looks whether the lock is held has it for the time of two system calls (see Busy); so who finds it
	// taken tries again.
	lockTries = 10
	lockPause = 20 * time.Millisecond
)

// Lock is the right to work on a cluster from this jump host. The kernel frees it when the process ends, however it
// ends.
type Lock struct {
	lock   *flock.Flock
	holder string
	me     Holder
}

// Lock takes the cluster's lock without waiting. When another process has it the fault is lock.cluster-held, class
// locked, with what that process wrote of itself.
func (c *Cluster) Lock(me Holder) (*Lock, error) {
	path := c.lockFile()
	me.Run = noRun
	l := &Lock{flock.New(path, flock.SetPermissions(0o600)), path + ".json", me}
	got, err := l.lock.TryLock()
	for i := 1; i < lockTries && !got && err == nil; i++ {
		time.Sleep(lockPause)
		got, err = l.lock.TryLock()
	}
	switch {
	case err != nil:
		return nil, event.NewFault(event.ClassFailed, "lock.cluster-failed", err, "path", path)
	case !got:
		return nil, c.held()
	}
	if err := l.write(); err != nil {
		return nil, event.NewFault(event.ClassFailed, "lock.cluster-failed", errors.Join(err, l.lock.Unlock()), "path",
			l.holder)
	}
	return l, nil
}

func (l *Lock) write() error {
	text, err := json.Marshal(l.me)
	if err != nil {
		return err
	}
	return renameio.WriteFile(l.holder, append(text, '\n'), 0o600)
}

// Writes says which run the holder of the lock writes.
func (l *Lock) Writes(run string) error {
	l.me.Run = run
	if err := l.write(); err != nil {
		return event.NewFault(event.ClassFailed, "lock.cluster-failed", err, "path", l.holder)
	}
	return nil
}

func (c *Cluster) lockFile() string { return filepath.Join(c.path, "lock") }

// held is the fault that another process has the lock.
func (c *Cluster) held() error {
	h, _ := c.Holder()
	return h.Held()
}

// Free is nil when nobody holds the lock now, else the fault of Lock.
func (c *Cluster) Free() error {
	if c.Busy() {
		return c.held()
	}
	return nil
}

// Holder is who took the lock last; it says nothing of whether it is still held.
func (c *Cluster) Holder() (Holder, error) {
	var h Holder
	text, err := os.ReadFile(filepath.Join(c.path, "lock.json"))
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	return h, err
}

// Busy says whether a process holds the lock. The kernel is asked, not the process number that the holder wrote: after
// a reboot, or when numbers come round, that is another process's. To ask is to take a shared lock for a moment: those
// who ask are not in each other's way, and Lock tries again.
func (c *Cluster) Busy() bool {
	f, err := os.Open(c.lockFile())
	if err != nil { // nobody ever took it
		return false
	}
	defer f.Close() // which gives back what was taken
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// Writing says whether a process holds the lock and writes that run.
func (c *Cluster) Writing(run string) bool {
	if !c.Busy() {
		return false
	}
	h, err := c.Holder()
	if err != nil { // it is giving the lock back
		return false
	}
	if h.Run == "" { // an older version, whose run is the newest
		newest, err := c.Latest("")
		return err == nil && newest == run
	}
	return h.Run == run
}

// Lost returns nil: only the end of the process or Unlock frees the lock of a directory.
func (l *Lock) Lost() <-chan struct{} { return nil }

// Unlock gives the lock back. The lock's file stays: to remove it would let two hold it.
func (l *Lock) Unlock() error {
	return errors.Join(os.Remove(l.holder), l.lock.Unlock())
}
