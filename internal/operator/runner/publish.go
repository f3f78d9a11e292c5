package runner

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// FieldManager owns what a run writes.
const FieldManager = "eggops-run"

const (
	// publishPause is the least time between two writes of a status, but for changes of a phase.
	publishPause = 2 * time.Second
	// retryPause and retryMost bound the tries of a request to an API server that is away.
	retryPause = 2 * time.Second
	retryMost  = 60
)

// publisher writes a board to the status of an Operation.
type publisher struct {
	client client.Client
	key    client.ObjectKey
	board  *board
	stop   chan struct{} // closed when the board has ended
	over   chan struct{} // closed when nothing is written any more
	last   *v1.OperationStatus
}

// publish begins to write the board, until finish is called. A write that fails is repeated with what the board has
// then.
func publish(ctx context.Context, c client.Client, key client.ObjectKey, b *board) *publisher {
	p := &publisher{client: c, key: key, board: b, stop: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(p.over)
		p.loop(ctx)
	}()
	return p
}

func (p *publisher) loop(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-p.board.urgent:
		case <-p.board.woken:
			select {
			case <-p.stop:
				return
			case <-p.board.urgent:
			case <-pause.C:
			}
		}
		if p.write(ctx) != nil {
			signal(p.board.woken)
		}
		pause.Reset(publishPause)
	}
}

// finish writes what the board has at its end.
func (p *publisher) finish(ctx context.Context) {
	close(p.stop)
	<-p.over
	// The exit code of the process remains, if it cannot be written.
	_ = retry(context.WithoutCancel(ctx), func() error { return p.write(context.WithoutCancel(ctx)) })
}

// write writes the status if it has changed. Only fields that a run sets are in it: others are the operator's.
func (p *publisher) write(ctx context.Context) error {
	st := p.board.status()
	if equality.Semantic.DeepEqual(st, p.last) {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(st)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	o.SetGroupVersionKind(v1.GroupVersion().WithKind("Operation"))
	o.SetNamespace(p.key.Namespace)
	o.SetName(p.key.Name)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err = p.client.Status().Patch(ctx, o, client.Apply, client.FieldOwner(FieldManager), client.ForceOwnership)
	if err == nil {
		p.last = st
	}
	return err
}

// retry calls do until it succeeds, cannot succeed, or was tried for two minutes.
func retry(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == retryMost || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) ||
			apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err
		}
		t := time.NewTimer(retryPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}
