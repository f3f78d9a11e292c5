package bundle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// use holds a stage for as long as this process, or until Release: Prune leaves it alone. The caller holds the stage's
// lock.
func (g *stager) use(s *Staged) (*Staged, error) {
	l := flock.New(filepath.Join(g.dir, s.ID()+".use"), flock.SetPermissions(0o600))
	if _, err := l.TryRLockContext(g.ctx, lockPoll); err != nil {
		if g.ctx.Err() != nil {
			return nil, g.ctx.Err()
		}
		return nil, storeFault(err, "")
	}
	s.used = l
	return s, nil
}

// Release lets others prune the stage.
func (s *Staged) Release() {
	if s.used != nil {
		_ = s.used.Unlock() // released with the process in any case
	}
}

// ID of the bundle that is staged.
func (s *Staged) ID() string { return filepath.Base(s.dir) }

// Pruned is a stage that was removed.
type Pruned struct {
	ID    string
	Bytes int64
}

// Prune removes the stages in dir that are not among keep and that no process makes or uses.
func Prune(dir string, keep []string) ([]Pruned, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Pruned
	for _, e := range entries {
		if !e.IsDir() || !isSum(e.Name()) || slices.Contains(keep, e.Name()) {
			continue
		}
		gone, perr := pruneOne(dir, e.Name())
		if err = errors.Join(err, perr); gone != nil {
			out = append(out, *gone)
		}
	}
	return out, err
}

// pruneOne removes a stage unless it is locked or used. The locks' files stay: to remove them would let two hold them.
func pruneOne(dir, id string) (*Pruned, error) {
	for _, name := range []string{".lock", ".use"} {
		l := flock.New(filepath.Join(dir, id+name), flock.SetPermissions(0o600))
		got, err := l.TryLock()
		if err != nil || !got {
			return nil, err
		}
		defer l.Unlock() //nolint:errcheck // released with the process in any case
	}
	home := filepath.Join(dir, id)
	p := &Pruned{ID: id}
	err := filepath.WalkDir(home, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			p.Bytes += info.Size()
		}
		return err
	})
	// The marker goes first: what is left of a removal that is cut off is no stage.
	if e := os.Remove(filepath.Join(home, markerName)); e != nil && !errors.Is(e, fs.ErrNotExist) {
		return nil, e
	}
	return p, errors.Join(err, os.RemoveAll(home))
}
