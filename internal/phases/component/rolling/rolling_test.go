package rolling_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A component is restarted on one node at a time; another component does not wait for it.
func TestOneNodeAtATime(t *testing.T) {
	r := rolling.New()
	var wg sync.WaitGroup
	var mu sync.Mutex
	at, most := 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		at += by
		most = max(most, at)
	}
	for _, host := range []string{"m1", "m2", "m3", "m4"} {
		wg.Go(func() {
			if err := r.Restart(t.Context(), "etcd", host, func(ctx context.Context) error {
				count(1)
				defer count(-1)
				return r.Restart(ctx, "kubelet", host, func(context.Context) error { return nil })
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d nodes at a time", most)
	}
}

// A node that did not come back stops the others, until it is well again; it may try itself.
func TestANodeThatIsNotWellStopsTheOthers(t *testing.T) {
	r := rolling.New()
	broken := errors.New("it does not answer")
	restart := func(host string, err error) error {
		return r.Restart(t.Context(), "etcd", host, func(context.Context) error { return err })
	}
	if err := restart("m1", broken); !errors.Is(err, broken) || !r.LastRestartFailed("etcd", "m1") {
		t.Error(err)
	}
	f := event.AsFault(restart("m2", nil))
	if f == nil || f.Code != "rolling.stopped" || f.Node != "m2" || f.Args["other"] != "m1" {
		t.Errorf("the next node: %+v", f)
	}
	if r.LastRestartFailed("etcd", "m2") || r.LastRestartFailed("kubelet", "m1") {
		t.Error("what was not tried did not end well")
	}
	if err := errors.Join(restart("m1", nil), restart("m2", nil)); err != nil || r.LastRestartFailed("etcd", "m1") {
		t.Error(err)
	}
}

func TestWhoIsStoppedDoesNotWaitForATurn(t *testing.T) {
	r := rolling.New()
	ctx, stop := context.WithCancel(t.Context())
	err := r.Restart(t.Context(), "etcd", "m1", func(context.Context) error {
		stop()
		return r.Restart(ctx, "etcd", "m2", func(context.Context) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
