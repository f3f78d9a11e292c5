package dial

import (
	"context"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestHowManyNodesAreDialledAtOnce(t *testing.T) {
	for _, c := range []struct{ files, nodes, bastions, want int }{
		{1024, 3, 0, 478}, {1024, 60, 0, 450}, {4096, 1000, 0, 1516}, {1100, 1000, 0, 18},
		{1066, 1000, 0, 1}, {1065, 1000, 0, 0}, {256, 1000, 1, 95}, {66, 1, 1, 0}, {66, 0, 0, 1},
	} {
		got, err := dialsAtOnce(c.files, c.nodes, c.bastions)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
		f := event.AsFault(err)
		if f != nil && (f.Code != "preflight.descriptors" || f.Args["need"] == "" || f.Class != event.ClassPreflight) {
			t.Errorf("%+v", f)
		}
	}
	if openFiles() < 256 {
		t.Error("the limit of this process:", openFiles())
	}
}

// The descriptors are the process's: what one run has another cannot have, and a place that is given back is taken by
// who waits for it.
func TestDescriptorsAreSharedByAllRuns(t *testing.T) {
	d := New(Options{})
	d.files = func() int { return ownFiles + 10 + dialFiles }
	first, err := d.reserve(6, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.reserve(5, 0); event.AsFault(err) == nil || event.AsFault(err).Code != "preflight.descriptors" {
		t.Error("six and five connections of ten:", err)
	}
	second, err := d.reserve(4, 0)
	if err != nil {
		t.Fatal(err)
	}
	done, err := d.place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.place(ended); err == nil {
		t.Error("two dials where there is room for one")
	}
	next := make(chan error, 1)
	go func() {
		done, err := d.place(t.Context())
		if err == nil {
			done()
		}
		next <- err
	}()
	done()
	if err := <-next; err != nil {
		t.Error(err)
	}
	first()
	second()
	if d.reserved != 0 || d.dials != 0 {
		t.Errorf("%d descriptors and %d dials are left", d.reserved, d.dials)
	}
}
