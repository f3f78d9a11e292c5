package manager_test

import (
	"testing"
	"testing/synctest"
	"time"

	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// A start of the server is no change of a cluster: it is what it is since the same time, and its history has no more. A
// cluster whose API server does not answer after the start is Connecting since then.
func TestSinceOutlivesTheServer(t *testing.T) {
	story(t, func(t *testing.T, b *bench) {
		since := func() time.Time { v, _ := b.Cluster("one"); return v.Since }
		history := func(want ...state.State) {
			t.Helper()
			list, err := b.Health(t.Context(), "one", 0, 100)
			if err != nil || len(list) != len(want) {
				t.Fatal(list, err)
			}
			for i, h := range list {
				if h.State != want[i] {
					t.Error(list)
				}
			}
		}
		again := func(want state.State) {
			t.Helper()
			was := since()
			for range 2 {
				time.Sleep(time.Hour)
				b.restart()
				b.is("one", want)
				if got := since(); !got.Equal(was) {
					t.Errorf("%s since %s, want %s", want, got, was)
				}
			}
		}
		if _, err := b.Create(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		b.is("one", state.Creating)
		again(state.Creating)
		b.world.Newest("one").Finish(broken())
		b.is("one", state.Unavailable)
		again(state.Unavailable)
		if _, err := b.Continue(t.Context(), "one", Request{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.world.Newest("one").Finish(nil)
		b.is("one", state.Running)
		again(state.Running)
		history(state.Running, state.Creating, state.Unavailable, state.Creating)
		b.world.Down("one", broken())
		was := since()
		b.restart()
		b.is("one", state.Connecting)
		if !since().After(was) {
			t.Error(since())
		}
		again(state.Connecting)
		time.Sleep(time.Minute)
		b.world.Down("one", nil)
		time.Sleep(connectTime)
		b.is("one", state.Running)
		if v := since(); time.Since(v) > connectTime {
			t.Error(v)
		}
		history(state.Running, state.Connecting, state.Running, state.Creating, state.Unavailable, state.Creating)
	})
}

// connectTime is more than an API server is not asked for.
const connectTime = 15 * time.Second
