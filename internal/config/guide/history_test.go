package guide

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// What is undone comes back by redo, until something else is changed.
func TestHistory(t *testing.T) {
	named := func(name string) config.Draft {
		d := config.Draft{}
		d.Set("cluster-id", name)
		return d
	}
	var h history
	h.keep(named("a"))
	if _, ok := h.undo(named("a")); ok {
		t.Error("nothing was changed, and something is undone")
	}
	h.changed(named("b"))
	d, ok := h.undo(named("c")) // typed, and not a step of its own yet
	if !ok || d.Value("cluster-id") != "b" {
		t.Error(d.Value("cluster-id"), ok)
	}
	if d, ok = h.undo(d); !ok || d.Value("cluster-id") != "a" {
		t.Error(d.Value("cluster-id"), ok)
	}
	if d, ok = h.redo(d); !ok || d.Value("cluster-id") != "b" {
		t.Error(d.Value("cluster-id"), ok)
	}
	h.changed(named("d"))
	if _, ok = h.redo(named("d")); ok {
		t.Error("what was undone came back over another change")
	}
	for i := range 2 * undoMost {
		h.changed(named(string(rune('a' + i%2))))
	}
	if len(h.past) != undoMost {
		t.Errorf("%d changes are held", len(h.past))
	}
}
