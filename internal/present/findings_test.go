package present

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

func archs(n int) []event.Finding {
	var out []event.Finding
	for i := range n {
		host := fmt.Sprintf("node-%d", i+1)
		out = append(out, event.Finding{Host: host, Severity: event.Error,
			Fault: *event.NewFault(event.ClassPreflight, "preflight.arch", nil, "is", "arm64", "says",
				"amd64").On(host)})
	}
	return out
}

// The verbs tell what is wrong on sixty nodes once, with the nodes beneath.
func TestFindingsAreToldByCause(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		said := Findings(i18n.NewPrinter(lang), archs(60)).Text()
		if n := strings.Count(said, "preflight.arch"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, said)
		}
		if !strings.Contains(said, "60") || !strings.Contains(said, "node-[1-60]") {
			t.Error(said)
		}
	}
}
