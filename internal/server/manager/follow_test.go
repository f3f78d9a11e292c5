package manager_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/eggo-k8s/eggo/internal/run/event"
	. "github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/testkit/managertest"
)

// Each operation is told when it begins, and when it has ended, with who asked for it and how it ended.
func TestOperationsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		w := &managertest.World{}
		m, err := New(t.Context(), Options{Store: &managertest.Memory{}, Runner: w, Clock: managertest.Clock{},
			Follow: func(cluster string, o Operation, how *Outcome) {
				mu.Lock()
				defer mu.Unlock()
				line := cluster + " " + string(o.Kind) + " " + o.By
				if how != nil {
					line += " ended"
					if how.Fault != nil {
						line += " " + how.Fault.Code
					}
				}
				told = append(told, line)
			}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.Create(t.Context(), "one", Request{By: "ann"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.Newest("one").Finish(nil)
		synctest.Wait()
		if _, err := m.Begin(t.Context(), "one", Delete, Request{By: "otto"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"one create ann", "one create ann ended", "one delete otto",
			"one delete otto ended run.failed"}; !slices.Equal(told, want) {
			t.Errorf("%q", told)
		}
	})
}
