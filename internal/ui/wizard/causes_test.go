package wizard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// sixty are machines whose preflight has found 120 things of three causes; the first is fixed by the wizard.
func sixty(w *world) func(context.Context, config.Draft, string, func(draft.Check)) {
	return func(_ context.Context, d config.Draft, _ string, tell func(draft.Check)) {
		for _, m := range d.Machines {
			tell(draft.Check{Linked: m.Name})
		}
		find := func(m config.Machine, sev event.Severity, code string, kv ...string) {
			tell(draft.Check{Finding: &event.Finding{Host: m.Name, Severity: sev,
				Fault: *event.NewFault(event.ClassPreflight, code, nil, kv...).On(m.Name)}})
		}
		for i, m := range d.Machines {
			if w.slow && i == 17 {
				return
			}
			tell(draft.Check{Machine: m.Name})
			if m.Arch != "arm64" {
				find(m, event.Error, "preflight.arch", "is", "arm64", "says", "amd64")
			}
			if i < 59 {
				find(m, event.Warning, "preflight.cpus", "is", fmt.Sprint(i), "least", "200")
			}
			if i == 40 {
				find(m, event.Error, "preflight.disk", "path", "/var/lib/containerd", "device", "/dev/vda1", "need",
					"4096 MiB", "free", "1210 MiB")
			}
		}
		tell(draft.Check{End: true})
	}
}

// What is found on sixty machines is told by cause, with the machines beneath and where one is; what the wizard can fix
// is fixed on all at once, and a counter moves with each machine.
func TestFindingsOfSixtyMachines(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		a, p, w := open(t, i18n.English, false, size[0], size[1])
		p.svc.DraftServices.(*uitest.Draft).OnPreflight = sixty(w)
		w.slow = true
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Type(t, a, "192.168.1.[101-160]")
		uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
		uitest.Has(t, a, "17 of 60 machines checked, 60 connected")
		w.slow = false
		uitest.Keys(t, a, "r")
		uitest.Has(t, a, "61 errors block the installation", "59 warnings", "cause 1 of 3",
			"60 machines, for example: node-1 is arm64", "node-[1-60]", "on all 60 machines")
		if n := strings.Count(uitest.Screen(a), "is arm64"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, uitest.Screen(a))
		}
		uitest.Keys(t, a, "down")
		uitest.Has(t, a, "cause 2 of 3", "node-41")
		uitest.Keys(t, a, "up", "space")
		uitest.Has(t, a, "node-2 is arm64", "more lines below")
		uitest.Keys(t, a, "pgdown", "pgdown", "end")
		uitest.Has(t, a, "cause 3 of 3")
		uitest.Keys(t, a, "home", "space", "enter")
		for _, m := range p.g.Draft.Machines {
			if m.Arch != "arm64" {
				t.Fatalf("%s is %q", m.Name, m.Arch)
			}
		}
		uitest.Fills(t, a, size[0], size[1])
	}
}

// The machines of a cause are left out together, and one by one.
func TestTheMachinesOfACauseAreLeftOut(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 120, 40)
	p.svc.DraftServices.(*uitest.Draft).OnPreflight = sixty(w)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.1.[101-160]")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "space", "down", "down", "x")
	if n := len(p.g.Draft.Machines); n != 59 {
		t.Errorf("%d machines", n)
	}
	uitest.Keys(t, a, "u")
	if n := len(p.g.Draft.Machines); n != 60 {
		t.Errorf("%d machines after undo", n)
	}
}

// What is wrong with the settings is read to its end on the page of the preflight, also on a small terminal.
func TestInvalidSettingsAreReadToTheirEnd(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 80, 24)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[10-11]")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "enter")
	uitest.Has(t, a, "1 invalid setting", "has the architecture arm64", "is specified.")
}
