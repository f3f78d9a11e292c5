package report_test

import (
	"fmt"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What is wrong in the same way on sixty nodes is one cause, whatever was measured on each; nothing is lost.
func TestCauses(t *testing.T) {
	var list []event.Finding
	for i := range 60 {
		host := fmt.Sprintf("node-%d", i+1)
		add := func(sev event.Severity, code string, kv ...string) {
			list = append(list, event.Finding{Host: host, Severity: sev,
				Fault: *event.NewFault(event.ClassPreflight, code, nil, kv...).On(host)})
		}
		add(event.Warning, "preflight.cpus", "is", "1", "least", "2")
		add(event.Error, "preflight.disk", "path", "/var/lib/containerd", "need", "4096 MiB", "free",
			fmt.Sprint(1000+i))
		if i > 0 {
			add(event.Warning, "preflight.machine-id", "other", fmt.Sprintf("node-%d", i))
		}
		if i%10 == 0 {
			add(event.Error, "preflight.port", "port", "6443")
			add(event.Error, "preflight.port", "port", "2379")
		}
	}
	list = append(list, event.Finding{Severity: event.Error,
		Fault: *event.NewFault(event.ClassBundle, "bundle.no-addon", nil, "addon", "x")})
	got := report.Causes(list)
	total := 0
	for _, c := range got {
		total += len(c.Findings)
	}
	if total != len(list) || len(got) != 6 {
		t.Fatalf("%d findings in %d causes, of %d", total, len(got), len(list))
	}
	if c := got[0]; c.Findings[0].Fault.Code != "preflight.disk" || len(c.Hosts()) != 60 {
		t.Errorf("first: %s on %d", c.Findings[0].Fault.Code, len(c.Hosts()))
	}
	if c := got[4]; c.Severity != event.Warning || len(c.Hosts()) != 60 {
		t.Errorf("last: %s on %d", c.Findings[0].Fault.Code, len(c.Hosts()))
	}
}
