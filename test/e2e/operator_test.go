package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// demoCluster has one control plane and as many workers as there are machines of the pool with the label, at first one.
const demoCluster = `apiVersion: eggo.isula.org/v1
kind: Infrastructure
metadata: {name: lab, namespace: lab}
spec:
  bundles:
  - {version: VERSION, arch: amd64, claim: {name: bundles, path: eggo-amd64.tar.gz}}
---
apiVersion: eggo.isula.org/v1
kind: Cluster
metadata: {name: demo, namespace: lab}
spec:
  masterRequire: {number: 1, features: {role: control}}
  workerRequire: {number: 1, features: {role: worker}}
  infrastructure: {name: lab}
  version: VERSION
`

// TestOperator: a cluster that Eggo has installed installs another one on machines of its pool, lets a machine join and
// leave, and gives the machines back as they were.
func TestOperator(t *testing.T) {
	full(t)
	s := newLab(t, 4)
	m := newMeta(t, s)
	ctx := t.Context()
	pool := func() (out []lab.Snapshot) {
		for _, n := range []string{"n2", "n3", "n4"} {
			snap, err := s.Lab.Settled(ctx, n)
			must(t, "inventory", err)
			out = append(out, snap)
		}
		return out
	}
	before := pool()
	version, err := s.Kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.kubeletVersion}")
	must(t, "version", err)

	s.Say("== the objects come in any order: the cluster first")
	m.apply(strings.ReplaceAll(demoCluster, "VERSION", version))
	m.until("ec/demo", "MachinesBound", "False", time.Minute)
	m.apply(m.pool() + m.machine("n2", "control") + m.machine("n3", "worker") + m.machine("n4", "worker"))
	for _, n := range []string{"n2", "n3", "n4"} {
		m.until("em/"+n, "Reachable", "True", 3*time.Minute)
	}
	m.until("ec/demo", "Ready", "True", 15*time.Minute)
	out, err := m.of("demo", "get", "nodes", "--no-headers")
	must(t, "kubeconfig", err)
	if strings.Count(out, " Ready ") != 2 {
		t.Errorf("the nodes of the cluster:\n%s", out)
	}

	s.Say("== nothing is left to do: no further operation begins")
	operations := m.get("eop", "{.items[*].metadata.name}")
	_, err = s.Kubectl(ctx, "-n", "eggops-system", "rollout", "restart", "deployment/eggops-manager")
	must(t, "restart", err)
	_, err = s.Kubectl(ctx, "-n", "eggops-system", "rollout", "status", "deployment/eggops-manager", "--timeout=180s")
	must(t, "rollout", err)
	m.until("ec/demo", "Ready", "True", 2*time.Minute)
	if again := m.get("eop", "{.items[*].metadata.name}"); again != operations {
		t.Errorf("operations were %q, and are %q", operations, again)
	}

	s.Say("== one more worker, one less")
	scale := func(n string) {
		t.Helper()
		_, err := s.Kubectl(ctx, "-n", "lab", "patch", "ec/demo", "--type=merge", "-p",
			`{"spec":{"workerRequire":{"number":`+n+`,"features":{"role":"worker"}}}}`)
		must(t, "scale", err)
	}
	nodes := func(n int) {
		t.Helper()
		must(t, "nodes", stand.Until(ctx, s.Limit(10*time.Minute), "nodes", func(context.Context) error {
			out, err := m.of("demo", "get", "nodes", "--no-headers")
			if err == nil && (strings.Count(out, " Ready ") != n || strings.Count(out, "\n") != n) {
				err = errors.New(out)
			}
			return err
		}))
		m.until("ec/demo", "Ready", "True", 5*time.Minute)
	}
	scale("2")
	nodes(3)
	scale("1")
	nodes(2)

	s.Say("== deleted only when that is confirmed: the machines are as before, and free")
	if _, err := s.Kubectl(ctx, "-n", "lab", "delete", "ec/demo", "--wait=false"); err == nil ||
		!strings.Contains(err.Error(), "eggo.isula.org/confirm-deletion=demo") {
		t.Fatalf("the deletion was not refused with what to do: %v", err)
	}
	_, err = s.Kubectl(ctx, "-n", "lab", "annotate", "ec/demo", "eggo.isula.org/confirm-deletion=demo")
	must(t, "annotate", err)
	_, err = s.Kubectl(ctx, "-n", "lab", "delete", "ec/demo", "--timeout=600s")
	must(t, "delete", err)
	for _, n := range []string{"n2", "n3", "n4"} {
		m.until("em/"+n, "Ready", "True", 3*time.Minute)
		if c := m.get("em/"+n, "{.status.cluster}"); c != "" {
			t.Errorf("%s belongs to %s", n, c)
		}
	}
	sameWithin(t, 2*time.Minute, before, pool)
}
