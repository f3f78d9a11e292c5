package phases_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
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
	conf := leaveOut(t, l, "192.0.2.12")
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

// leaveOut has the load balancer's configuration leave out a server, as a run that was killed does, and returns its
// path.
func leaveOut(t *testing.T, l *phasestest.Lab, ip string) string {
	t.Helper()
	conf := l.Nodes["lb"].Path("/etc/eggo/nginx-lb.conf")
	var lines strings.Builder
	for line := range strings.Lines(readFile(t, conf)) {
		if strings.Contains(line, "server "+ip+":6443 ") {
			line = strings.Replace(line, ";", " down;", 1)
		}
		lines.WriteString(line)
	}
	put(t, conf, lines.String())
	return conf
}

// An upgrade that was killed when an API server had been started and not been put back: the next run does so in that
// server's turn, without a restart, and before it takes the next one out.
func TestAnUpgradeThatContinuesPutsAServerBackFirst(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 2, Balancer: true})
	o := hopsOf(t, l, "v1.34.4")
	begun := &book{}
	dies := quick(begun)
	dies.Emit = func(e event.Event) error {
		if s, is := e.(event.StepEnded); is && s.Step == "control-plane.turn/m1" {
			return errors.New("nothing is kept any more") // no step is begun after it
		}
		return begun.emit(e)
	}
	if _, err := engine.Run(t.Context(), phases.Upgrade(l.Env(dies.Emit), o), dies); err == nil {
		t.Fatal("it has come to its end")
	}
	leaveOut(t, l, "192.0.2.11")
	inTurns := func(b *book) []string {
		var out []string
		for _, c := range of[event.Change](b) {
			if strings.HasPrefix(c.Step, "control-plane.turn/") && (strings.HasPrefix(c.Desc.Key, "change.balancer") ||
				strings.Contains(c.Desc.Args["unit"], "kube-apiserver")) {
				out = append(out, c.Step[len("control-plane.turn/"):]+" "+strings.TrimPrefix(c.Desc.Key, "change.")+" "+
					c.Desc.Args["server"]+c.Desc.Args["unit"])
			}
		}
		return out
	}
	b, sum, err := upgraded(t, l, o)
	got := inTurns(b)
	if err != nil || len(got) < 2 || got[0] != "m1 balancer-up m1" || got[1] != "m2 balancer-down m2" {
		t.Errorf("%v %+v: %q", err, sum.Failed, got)
	}
}
