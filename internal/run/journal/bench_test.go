package journal

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// BenchmarkStepEnded is how many outcomes a second many steps can journal, each synced before it returns.
func BenchmarkStepEnded(b *testing.B) {
	c, err := Open(b.TempDir(), "c")
	if err != nil {
		b.Fatal(err)
	}
	w, err := c.NewRun("deploy", time.Now())
	if err != nil {
		b.Fatal(err)
	}
	bus := event.NewBus(nil, w)
	b.SetParallelism(25) // times GOMAXPROCS
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := bus.Emit(event.StepEnded{Step: "infra.upload/worker-1", Outcome: event.Changed,
				Took: time.Second}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
