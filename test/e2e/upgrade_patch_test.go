package e2e

import (
	"runtime"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// aPatch is another patch version of the default spec's Kubernetes.
const aPatch = "v1.34.9"

// TestUpgradePatch: a control plane and a worker go to another patch version. The verbs that only look tell what is so,
// on machines before, with and after the cluster, and change nothing. An upgrade that cannot be is refused and touches
// nothing. While the only API server is restarted it answers nobody, which is announced; the workload serves all the
// time.
func TestUpgradePatch(t *testing.T) {
	turn(t, 2)
	s := newLab(t, 2)
	u := &upgraded{Stand: s, t: t, cluster: "patch",
		nodes: []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}}}
	var err error
	u.file, err = s.Deploy("patch.yaml", u.cluster, u.nodes)
	must(t, "deploy.yaml", err)
	u.before = untouched(t, s, 2)
	looksAtMachines(u)
	try(t, s, 0, "deploy", "-f", u.file)
	looksAtCluster(u)
	u.workload()
	patch := u.patched()

	s.Say("== what cannot be is refused")
	refusesUpgrades(u, patch)

	s.Say("== the plan announces the gap, and changes nothing")
	before := u.changes()
	plan := try(t, s, 0, "plan", "upgrade", "--id", u.cluster, "--bundle", patch)
	err = plan.Has(aPatch, "the API is unavailable for some seconds", "nothing was changed")
	if err != nil || u.changes() != before {
		t.Errorf("the plan: %v\n%s", err, tail(plan.Out, 60))
	}

	s.Say("== to %s, while clients call", aPatch)
	c := u.clients()
	began := time.Now()
	u.to(0, patch)
	s.Say("the upgrade took %s", time.Since(began).Round(time.Second))
	failed, _ := c.end(t)
	u.reportAbsences()
	onlyInTurns(u, c, failed)
	u.allRun(aPatch)
	u.spread()
	u.healthy()

	s.Say("== a second one changes nothing")
	before = u.changes()
	u.to(0, patch)
	if n := u.changes(); n != before {
		t.Errorf("%d changes were made", n-before)
	}
	try(t, s, 0, "deploy", "--id", u.cluster)
	noChange(t, s.State(), u.cluster)
	u.gone()
}

// onlyInTurns wants calls of the API to have failed only while the control planes had their turn, and none of the
// Service's.
func onlyInTurns(u *upgraded, c *clients, failed map[string][]call) {
	u.t.Helper()
	turns := u.windows("control-plane.turn/n1")
	for name, calls := range failed {
		var first, last time.Time
		for _, f := range calls {
			in := false
			for _, w := range turns {
				in = in || name != c.serve.name && f.began.After(w.from.Add(-time.Second)) && f.began.Before(w.to)
			}
			if !in {
				u.t.Errorf("%s: a call failed and no control plane had its turn: %s", name, f)
			}
			if first.IsZero() || f.began.Before(first) {
				first = f.began
			}
			if end := f.began.Add(f.took); end.After(last) {
				last = end
			}
		}
		if len(calls) > 0 {
			u.Say("%s: nobody answered for %.1f s", name, last.Sub(first).Seconds())
		}
	}
}

// refusesUpgrades tries what cannot be.
func refusesUpgrades(u *upgraded, patch string) {
	t := u.t
	one := func(name string, code int, path string, words ...string) {
		t.Helper()
		u.Say("-- %s", name)
		u.refused(code, u.args([]string{path}), words...)
	}
	version := func(v string) func(*bundle.Manifest) {
		return func(m *bundle.Manifest) { m.Kubernetes = v }
	}
	one("a skipped minor", 2, u.head("skipped.tar.gz", u.Bundle, version("v1.36.1")), "upgrade.skipped", "v1.36.1",
		"1.35")
	one("an older bundle", 2, u.head("older.tar.gz", u.Bundle, version("v1.34.1")), "upgrade.older", "v1.34.1",
		"v1.34.2")
	one("another architecture", 2, u.head("other-arch.tar.gz", patch, func(m *bundle.Manifest) {
		m.Arch = (&badLab{}).notThis()
		for i := range m.Images {
			m.Images[i].Platform = "linux/" + m.Arch
		}
	}), "upgrade.arch", runtime.GOARCH)
	one("a damaged bundle", 6, u.damaged(patch), "bundle.", "damaged-")
	// A kubelet that runs evicts pods when its disk is full.
	_, err := u.Lab.Run(t.Context(), "n2", "systemctl stop kubelet; "+
		"fallocate -l $(( ($(df --output=avail -B1 / | tail -1) - 104857600) )) /var/log/full")
	must(t, "fill n2", err)
	one("too little space", 5, patch, "preflight.disk", "n2", "MiB")
	_, err = u.Lab.Run(t.Context(), "n2", "rm /var/log/full; systemctl start kubelet")
	must(t, "free n2", err)
	u.healthy()
	_, err = u.Lab.Run(t.Context(), "n2",
		"cp /var/lib/eggo-node/node /run/node; echo production >/var/lib/eggo-node/node")
	must(t, "spoil n2", err)
	one("a node of another cluster", 5, patch, "preflight.other-cluster", "n2", "production")
	_, err = u.Lab.Run(t.Context(), "n2", "cat /run/node >/var/lib/eggo-node/node; rm /run/node")
	must(t, "fix n2", err)
}
