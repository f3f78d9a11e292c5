package present

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
)

// The verbs tell what is wrong on sixty nodes once, with the nodes beneath.
func TestFindingsAreToldByCause(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		said := Findings(i18n.NewPrinter(lang), eventtest.Archs(60)).Text()
		if n := strings.Count(said, "preflight.arch"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, said)
		}
		if !strings.Contains(said, "60") || !strings.Contains(said, "node-[1-60]") {
			t.Error(said)
		}
	}
}
