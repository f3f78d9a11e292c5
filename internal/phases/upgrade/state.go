package upgrade

import (
	"context"
	"sync"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

// State is the upgrade under way, kept in the cluster's directory whenever it changes.
type State struct {
	env *input.Env
	mu  sync.Mutex
	is  Begun
}

// NewState is that of an upgrade which is begun or continued.
func NewState(e *input.Env, is Begun) *State { return &State{env: e, is: is} }

// Is is the upgrade as it stands.
func (s *State) Is() Begun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// Change changes it, and keeps it before the work continues. A dry run keeps nothing.
func (s *State) Change(ctx context.Context, f func(*Begun)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.is
	f(&is)
	if s.env.Dry {
		return nil
	}
	var err error
	if is.Under() {
		err = is.Write(s.env.StateDir)
	} else {
		err = Forget(s.env.StateDir)
	}
	if err != nil {
		return err
	}
	s.is = is
	return s.env.Keep(ctx, input.KeptUpgrade)
}
