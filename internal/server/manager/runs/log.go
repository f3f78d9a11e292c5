package runs

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Log is the log of a run, which is read to its end by now, and later on.
type Log struct {
	*journal.Reader
	run    *operation.Handle
	detach context.CancelFunc
	done   func()
}

// Log opens the log of a run. It lasts until it is closed or ctx ends.
func (r *Runner) Log(ctx context.Context, cluster, run string) (*Log, error) {
	attached, detach := context.WithCancel(ctx)
	h, err := operation.Open(attached, r.store, request.Ref{Cluster: cluster, Run: run})
	if err != nil {
		detach()
		return nil, err
	}
	reader, done, err := journal.OpenReader(h.Run().Dir)
	if err != nil {
		detach()
		return nil, err
	}
	return &Log{reader, h, detach, done}, nil
}

// Alive says whether somebody writes the log.
func (l *Log) Alive() bool {
	select {
	case <-l.run.Done():
		return false
	default:
		return true
	}
}

// Close closes the log.
func (l *Log) Close() {
	l.detach()
	l.done()
}

// Usual is how long the steps of a run take, by what earlier runs took.
func (r *Runner) Usual(ctx context.Context, cluster, run string) state.History {
	return operation.Usual(ctx, r.store, request.Ref{Cluster: cluster, Run: run})
}
