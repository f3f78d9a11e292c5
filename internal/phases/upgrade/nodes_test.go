package upgrade

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What a turn publishes for all nodes is for its own node: when no turn needs it any more, what was there before is
// published again, whatever became of the turn. A pod that is made again on a node without the image would not start.
func TestWhatATurnPublishesIsForItsNode(t *testing.T) {
	var log []string
	var failed error
	e := &input.Env{Emit: func(e event.Event) error {
		if n, ok := e.(event.Notice); ok {
			log = append(log, n.Text.Key)
		}
		return nil
	}}
	k := &Kubelets{Clients: &clients.Clients{Env: e}, Before: func(ctx context.Context) error {
		log = append(log, "before")
		return errors.Join(failed, ctx.Err())
	}}
	turn := func(name string, within func() error) func(context.Context) error {
		return k.meanwhile(func(context.Context) error {
			log = append(log, name)
			return within()
		})
	}
	want := func(list ...string) {
		t.Helper()
		if !slices.Equal(log, list) {
			t.Errorf("%q, want %q", log, list)
		}
		log = nil
	}
	fine := func() error { return nil }
	if err := turn("w1", fine)(t.Context()); err != nil {
		t.Error(err)
	}
	want("w1", "before")
	// Of a batch the last one counts.
	if err := turn("w1", func() error { return turn("w2", fine)(t.Context()) })(t.Context()); err != nil {
		t.Error(err)
	}
	want("w1", "w2", "before")
	// A run that is aborted does it too.
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("it does not start")
	if err := turn("w1", func() error { cancel(); return broken })(ctx); !errors.Is(err, broken) {
		t.Error(err)
	}
	want("w1", "before")
	// What fails there is told, and the turn is done.
	failed = errors.New("connection refused")
	if err := turn("w1", fine)(t.Context()); err != nil {
		t.Error(err)
	}
	want("w1", "before", "notice.upgrade-published")
}
