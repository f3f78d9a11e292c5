package phases_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Outside of the maintenance window not even a member of etcd is restarted, and a stop ends the wait at once.
func TestAnUpgradeWaitsForItsWindow(t *testing.T) {
	long(t)
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.4")
	now := time.Now()
	at := func(hours int) time.Duration { return time.Duration((now.Hour()+hours)%24) * time.Hour }
	o.Window = upgrade.Window{From: at(2), To: at(3)}
	b := &book{}
	opts := quick(b)
	stop := make(chan struct{})
	opts.Stop = stop
	emit, waits := opts.Emit, []string{}
	opts.Emit = func(e event.Event) error {
		if n, is := e.(event.Notice); is && n.Text.Key == "notice.upgrade-window" {
			if waits = append(waits, n.Step); len(waits) == 1 {
				close(stop)
			}
		}
		return emit(e)
	}
	_, err := engine.Run(t.Context(), phases.Upgrade(l.Env(opts.Emit), o), opts)
	f := event.AsFault(err)
	if f == nil || f.Class != event.ClassInterrupted || !slices.Equal(waits, []string{"etcd.window/m1"}) {
		t.Errorf("%v, %v", err, waits)
	}
	for what, is := range running(l) {
		if strings.TrimSpace(is) != "" {
			t.Errorf("%s runs %q", what, is)
		}
	}
}

// Of static pods a member of etcd has the kubelet before it: both are in the plan once, and one of them waits.
func TestAWindowOfStaticPods(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	o := hopsOf(t, l, "v1.34.4")
	o.Window = upgrade.Window{From: time.Hour, To: 2 * time.Hour}
	e := l.Env(quick(&book{}).Emit)
	c := *e.Cluster
	c.Eggo.Driver = config.DriverKubeadm
	e.Cluster = &c
	p := phases.Upgrade(e, o)
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	for _, s := range p.Steps {
		waits := slices.Contains(s.Needs, "etcd.window/m1")
		if s.ID == "etcd.kubelet/m1" && waits || s.ID == "etcd.start/m1" && !waits {
			t.Errorf("%s waits for %q", s.ID, s.Needs)
		}
	}
}
