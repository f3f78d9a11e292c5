package host

import (
	"context"
	"sync"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// asker asks a front end one question at a time, and each secret once. It counts the logins, which show whether the
// answers are right.
type asker struct {
	ask.Asker
	memory *ask.Memory

	mu              sync.Mutex
	opened, refused int // nodes that the answers led to, and those that did not take them
}

// asking returns an asker that has the answers that were given about a cluster before.
func (h *Host) asking(front ask.Asker, cluster string) *asker {
	m := ask.Remember(ask.NewQueue(front), h.answered(cluster))
	return &asker{Asker: ask.WithStored(m, h.Getenv), memory: m}
}

// Ask implements ask.Asker.
func (a *asker) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	if l, is := q.(ask.LoggedIn); is {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case l.Err == nil:
			a.opened++
		case event.AsFault(l.Err).Class == event.ClassAuth:
			a.refused++
		}
		return ask.Answer{}, nil
	}
	return a.Asker.Ask(ctx, q)
}
