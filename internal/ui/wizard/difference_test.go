package wizard

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// Undo and redo name what they changed.
func TestUndoNamesWhatItUndid(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 120, 40)
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "prod")
	threeNodes(t, a)
	uitest.Keys(t, a, "ctrl+_")
	uitest.Has(t, a, "undone: node-1, node-2 and 1 more")
	uitest.Keys(t, a, "ctrl+r")
	uitest.Has(t, a, "redone: node-1, node-2 and 1 more")
	uitest.Keys(t, a, "g", "d", "ctrl+_")
	uitest.Has(t, a, "undone: node-1")
	uitest.Keys(t, a, "ctrl+_", "ctrl+_")
	uitest.Has(t, a, "undone: Cluster name")
}
