// Package staging has the bundles of operations: it verifies and unpacks them under the state directory, decides about
// their signatures, and removes what nobody uses any more. It imports operation, bundle and what they stand on.
package staging

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// dirName is where bundles are unpacked for all clusters, under the state directory.
const dirName = "bundles"

// Dir is the directory of unpacked bundles of a state directory.
func Dir(root string) string { return filepath.Join(root, dirName) }

// Bundles are those of a state directory. It implements operation.Bundles.
type Bundles struct{ root string }

// New gives those of a state directory.
func New(root string) *Bundles { return &Bundles{root} }

var _ operation.Bundles = (*Bundles)(nil)

// Session implements operation.Bundles.
func (b *Bundles) Session(use operation.BundleUse) operation.BundleSession {
	return &Session{root: b.root, use: use}
}

// Head implements operation.Bundles.
func (b *Bundles) Head(path string) (*bundle.Manifest, []byte, error) {
	a, err := bundle.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return a.Manifest(), a.Sums(), nil
}

// Session is the bundles of one run. It implements operation.BundleSession.
type Session struct {
	root string
	use  operation.BundleUse

	mu     sync.Mutex
	check  *trust.Checks // made when the first bundle is met
	staged []*bundle.Staged
}

// Stage implements operation.BundleSession: it verifies and unpacks a bundle, once. deploy.yaml may name a split bundle
// by its first part or by what the parts make.
func (s *Session) Stage(ctx context.Context, source config.BundleSource) (phases.Bundle, error) {
	if source.Path == "" {
		return nil, event.NewFault(event.ClassBundle, "bundle.no-source", nil, "arch", source.Arch)
	}
	path := s.path(source)
	step := engine.StepID(ctx)
	last := time.Time{}
	progress := func(done, total int64) {
		if now := time.Now(); now.Sub(last) >= 250*time.Millisecond || done == total {
			last = now
			_ = s.use.Emit(event.Progress{Step: step, What: filepath.Base(path), Done: done, Total: total})
		}
	}
	b, err := bundle.Stage(ctx, path, Dir(s.root), progress,
		bundle.WithVoucher(func(m *bundle.Manifest, sums []byte) error { return s.vouch(ctx, path, m, sums) }),
		bundle.WithExpected("", source.Arch),
		bundle.WithBases(bundle.Beside(path)...)) // the base of a delta bundle may be staged, or lie beside it
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staged = append(s.staged, b)
	return b, nil
}

// Check implements operation.BundleSession.
func (s *Session) Check(ctx context.Context, bundles []config.BundleSource) error {
	c, err := s.checker()
	if err != nil {
		return err
	}
	knew := c.Learned()
	if err := s.checkAll(ctx, bundles); err != nil || c.Learned() == knew {
		return err
	}
	return s.checkAll(ctx, bundles) // a yes to a later one is a no to those before that nobody signed
}

func (s *Session) checkAll(ctx context.Context, bundles []config.BundleSource) error {
	for _, source := range bundles {
		path := s.path(source)
		a, err := bundle.Open(path)
		if err != nil {
			continue // preflight reports it
		}
		if err := s.vouch(ctx, path, a.Manifest(), a.Sums()); err != nil {
			return err
		}
	}
	return nil
}

// Checked implements operation.BundleSession.
func (s *Session) Checked() []event.Msg {
	s.mu.Lock()
	c := s.check
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	var out []event.Msg
	for _, f := range c.All() {
		out = append(out, f.Msg())
	}
	return out
}

// Prune implements operation.BundleSession.
func (s *Session) Prune(
	_ context.Context, files operation.Files, inUse func() ([]string, error),
) ([]bundle.Pruned, error) {
	if ids := s.ids(); len(ids) > 0 {
		if err := files.KeepStages(ids); err != nil {
			return nil, err
		}
	}
	used, err := inUse()
	if err != nil {
		return nil, err
	}
	return bundle.Prune(Dir(s.root), used)
}

// Release implements operation.BundleSession.
func (s *Session) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.staged {
		b.Release()
	}
}

// ids are the stages that the session used.
func (s *Session) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, b := range s.staged {
		out = append(out, b.ID())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *Session) path(b config.BundleSource) string {
	if filepath.IsAbs(b.Path) {
		return b.Path
	}
	return filepath.Join(s.use.Beside, b.Path)
}

// vouch is what a bundle's head is held against before anything of it is unpacked. What is found out is told once.
func (s *Session) vouch(ctx context.Context, file string, m *bundle.Manifest, sums []byte) error {
	c, err := s.checker()
	if err != nil {
		return err
	}
	found, fresh, err := c.Check(ctx, file, m, sums)
	if err != nil || !fresh {
		return err
	}
	if err := s.use.Emit(event.Notice{Text: found.Msg()}); err != nil {
		return err
	}
	if f := found.Warning(); f != nil {
		return s.use.Emit(event.Finding{Severity: event.Warning, Fault: *f})
	}
	return nil
}

func (s *Session) checker() (*trust.Checks, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.check == nil {
		c, err := trust.NewChecks(s.root, s.use.Trust.Signers, s.use.Trust.AllowUnsigned, s.askSigner)
		if err != nil {
			return nil, err
		}
		if s.use.SignedOnly {
			c.SignedOnly()
		}
		s.check = c
	}
	return s.check, nil
}

// askSigner asks about a key that nobody has said anything about, and remembers one that is trusted.
func (s *Session) askSigner(ctx context.Context, q trust.Question) (yes, asked bool, err error) {
	yes, err = ask.Trusts(ctx, s.use.Asker, ask.Signer{
		Bundle: filepath.Base(q.File), Name: q.Manifest.Name, Arch: q.Manifest.Arch,
		Type: q.Signer.KeyType, Fingerprint: q.Signer.Fingerprint,
	})
	if errors.Is(err, ask.ErrNobody) {
		return false, false, nil
	}
	if err != nil || !yes {
		return false, true, err
	}
	line, err := q.Signer.AllowedLine(trust.Unnamed(q.Signer))
	if err == nil {
		remark := fmt.Sprintf("# trusted on %s for %s", time.Now().Format(time.DateOnly), q.Manifest.Name)
		_, err = trust.In(s.root).Add([]string{remark, line})
	}
	return true, true, err
}
