package e2e

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// packedFor packs the default spec for another architecture.
func packedFor(t *testing.T, s *stand.Stand, arch string) string {
	t.Helper()
	w := workshopOn(t, s)
	path := w.spec(t, "other", func(map[string]any) {})
	spec, err := upstream.LoadSpec(path)
	must(t, "spec", err)
	must(t, "upstream for "+arch, upstream.Build(t.Context(),
		upstream.Options{Spec: spec, Arches: []string{arch}, Report: upstream.Printer(s.Out)}))
	return w.pack(t, path, arch) + "/other-" + arch + ".tar.gz"
}

// TestMixedCluster: a control plane of this machine's architecture, in a namespace, and a worker of arm64, a virtual
// machine with a kubelet of its own. Service and DNS work across both, an image of one architecture is named by a
// message; the worker leaves.
func TestMixedCluster(t *testing.T) {
	full(t)
	if runtime.GOARCH == "arm64" {
		t.Skip("needs a machine of amd64 for the control plane; make e2e-full runs it there")
	}
	s := newLabOf(t, 2, func(l *lab.Lab) { l.OfVM("arm64", "n2") })
	ctx := t.Context()
	s.Say("n2 takes %g times as long as this machine", s.Lab.Slowness("n2"))
	other := packedFor(t, s, "arm64")
	all, err := s.Deploy("all.yaml", "mixed", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(all, "deploy.yaml", "  type: tar.gz\n", "  type: tar.gz\n  armsrc: "+other+"\n")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 2)
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	out, err := s.Kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.architecture}")
	must(t, "nodes", err)
	if strings.TrimSpace(out) != "amd64 arm64" {
		t.Errorf("the nodes are of %s", out)
	}
	s.Say("== another deploy changes nothing")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "mixed")
	s.Say("== the worker leaves")
	try(t, s, 0, "delete", "--id", "mixed", "n2", "--yes")
	must(t, "nodes", stand.Until(ctx, time.Minute, "one node", func(ctx context.Context) error {
		out, err := s.Kubectl(ctx, "get", "nodes", "-o", "name")
		if err == nil && strings.TrimSpace(out) != "node/n1" {
			err = fmt.Errorf("nodes: %s", out)
		}
		return err
	}))
	try(t, s, 0, "cleanup", "--id", "mixed", "--yes", "--purge")
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// TestOwnKernelOfARM64 is a single machine of arm64, its control plane too, with a kernel of its own.
func TestOwnKernelOfARM64(t *testing.T) {
	full(t)
	if runtime.GOARCH == "arm64" {
		t.Skip("TestOwnKernel is the same scenario on a machine of arm64; make e2e-full runs it")
	}
	s := newLabOf(t, 1, func(l *lab.Lab) { l.OfVM("arm64", "n1") })
	s.Say("n1 takes %g times as long as this machine", s.Lab.Slowness("n1"))
	other := packedFor(t, s, "arm64")
	base, err := s.Deploy("base.yaml", "ownarm", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	file, err := s.Vary(alone(t, s, base), "deploy.yaml", "  x86src: "+s.Bundle+"\n", "  armsrc: "+other+"\n")
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 1)
	ownLife(t, s, file, "ownarm", ofContainerd, "SystemdCgroup = true", func() {
		must(t, "reboot", s.Lab.Reboot(t.Context(), "n1"))
		must(t, "use after the reboot", s.Works(t.Context(), 1))
	})
	sameWithin(t, s.Limit(20*time.Second), before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}
