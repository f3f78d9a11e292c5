package wizard

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// TestColourGoldens: the steps as each kind of terminal gets them.
func TestColourGoldens(t *testing.T) {
	for _, c := range uitest.Palettes() {
		t.Run(c.Name, func(t *testing.T) {
			a, p, _ := open(t, i18n.English, false, 120, 40)
			c.Begin(t, a)
			for i, s := range p.steps {
				if i > 0 {
					uitest.Keys(t, a, "ctrl+n")
				}
				if s.id() == "nodes" {
					uitest.Type(t, a, "192.168.1.[10-12]")
					uitest.Keys(t, a, "enter", "enter", "home", "down")
				}
				uitest.Fills(t, a, 120, 40)
				c.Golden(t, a, string(s.id()))
			}
		})
	}
}
