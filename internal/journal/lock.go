package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Holder says who works on a cluster.
type Holder struct {
	PID   int       `json:"pid"`
	User  string    `json:"user"`
	Host  string    `json:"host"`
	Verb  string    `json:"verb"`
	Since time.Time `json:"since"`
}

// Lock is the right to work on a cluster from this jump host. The kernel frees it when the process ends, however it ends.
type Lock struct {
	lock   *flock.Flock
	holder string
}

// Lock takes the cluster's lock without waiting. When another process has it the fault is lock.cluster-held, class locked, with what that
// process wrote of itself.
func (c *Cluster) Lock(me Holder) (*Lock, error) {
	path := filepath.Join(c.path, "lock")
	l := &Lock{flock.New(path, flock.SetPermissions(0o600)), path + ".json"}
	got, err := l.lock.TryLock()
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "lock.cluster-failed", err, "path", path)
	}
	if !got {
		h, _ := c.Holder()
		text := func(s string) string {
			if s == "" {
				return "?"
			}
			return s
		}
		since := "?"
		if !h.Since.IsZero() {
			since = h.Since.UTC().Format(time.RFC3339)
		}
		return nil, event.NewFault(event.ClassLocked, "lock.cluster-held", nil,
			"pid", strconv.Itoa(h.PID), "user", text(h.User), "host", text(h.Host), "verb", text(h.Verb), "since", since)
	}
	text, err := json.Marshal(me)
	if err == nil {
		err = renameio.WriteFile(l.holder, append(text, '\n'), 0o600)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "lock.cluster-failed", errors.Join(err, l.lock.Unlock()), "path", l.holder)
	}
	return l, nil
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

// Busy says whether the process that took the lock last is alive on this machine. It takes no lock itself: a front end that looks must not
// get into a run's way.
func (c *Cluster) Busy() bool {
	h, err := c.Holder()
	if err != nil || h.PID <= 0 {
		return false
	}
	err = syscall.Kill(h.PID, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Unlock gives the lock back. The lock's file stays: to remove it would let two hold it.
func (l *Lock) Unlock() error {
	return errors.Join(os.Remove(l.holder), l.lock.Unlock())
}
