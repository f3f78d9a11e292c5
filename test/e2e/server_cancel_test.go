package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// started says whether a run has begun a step of a phase.
func started(run []event.Record, phase string) bool {
	for _, r := range run {
		if e, is := r.Event.(event.StepStarted); is && strings.HasPrefix(string(e.Step), phase+".") {
			return true
		}
	}
	return false
}

// canceledIn cancels the run that comes after as many others as there were, as soon as it has begun a phase, and wants
// nothing of it to be left on the nodes.
func (v *server) canceledIn(name, phase string, others int, nodes ...string) {
	v.t.Helper()
	v.Say("== canceled in the phase %s", phase)
	must(v.t, phase, stand.Until(v.t.Context(), 10*time.Minute, "the phase "+phase+" has begun",
		func(context.Context) error {
			runs, err := stand.Runs(v.State(), name)
			if err == nil && (len(runs) <= others || !started(runs[len(runs)-1], phase)) {
				err = fmt.Errorf("%d runs", len(runs))
			}
			return err
		}))
	v.call("POST", "/clusters/"+name+"/cancel", nil, http.StatusAccepted, nil)
	v.awaits(name, "Unavailable", 5*time.Minute)
	v.idle(nodes...)
}

// TestServerCancels: an installation that was begun by REST is canceled in each of its phases. Each time no process is
// left on a node, and it is continued, to a cluster that runs. The server then forgets the cluster, and imports it:
// from the state directory, and beside it by a kubeconfig alone.
func TestServerCancels(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	before := untouched(t, s, 3)
	v := atWork(t, s)
	v.findsStrays("n1")
	v.create("again", []any{v.node("n1", "controlplane", "etcd"), v.node("n2", "worker"), v.node("n3", "worker")},
		map[string]any{"load_balancer": map[string]any{"name": "n2", "address": address(t, s, "n2")}})
	for i, phase := range []string{plan.PhasePreflight, plan.PhaseInfra, plan.PhaseEtcd, plan.PhaseControl,
		plan.PhaseBalancer, plan.PhaseBootstrap, plan.PhaseAddons, plan.PhaseCheck} {
		v.canceledIn("again", phase, i, "n1", "n2", "n3")
		v.call("POST", "/clusters/again/continue", nil, http.StatusAccepted, nil)
	}
	v.awaits("again", "Running", 15*time.Minute)
	s.Admin = "n1"
	must(t, "workload", s.StartWorkload(t.Context()))
	must(t, "use", s.Works(t.Context(), 3))
	nothingHalfDone(t, s, 3)

	s.Say("== forgotten, and imported")
	v.call("DELETE", "/clusters/again?machines=keep", nil, http.StatusOK, nil)
	v.call("GET", "/clusters/again", nil, http.StatusNotFound, nil)
	v.call("POST", "/clusters:import", map[string]any{"name": "again"}, http.StatusAccepted, nil)
	v.awaits("again", "Running", time.Minute)
	admin, err := os.ReadFile(filepath.Join(s.State(), "again", "admin.conf"))
	must(t, "kubeconfig", err)
	v.call("POST", "/clusters:import", map[string]any{"name": "seen", "kubeconfig": string(admin)},
		http.StatusAccepted, nil)
	v.awaits("seen", "Running", time.Minute)
	v.call("POST", "/clusters/seen/renew", map[string]any{}, http.StatusUnprocessableEntity, nil)
	_, err = s.Lab.Run(t.Context(), "n1", "systemctl stop kube-apiserver")
	must(t, "stop", err)
	v.awaits("seen", "Unreachable", 2*time.Minute)
	_, err = s.Lab.Run(t.Context(), "n1", "systemctl start kube-apiserver")
	must(t, "start", err)
	v.awaits("seen", "Running", 3*time.Minute)
	v.awaits("again", "Running", 3*time.Minute)
	v.call("DELETE", "/clusters/seen?machines=keep", nil, http.StatusOK, nil)

	s.Say("== what was imported is deleted")
	v.call("DELETE", "/clusters/again?purge=true", nil, http.StatusAccepted, nil)
	v.gone()
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
