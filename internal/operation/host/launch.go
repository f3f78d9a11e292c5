package host

import (
	"cmp"
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Launch begins a run in a process of its own. What it would ask for (passwords, passphrases, unknown host keys) is
// asked before, because later no user may be there.
func (h *Host) Launch(ctx context.Context, st backend.Start, front ask.Asker) (request.Ref, error) {
	none, of := request.Ref{}, st.Request.Base().Source
	if st.Soon {
		if err := h.after(ctx, of.Cluster, front); err != nil {
			return none, err
		}
	}
	screen := h.asking(front, of.Cluster)
	q := h.request(st)
	deps := h.Deps()
	deps.Asker, deps.Unattended = screen, false
	cluster := ""
	in, err := operation.Questions(ctx, q, deps, func(_ context.Context, s *operation.Scope) error {
		cluster = s.Cluster().Name
		return nil
	})
	if err != nil {
		h.remember(cmp.Or(cluster, of.Cluster, clusterIn(q.Base().Source.File)), nil)
		return none, err
	}
	h.remember(cluster, screen.memory.Secrets())
	in.Secrets, in.OnFailure = screen.memory.Secrets(), &request.OnFailure{Ask: true}
	ask.Tell(ctx, front, ask.Progress{What: event.M("launch.begin")})
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	// The signals stay the menu's: it ends, and the run continues.
	started, err := h.Launcher().Launch(q, in)
	if err != nil {
		return none, err
	}
	run, err := started.Started(context.Background())
	if err != nil {
		return none, err
	}
	started.Release()
	return run.Ref, nil
}

// clusterIn returns the name of the cluster of a deploy.yaml, "" if it has none.
func clusterIn(file string) string {
	if c, _, err := config.LoadFile(file); err == nil && c != nil {
		return c.Name
	}
	return ""
}

// request returns the request of a run that begins here.
func (h *Host) request(st backend.Start) request.Request {
	q := request.With(st.Request, h.located(st.Request.Base()))
	if !st.Again {
		return q
	}
	c := q.Base()
	was := operation.LastOptions(context.Background(), h.store(), c.Source.Cluster)
	if u, is := q.(request.Upgrade); is {
		q = u.Continue(was)
	}
	c = c.Continue(was)
	c.OnFailure = request.OnFailure{} // the board decides
	return request.With(q, c)
}

// soonMost bounds the wait for a run that is about to end: it closes its log after its last event, and then releases
// its lock.
const soonMost = 30 * time.Second

// after waits until the cluster's run has ended. If it does not end, the next run reports that its lock is held.
func (h *Host) after(ctx context.Context, cluster string, front ask.Asker) error {
	runs, err := journal.At(h.Root, cluster)
	if err != nil {
		return err
	}
	ask.Tell(ctx, front, ask.Progress{What: event.M("launch.soon")})
	for end := time.Now().Add(soonMost); runs.Busy() && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
