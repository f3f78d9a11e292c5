package main

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
)

func TestHowManyNodesAreDialledAtOnce(t *testing.T) {
	for _, c := range []struct{ files, nodes, bastions, want int }{
		{1024, 3, 0, 478}, {1024, 60, 0, 450}, {4096, 1000, 0, 1516}, {1100, 1000, 0, 18}, {1066, 1000, 0, 1}, {1065, 1000, 0, 0}, {256, 1000, 1, 95}, {66, 1, 1, 0}, {66, 0, 0, 1},
	} {
		got, err := dialsAtOnce(c.files, c.nodes, c.bastions)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
		if f := event.AsFault(err); f != nil && (f.Code != "preflight.descriptors" || f.Args["need"] == "" || f.Class != event.ClassPreflight) {
			t.Errorf("%+v", f)
		}
	}
	if openFiles() < 256 {
		t.Error("the limit of this process:", openFiles())
	}
}
