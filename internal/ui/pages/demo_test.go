package pages

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// The demo stands in the menu, on a machine that knows no cluster too; the way back leads there.
func TestTheMenuHasADemo(t *testing.T) {
	a := begin(t, NewMenu((&world{}).deps()), i18n.English, false, 100, 30)
	uitest.Has(t, a, "Watch a demo")
	uitest.Keys(t, a, "d")
	uitest.Has(t, a, "Install rack-7", "recorded installation: press ? for keys")
	uitest.Keys(t, a, "esc")
	uitest.Has(t, a, "Watch a demo")
}
