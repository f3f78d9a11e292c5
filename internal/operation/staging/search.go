package staging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// errLater keeps a bundle from being unpacked about whose signer somebody has yet to be asked.
var errLater = errors.New("its signer is not known yet")

// Found is a bundle that was found, or why what was named is none.
type Found struct {
	Path     string
	Size     int64
	Manifest *bundle.Manifest // nil when it cannot be read
	Signed   event.Msg        // who signed it, or that nobody did
	Fault    *event.Fault
	Done     int64 // bytes that are verified; Verified when all are
	Verified bool
}

// Search finds bundles, and remembers which were verified.
type Search struct {
	root string

	mu       sync.Mutex
	verified map[string]Found
}

// NewSearch makes a search for a state directory.
func NewSearch(root string) *Search { return &Search{root: root, verified: map[string]Found{}} }

// Find finds bundles where paths lead and in the directories where they usually are, opens them, and then verifies
// every byte of each. What is in the usual places and is no bundle is nobody's business; a path that was named has what
// is wrong with it reported.
func (s *Search) Find(ctx context.Context, paths, usual []string, report func(Found)) {
	var list []Found
	seen := map[string]bool{}
	open := func(path string, named bool) {
		if seen[path] || ctx.Err() != nil {
			return
		}
		seen[path] = true
		a, err := bundle.Open(path)
		if err != nil {
			if named {
				report(Found{Path: path, Fault: event.AsFault(err)})
			}
			return
		}
		f := Found{Path: path, Size: a.Size(), Manifest: a.Manifest()}
		c, err := s.check(ctx, path, a.Manifest(), a.Sums())
		if err != nil { // what would be refused is not even read
			f.Fault = event.AsFault(err)
			report(f)
			return
		}
		f.Signed = c.Msg()
		report(f)
		list = append(list, f)
	}
	inside := func(dir string, named bool) {
		there := bundle.Beside(filepath.Join(dir, "x"))
		for _, p := range there {
			open(p, named)
		}
		if named && len(there) == 0 {
			none := event.NewFault(event.ClassBundle, "bundle.none-here", nil, "file", dir)
			report(Found{Path: dir, Fault: none})
		}
	}
	for _, p := range paths {
		if i, err := os.Stat(p); err == nil && i.IsDir() {
			inside(p, true)
			continue
		}
		open(p, true)
	}
	for _, dir := range usual {
		inside(dir, false)
	}
	for _, f := range list {
		if ctx.Err() != nil {
			return
		}
		s.verify(ctx, f, len(list) == 1, report)
	}
}

// verify reads a bundle to its end, once as long as it is the same. The only one that there is will be installed from:
// it is unpacked on the way, as preflight and the run do, so that neither reads it again.
func (s *Search) verify(ctx context.Context, f Found, only bool, report func(Found)) {
	id := f.Path
	if i, err := os.Stat(f.Path); err == nil {
		id += fmt.Sprintf(" %d %s", i.Size(), i.ModTime())
	}
	s.mu.Lock()
	was, known := s.verified[id]
	s.mu.Unlock()
	if known {
		was.Signed = f.Signed // who is trusted may have changed
		report(was)
		return
	}
	last := time.Time{}
	err := s.readWhole(ctx, f, only, func(done, _ int64) {
		if now := time.Now(); now.Sub(last) >= 250*time.Millisecond {
			last = now
			f := f
			f.Done = done
			report(f)
		}
	})
	if ctx.Err() != nil {
		return
	}
	f.Done, f.Verified = f.Size, err == nil
	if err != nil {
		f.Fault = event.AsFault(err)
	}
	s.mu.Lock()
	s.verified[id] = f
	s.mu.Unlock()
	report(f)
}

// check says who signed a bundle, and refuses what would not be installed. Nobody is asked: that is done when the run
// begins.
func (s *Search) check(ctx context.Context, path string, m *bundle.Manifest, sums []byte) (trust.Checked, error) {
	c, err := trust.NewChecks(s.root, "", false, nil)
	if err != nil {
		return trust.Checked{}, err
	}
	found, _, err := c.Check(ctx, path, m, sums)
	return found, err
}

// readWhole verifies every byte of a bundle, unless it was when it was unpacked and is the same since. only: it is
// unpacked, if there is free space.
func (s *Search) readWhole(ctx context.Context, f Found, only bool, progress func(done, total int64)) error {
	dir := Dir(s.root)
	if bundle.Finished(f.Path, dir) {
		return nil
	}
	if only && f.Manifest.Base == nil {
		voucher := bundle.WithVoucher(func(m *bundle.Manifest, sums []byte) error {
			c, err := s.check(ctx, f.Path, m, sums)
			if err == nil && c.State == trust.Stranger {
				err = errLater
			}
			return err
		})
		staged, err := bundle.Stage(ctx, f.Path, dir, progress, voucher)
		if err == nil {
			staged.Release()
		}
		fault := event.AsFault(err)
		if err == nil || !errors.Is(err, errLater) && fault.Code != "bundle.no-space" && fault.Code != "bundle.write" {
			return err
		}
	}
	_, err := bundle.Verify(ctx, f.Path, progress)
	return err
}
