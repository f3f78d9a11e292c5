package lines

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// preview prints what an installation creates: the groups of nodes, then what is known of the cluster.
func (w *wizard) preview(ctx context.Context) {
	w.g.Check()
	var past []draft.Past
	if !w.g.Joins() {
		past = w.svc.Past(ctx)
	}
	s := w.g.Preview(w.p, nil, false, past)
	for _, l := range s.Lines(w.p, w.g.Joins()) {
		w.print(event.Clean(l))
	}
}
