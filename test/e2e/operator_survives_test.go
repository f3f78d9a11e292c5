package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// step waits until the operation of the cluster has begun a step whose ID contains one of the words, and returns its
// name.
func (m *meta) step(words ...string) (operation string) {
	m.Helper()
	must(m.T, "step "+strings.Join(words, ", "), stand.Until(m.Context(), m.Limit(10*time.Minute), "a step",
		func(context.Context) error {
			now := m.get("ec/demo", "{.status.currentOperation.name} {.status.currentOperation.step}")
			name, step, _ := strings.Cut(now, " ")
			for _, w := range words {
				if strings.Contains(step, w) {
					operation = name
					return nil
				}
			}
			return errors.New(now)
		}))
	m.Say("%s is at %s", operation, strings.Join(words, ", "))
	return operation
}

// killRun kills the process of the run with SIGKILL.
func (m *meta) killRun() {
	m.Helper()
	out, err := m.Lab.Run(m.Context(), "n1", "pkill -KILL -f '^/eggops run ' && echo killed")
	must(m.T, "kill: "+out, err)
}

// attempt waits until the Job of an operation has made an attempt.
func (m *meta) attempt(operation string, n int) {
	m.Helper()
	must(m.T, "attempt", stand.Until(m.Context(), m.Limit(5*time.Minute), fmt.Sprintf("attempt %d", n),
		func(context.Context) error {
			if is := m.get("eop/"+operation, "{.status.attempts}"); is < fmt.Sprint(n) {
				return errors.New(is)
			}
			return nil
		}))
}

// TestOperatorSurvives: in the middle of a deploy, the run is killed, the operator is killed, and the API server of the
// meta cluster is away; in the middle of the deletion, the run is killed. The cluster becomes the same, no second run
// begins while the first one lives, and the machines are free and as before in the end.
func TestOperatorSurvives(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	m := newMeta(t, s)
	ctx := t.Context()
	pool := func() (out []lab.Snapshot) {
		for _, n := range []string{"n2", "n3"} {
			snap, err := s.Lab.Settled(ctx, n)
			must(t, "inventory", err)
			out = append(out, snap)
		}
		return out
	}
	before := pool()
	version, err := s.Kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.kubeletVersion}")
	must(t, "version", err)
	m.apply(m.pool() + m.machine("n2", "control") + m.machine("n3", "worker") + "---\n" +
		strings.ReplaceAll(demoCluster, "VERSION", version))

	s.Say("== the run is killed")
	first := m.step("infrastructure.")
	m.killRun()
	m.attempt(first, 2)

	s.Say("== the operator is killed")
	m.step("control-plane.", "bootstrap.")
	_, err = s.Kubectl(ctx, "-n", "eggops-system", "delete", "pod", "-l", "app.kubernetes.io/component=manager",
		"--grace-period=0", "--force")
	must(t, "kill of the operator", err)

	s.Say("== the API server of the meta cluster is away")
	_, err = s.Lab.Run(ctx, "n1", "systemctl stop kube-apiserver && sleep 60; systemctl start kube-apiserver")
	must(t, "API server", err)
	m.until("ec/demo", "Ready", "True", 15*time.Minute)
	if all := strings.Fields(m.get("eop", "{.items[*].metadata.name}")); len(all) != 1 || all[0] != first {
		t.Errorf("the operations are %v, the first one was %s", all, first)
	}
	out, err := m.of("demo", "get", "nodes", "--no-headers")
	must(t, "kubeconfig", err)
	if strings.Count(out, " Ready ") != 2 {
		t.Errorf("the nodes of the cluster:\n%s", out)
	}

	s.Say("== the run of the deletion is killed")
	_, err = s.Kubectl(ctx, "-n", "lab", "annotate", "ec/demo", "eggo.isula.org/confirm-deletion=demo")
	must(t, "annotate", err)
	_, err = s.Kubectl(ctx, "-n", "lab", "delete", "ec/demo", "--wait=false")
	must(t, "delete", err)
	m.step("clean.")
	m.killRun()
	_, err = s.Kubectl(ctx, "-n", "lab", "wait", "--for=delete", "ec/demo", "--timeout=600s")
	must(t, "deletion", err)
	for _, n := range []string{"n2", "n3"} {
		m.until("em/"+n, "Ready", "True", 3*time.Minute)
	}
	sameWithin(t, 2*time.Minute, before, pool)
}
