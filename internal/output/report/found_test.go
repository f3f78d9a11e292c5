package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The summary of a run that preflight refused has what was found, by cause: the log has it far above.
func TestASummarySaysWhatPreflightFound(t *testing.T) {
	failed := event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "2")
	found := func(l *teller) {
		for _, node := range []string{"k8s-master-0", "k8s-worker-0"} {
			l.at(1, event.Finding{Host: node, Severity: event.Error, Fault: event.Fault{Code: "ssh.unreachable",
				Node: node, Args: map[string]string{"addr": "192.0.2.3"}, Cause: "no route to host"}})
		}
	}
	for name, story := range map[string]func(l *teller){
		"a step": func(l *teller) {
			l.at(1, event.StepStarted{Step: "pki", Try: 1})
			found(l)
			l.at(2, event.StepEnded{Step: "pki", Outcome: event.Failed, Fault: failed})
		},
		"no step": found,
	} {
		var out bytes.Buffer
		l := tell(NewPlain(&out, i18n.NewPrinter(i18n.English)))
		begin(l, "deploy")
		story(l)
		l.at(3, event.RunEnded{Outcome: event.Failed, Exit: 5, Fault: failed})
		_, sum, _ := strings.Cut(out.String(), "\nNodes\n")
		if strings.Count(sum, "no route to host") != 1 || !strings.Contains(sum, "2 machines") ||
			!strings.Contains(sum, "Check the address") || !strings.Contains(sum, "run the same command again") {
			t.Errorf("%s:\n%s", name, sum)
		}
	}
}
