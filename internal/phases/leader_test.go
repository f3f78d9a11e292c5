package phases_test

import (
	"os"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// restarts are the nodes whose etcd a deploy restarts, in order, and who led when each was.
func restarts(t *testing.T, l *phasestest.Lab) (order, led []string, b *book, sum engine.Summary, err error) {
	t.Helper()
	b = &book{}
	emit := func(e event.Event) error {
		if c, ok := e.(event.Change); ok && c.Desc.Key == "change.start" && c.Desc.Args["unit"] == "etcd.service" {
			b.mu.Lock()
			order, led = append(order, c.Host), append(led, l.Etcd.Leader())
			b.mu.Unlock()
		}
		return b.emit(e)
	}
	o := quick(b)
	o.Emit = emit
	sum, err = engine.Run(t.Context(), phases.Deploy(l.Env(emit)), o)
	return order, led, b, sum, err
}

// Members are restarted one at a time, the one that leads last, and when it is another one leads.
func TestTheLeaderOfEtcdIsRestartedLast(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 1, Etcds: 3})
	leader := l.Etcd.Leader()
	must(t, l.Rebuild("again"))
	order, led, b, sum, err := restarts(t, l)
	if err != nil || len(order) != 3 || order[2] != leader || slices.Contains(b.notices(), "notice.etcd-leader") {
		t.Fatalf("%v %+v: %v leads, restarted %v, told %v", err, sum.Failed, leader, order, b.notices())
	}
	for i := range order {
		if order[i] == led[i] {
			t.Errorf("%s was restarted while it led", order[i])
		}
	}
	if order, _, _, _, err = restarts(t, l); err != nil || len(order) > 0 {
		t.Errorf("again: %v %v", err, order)
	}
}

// When a follower does not come up, the leader stays as it is.
func TestTheLeaderOfEtcdStaysWhenAFollowerFails(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 1, Etcds: 3})
	leader := l.Etcd.Leader()
	i := slices.IndexFunc([]string{"e1", "e2", "e3"}, func(n string) bool { return n != leader })
	follower := []string{"e1", "e2", "e3"}[i]
	must(t, l.Rebuild("again"), os.WriteFile(l.Nodes[follower].State("broken/etcd.service"), nil, 0o600))
	order, _, b, sum, err := restarts(t, l)
	if err == nil || slices.Contains(order, leader) || !slices.ContainsFunc(of[event.StepEnded](b),
		func(e event.StepEnded) bool { return e.Step == "etcd.leader" && e.Outcome == event.Blocked }) {
		t.Errorf("%v %+v: restarted %v", err, sum.Failed, order)
	}
	must(t, os.Remove(l.Nodes[follower].State("broken/etcd.service")))
	if order, _, _, sum, err = restarts(t, l); err != nil || order[len(order)-1] == l.Etcd.Leader() {
		t.Errorf("%v %+v: restarted %v", err, sum.Failed, order)
	}
}

// A leader that cannot give its office away is restarted all the same, and that is told.
func TestALeaderOfEtcdThatKeepsItsOffice(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, phasestest.Shape{Masters: 1, Etcds: 3})
	leader := l.Etcd.Leader()
	l.Etcd.Stay()
	must(t, l.Rebuild("again"))
	order, _, b, sum, err := restarts(t, l)
	if err != nil || len(order) != 3 || order[2] != leader || !slices.Contains(b.notices(), "notice.etcd-leader") {
		t.Errorf("%v %+v: restarted %v, told %v", err, sum.Failed, order, b.notices())
	}
}
