package binary

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// unitHost is a node whose unit is in a state, and was started by us or not; it fails when it is asked for more.
type unitHost struct {
	node.Host
	state   string
	applied bool
}

func (unitHost) Name() string { return "n1" }

func (h unitHost) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	if !strings.Contains(c.Script, "is-active") {
		return shell.Result{}, event.NewFault(event.ClassFailed, "ssh.lost", errors.New("gone"))
	}
	sum := ""
	if h.applied && strings.Contains(c.Script, "applied/") {
		sum = "0123"
	}
	var out strings.Builder
	for state := range strings.SplitSeq(h.state, "\n") {
		fmt.Fprintf(&out, "state=%s enabled=enabled applied=%s\n", state, sum)
	}
	return shell.Result{Stdout: []byte(out.String())}, nil
}

// TestAFirstStartWaitsForNoOtherNode: a unit that starts for the first time, as after an install that was interrupted,
// need not wait for the other nodes; one of ours that is being restarted must.
func TestAFirstStartWaitsForNoOtherNode(t *testing.T) {
	emit := func(event.Event) error { return nil }
	for _, c := range []struct {
		state   string
		applied bool
		want    bool
	}{
		{"active", false, true}, {"active", true, true}, {"deactivating", false, true}, {"reloading", true, true},
		{"activating", true, true}, {"activating", false, false}, {"inactive", true, false}, {"failed", true, false},
	} {
		nd := node.New(unitHost{state: c.state, applied: c.applied}, emit)
		if got, err := running(t.Context(), nd, "kubelet.service"); err != nil || got != c.want {
			t.Errorf("%s, applied %v: %v %v", c.state, c.applied, got, err)
		}
	}
	nd := node.New(unitHost{state: "activating", applied: true}, emit)
	if got, err := running(t.Context(), nd, "etcd.service"); err != nil || got {
		t.Error("an etcd that starts waits for the others, which would wait for it", err)
	}
}

// TestWhatRunsAndWhatStandsStill: a unit that failed or is being started does neither, for systemd may start it again.
func TestWhatRunsAndWhatStandsStill(t *testing.T) {
	r := &Binary{}
	for state, want := range map[string][2]bool{"active": {true, false}, "inactive": {false, true},
		"activating": {}, "failed": {}, "deactivating": {}, "active\ninactive": {}} {
		nd := node.New(unitHost{state: state}, nil)
		cs := make([]driver.Component, 1+strings.Count(state, "\n"))
		runs, err := r.Runs(t.Context(), nd, cs...)
		still, err2 := r.Stopped(t.Context(), nd, cs...)
		if err != nil || err2 != nil || runs != want[0] || still != want[1] {
			t.Errorf("%q: runs %v, stands still %v; %v %v", state, runs, still, err, err2)
		}
	}
}
