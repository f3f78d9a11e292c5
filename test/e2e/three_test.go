package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// threeAndOne is three control planes with etcd on them, and a worker.
func threeAndOne() []stand.Node {
	return []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "mne"},
		{Name: "n4", Roles: "n"}}
}

// TestThreeControlPlanesRebootedAtOnce: a quorum that is lost in one moment finds itself again.
func TestThreeControlPlanesRebootedAtOnce(t *testing.T) {
	full(t)
	s := newLab(t, 4)
	file, err := s.Deploy("deploy.yaml", "reboot3", threeAndOne())
	must(t, "deploy.yaml", err)
	rebootedAtOnce(t, s, file, "reboot3", 4, 4)
}

// TestEtcdRestoreOfThreeMembers: all members get the data of one snapshot, and the old ones cannot join them.
func TestEtcdRestoreOfThreeMembers(t *testing.T) {
	full(t)
	s := newLab(t, 4)
	file, err := s.Deploy("deploy.yaml", "etcd3", threeAndOne())
	must(t, "deploy.yaml", err)
	deploy(t, s, file)
	snapshotAndRestore(t, s, file, "etcd3", []string{"n1", "n2", "n3"}, 4)
}

// TestFiveControlPlanes: five control planes with etcd on them, the load balancer on one of them; two, etcd's leader
// among them, lose their power in the same moment, and the API goes on answering.
func TestFiveControlPlanes(t *testing.T) {
	full(t)
	const cluster = "five"
	s := newLab(t, 5)
	ctx := t.Context()
	nodes := []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "me"},
		{Name: "n4", Roles: "mne"}, {Name: "n5", Roles: "mnel"}}
	file, err := s.Deploy("five.yaml", cluster, nodes)
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 5)
	deploy(t, s, file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 5))
	follows(t, s, nodes...)

	leads(t, s, "n1", "n2", "n3")
	s.Admin = "n5"
	api := callAPI(t, s, cluster, "n5")
	s.Say("== two of five lose their power")
	killed := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, n := range []string{"n1", "n2"} {
		wg.Go(func() { errs[i] = s.Lab.Kill(ctx, n) })
	}
	wg.Wait()
	must(t, "kill", errors.Join(errs...))
	says(t, s, cluster, 3, "n1: ", "n2: ")
	must(t, "two are given up", stand.Until(ctx, 2*time.Minute, "n1 and n2 are NotReady",
		func(ctx context.Context) error {
			out, err := s.Kubectl(ctx, "get", "nodes", "n1", "n2", "--no-headers")
			if err == nil && strings.Count(out, "NotReady") != 2 {
				err = fmt.Errorf("%s", out)
			}
			return err
		}))
	s.Say("== they come back")
	for _, n := range []string{"n1", "n2"} {
		must(t, "power on", s.Lab.Start(ctx, n))
	}
	must(t, "use", s.Works(ctx, 5))
	calls, failed := api.end(s)
	for _, f := range failed {
		// those that were with a machine whose power went, and those that waited for etcd's next leader
		if f.began.Before(killed.Add(-time.Second)) || f.began.After(killed.Add(10*time.Second)) {
			t.Errorf("a call of the API failed without a reason: %s", f)
		}
	}
	if calls < 60 {
		t.Errorf("the API was called %d times only", calls)
	}
	try(t, s, 0, "status", "--id", cluster)
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)
	try(t, s, 0, "cleanup", "--id", cluster, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 5) })
}
