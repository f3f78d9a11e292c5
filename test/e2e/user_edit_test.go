package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// aDay is how somebody writes a day who does not know that etcd counts in hours. It is text to deploy.yaml and to
// preflight; only etcd itself refuses it, when it starts.
const aDay = `config-extra-args:
- name: etcd
  extra-args:
    ETCD_AUTO_COMPACTION_MODE: periodic
    ETCD_AUTO_COMPACTION_RETENTION: "1d"
`

// TestUserFixesDeployYAML: etcd does not start with a value of deploy.yaml that nobody can know to be wrong but etcd.
// The panel says so in etcd's own words. The person leaves the board and comes back by the menu, which says what waits;
// opens deploy.yaml from the panel in vi, makes a mistake that is told, fixes it, and the run goes on in place with
// what was written, to a cluster that works.
func TestUserFixesDeployYAML(t *testing.T) {
	full(t)
	const cluster = "edit"
	s := newLab(t, 3)
	ctx := t.Context()
	must(t, "vi", s.Lab.Provide(ctx, "vi", "vim-tiny"))
	x := sit(t, s, "en")
	beginSaved(x, cluster, stand.OneAndTwo(), aDay)

	s.Say("== etcd does not start, and the board says why")
	x.see(5*time.Minute, "n1: action required", "etcd.service", `unknown unit "d"`, "A component rejects",
		"e edit deploy.yaml")
	s.Say("what the person sees:\n%s", x.screen())
	run := await(t, s, cluster, time.Minute, "etcd is asked about",
		func(run []event.Record) bool { return len(asked(run, "n1")) > 0 })
	for _, n := range []string{"n2", "n3"} {
		await(t, s, cluster, 5*time.Minute, n+" goes on while n1 waits",
			func(now []event.Record) bool { return endedAfter(now, asked(run, "n1")[0], n) })
	}

	s.Say("== the person leaves it for later; what lists runs says that it waits, and the menu leads back to it first")
	x.press("Escape")
	x.see(time.Minute, "d decide")
	x.press("q")
	x.see(time.Minute, "The run on "+cluster+" is in progress", "detach")
	x.press("d")
	x.back(time.Minute, "To return to it: eggo-tui attach")
	x.command("eggo-tui list")
	x.back(time.Minute, "action required", "n1: Start etcd, waiting since", "eggo-tui attach --id "+cluster)
	x.command("eggo-tui")
	x.see(time.Minute, "Open the run waiting for your decision", "n1: Start etcd", "CompactionRetention")
	s.Say("the menu:\n%s", x.screen())
	x.press("Enter")
	x.see(time.Minute, "n1: action required", "e edit deploy.yaml")

	s.Say("== what is written has a fault: it is told, and counts for nothing")
	own := filepath.Join(s.State(), cluster, "deploy.yaml")
	before := read(t, own)
	x.press("e")
	inVi(x, `:%s/"1d"/"24h"/`, `:%s/podcidr: 10.244/podcidr: 10.344/`)
	x.see(time.Minute, "Not applied; the run continues unchanged", "network.podcidr", "10.344")
	s.Say("what is wrong with it:\n%s", x.screen())
	if now := read(t, own); now != before {
		t.Errorf("a deploy.yaml with a fault counts:\n%s", now)
	}

	s.Say("== it is fixed, and the run goes on with it in place")
	x.press("e") // of the dialog
	inVi(x, `:%s/podcidr: 10.344/podcidr: 10.244/`)
	x.see(20*time.Minute, "Cluster edit is ready")
	s.Say("the summary:\n%s", x.screen())
	x.press("q")
	x.back(time.Minute, "Cluster edit is ready", "Nodes and roles", "kubectl --kubeconfig")

	s.Say("== it is what was written")
	if now, want := read(t, own), strings.Replace(before, `"1d"`, `"24h"`, 1); now != want {
		t.Errorf("the cluster's deploy.yaml is\n%s\nwant\n%s", now, want)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(own), "edit-deploy.yaml")); err == nil {
		t.Error("what was edited is still there beside deploy.yaml")
	}
	out, err := s.Lab.Run(ctx, "n1", `tr '\0' '\n' </proc/$(systemctl show -P MainPID etcd)/environ | grep COMPACTION`)
	must(t, "etcd's environment", err)
	if !strings.Contains(out, "ETCD_AUTO_COMPACTION_RETENTION=24h") {
		t.Errorf("etcd runs with %s", out)
	}
	twoRuns(t, s, cluster)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	nothingHalfDone(t, s, 3)
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)
}

// inVi types commands into vi, which is then left.
func inVi(x *terminal, commands ...string) {
	x.t.Helper()
	x.see(time.Minute, "cluster-id", "edit-deploy.yaml")
	for _, c := range append(commands, ":wq") {
		x.write(c)
		x.press("Enter")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, file, err)
	return string(data)
}

// twoRuns wants one run that ended when what ran had ended, and one that goes on from there and does nothing again that
// the first had done.
func twoRuns(t *testing.T, s *stand.Stand, cluster string) {
	t.Helper()
	runs, err := stand.Runs(s.State(), cluster)
	must(t, "event logs", err)
	if len(runs) != 2 {
		t.Fatalf("%d runs, want the one that failed and the one that goes on", len(runs))
	}
	if !slices.ContainsFunc(runs[0], func(r event.Record) bool { _, ok := r.Event.(event.RunEnded); return ok }) {
		t.Error("the first run did not end by itself")
	}
	for _, complaint := range doneTwice(runs) {
		t.Error(complaint)
	}
}
