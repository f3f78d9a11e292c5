package remote

import (
	"sync"
	"sync/atomic"
)

// Shared is what the ways to the nodes of one run have in common. It is safe for concurrent use.
type Shared struct {
	limits Limits
	spent  atomic.Int64 // of Limits.Run

	mu   sync.Mutex
	lets string // the public key that let us in last

	files map[string]*knownFile // known_hosts files by path
}

// NewShared makes one for a run.
func NewShared(limits Limits) *Shared {
	limits.fill()
	return &Shared{limits: limits}
}

func (s *Shared) key() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lets
}

func (s *Shared) remember(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lets = key
}
