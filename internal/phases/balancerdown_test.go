package phases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

// TestAServerThatAKilledRunLeftOut is reported by status, named by a plan, and put back by the next run.
func TestAServerThatAKilledRunLeftOut(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
	drift := func() []event.Msg {
		t.Helper()
		s, err := phases.GatherStatus(t.Context(), l.Env((&book{}).emit))
		must(t, err)
		if s.Healthy != (len(s.Drift) == 0) {
			t.Errorf("healthy %v: %+v", s.Healthy, s.Drift)
		}
		return s.Drift
	}
	if d := drift(); len(d) > 0 {
		t.Errorf("%+v", d)
	}
	conf := l.Nodes["lb"].Path("/etc/eggo/nginx-lb.conf")
	var lines strings.Builder
	for line := range strings.Lines(readFile(t, conf)) {
		if strings.Contains(line, "server 192.0.2.12:6443 ") {
			line = strings.Replace(line, ";", " down;", 1)
		}
		lines.WriteString(line)
	}
	put(t, conf, lines.String())
	want := []event.Msg{event.M("drift.balancer-down", "node", "lb", "server", "m2")}
	if d := drift(); !cmp.Equal(d, want) {
		t.Errorf("%+v", d)
	}
	back := func(b *book) []string {
		var out []string
		for _, c := range of[event.Change](b) {
			out = append(out, c.Host+" "+c.Desc.Key+" "+c.Desc.Args["server"])
		}
		return out
	}
	b, _ := dryRun(t, l, phases.Deploy)
	if got := back(b); !slices.Equal(got, []string{"lb change.balancer-up m2"}) {
		t.Errorf("the plan: %q", got)
	}
	if got := back(deploy(t, l)); !slices.Equal(got, []string{"lb change.balancer-up m2"}) {
		t.Errorf("deploy: %q", got)
	}
	if d := drift(); len(d) > 0 || strings.Contains(readFile(t, conf), "down") {
		t.Errorf("%+v", d)
	}
}
