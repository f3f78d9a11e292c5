package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// beginSaved begins a run from the menu with a deploy.yaml of three machines that lies in the person's home. more is
// text at its end.
func beginSaved(x *terminal, cluster string, nodes []stand.Node, more ...string) {
	x.t.Helper()
	name := filepath.Base(x.home) + "/" + cluster + ".yaml"
	file, err := x.s.Deploy(name, cluster, nodes)
	must(x.t, "deploy.yaml", err)
	must(x.t, "deploy.yaml", os.WriteFile(file, []byte(read(x.t, file)+strings.Join(more, "")), 0o600))
	x.command("eggo-tui")
	x.choose("Install from a saved deploy.yaml")
	x.see(time.Minute, cluster+".yaml")
	x.press("Enter")
	x.see(time.Minute, "No problems found in this file", "n2")
	x.press("Enter")
	x.see(time.Minute, "Install "+cluster+"?")
	x.press("y")
}

// TestUserFixesFullDisk: the disk of a worker fills up in the middle of an install that was begun from the menu.
// The board says where, what and why, and the other machines go on; the person logs in from the board, makes room, has
// it tried again, and the cluster works.
func TestUserFixesFullDisk(t *testing.T) {
	full(t)
	const cluster = "disk"
	s := newLab(t, 3)
	ctx := t.Context()
	x := sit(t, s, "en")
	beginSaved(x, cluster, stand.OneAndTwo())
	await(t, s, cluster, 5*time.Minute, "packages are installed on n2", func(run []event.Record) bool {
		return slices.ContainsFunc(run, func(r event.Record) bool {
			e, ok := r.Event.(event.StepStarted)
			return ok && e.Step == "infrastructure.packages/n2"
		})
	})
	out, err := s.FillDisk(ctx, "n2")
	must(t, "fill the disk", err)
	s.Say("n2's disk is full:\n%s", out)

	s.Say("== the board says so, and the others go on")
	x.see(3*time.Minute, "n2: action required", "The disk is full", "Free space", "r retry", "s skip n2",
		"x shell on n2")
	s.Say("what the person sees:\n%s", x.screen())
	run := await(t, s, cluster, 10*time.Minute, "all that runs on n2 is asked about", func(run []event.Record) bool {
		return len(asked(run, "n2")) > 0 && len(asked(run, "n2")) == running(run, "n2")
	})
	wanted := asked(run, "n2")
	for _, n := range []string{"n1", "n3"} {
		await(t, s, cluster, 5*time.Minute, n+" goes on while n2 waits",
			func(run []event.Record) bool { return len(wanted) == 0 || endedAfter(run, wanted[0], n) })
	}
	x.see(time.Minute, "n2: action required")

	s.Say("== the person makes room, from a shell on n2")
	x.press("x")
	x.see(time.Minute, "root@n2")
	x.write(stand.Free + " && df -h / && exit")
	x.press("Enter")
	x.see(time.Minute, "n2: action required")
	for i := range wanted {
		x.press("r")
		await(t, s, cluster, time.Minute, "the decision",
			func(run []event.Record) bool { return decisions(run, event.TryAgain) == i+1 })
	}

	s.Say("== it ends well")
	x.see(20*time.Minute, "Cluster disk is ready")
	s.Say("the summary:\n%s", x.screen())
	x.press("q")
	x.back(time.Minute, "Cluster disk is ready", "Nodes and roles", "kubectl --kubeconfig")
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	nothingHalfDone(t, s, 3)
	try(t, s, 0, "deploy", "--id", cluster)
	noChange(t, s.State(), cluster)
}

// leaveAndComeBack leaves a run that goes on, once by the board's own way and once by the death of the terminal, and
// sees it to its end in a new terminal, which it gives.
func leaveAndComeBack(t *testing.T, s *stand.Stand, x *terminal, cluster string) *terminal {
	t.Helper()
	s.Say("== the person detaches, and comes back by attach")
	await(t, s, cluster, 5*time.Minute, "the install is under way",
		func(run []event.Record) bool { return changes([][]event.Record{run}) >= 20 })
	x.see(time.Minute, "Infrastructure", "running")
	x.press("q")
	x.see(time.Minute, "The run on "+cluster+" is in progress", "detach", "return with eggo-tui attach")
	x.press("d")
	x.back(time.Minute, "The run on "+cluster+" continues. To return to it: eggo-tui attach")
	x.command("eggo-tui list")
	x.back(time.Minute, cluster, "running")
	x.command("eggo-tui attach")
	x.see(time.Minute, "Install "+cluster, "running")
	first := steps(x)
	x.seeWhat(3*time.Minute, "the board shows more than when it was opened", func(screen string) error {
		if n := stepsOn(screen); n <= first {
			return fmt.Errorf("%d steps, as before", n)
		}
		return nil
	})

	s.Say("== the terminal is killed, with the board in it")
	x.kill()
	logged := len(await(t, s, cluster, time.Minute, "the run", func([]event.Record) bool { return true }))
	await(t, s, cluster, 3*time.Minute, "the run goes on by itself",
		func(run []event.Record) bool { return len(run) > logged+5 })
	x = sit(t, s, "en")
	x.command("eggo-tui")
	x.see(time.Minute, "Open the current run")
	s.Say("the menu offers it:\n%s", x.screen())
	x.press("Enter")
	x.see(time.Minute, "Install "+cluster, "running")
	x.see(20*time.Minute, "Cluster "+cluster+" is ready")
	x.press("q")
	x.back(time.Minute, "Cluster "+cluster+" is ready", "Nodes and roles", "kubectl --kubeconfig")
	runs, err := stand.Runs(s.State(), cluster)
	must(t, "event logs", err)
	if len(runs) != 1 {
		t.Errorf("%d runs, want the one that was begun", len(runs))
	}
	return x
}

// lookBack looks at the run when it is over: as it ended, and once more as it went.
func lookBack(s *stand.Stand, x *terminal, cluster string) {
	x.t.Helper()
	s.Say("== the run of the past, and again at speed")
	x.command("eggo-tui attach")
	x.see(time.Minute, "Install "+cluster, "100 %")
	x.press("s")
	x.see(time.Minute, "Cluster "+cluster+" is ready")
	x.press("q")
	x.back(time.Minute)
	x.command("eggo-tui attach --replay 16")
	x.see(time.Minute, "replay", "running")
	x.press("+", "+")
	x.see(5*time.Minute, "Cluster "+cluster+" is ready")
	x.press("q")
	x.back(time.Minute)
}

// changeFromTheMenu lets a third machine join, looks at the status, removes the machine and cleans up, without leaving
// the menu.
func changeFromTheMenu(t *testing.T, s *stand.Stand, x *terminal, cluster string) {
	t.Helper()
	ctx := t.Context()
	well := func() {
		t.Helper()
		x.see(15*time.Minute, "Cluster "+cluster+" is ready")
		x.press("Escape")
	}
	s.Say("== a machine joins")
	x.command("eggo-tui")
	x.choose("Add nodes")
	x.see(time.Minute, "New machines join as workers")
	x.write("n3 " + address(t, s, "n3"))
	x.press("Enter", "Enter")
	firstContacts(x, "1 ready", "f host keys", "trust marked keys")
	x.press("C-n")
	x.see(10*time.Minute, "Preflight passed")
	x.press("Enter")
	x.see(time.Minute, "kube-apiserver :6443", cluster)
	x.press("Enter")
	x.see(time.Minute, "Add 1 node to "+cluster+" now?")
	x.press("y")
	well()
	must(t, "use", s.Works(ctx, 3))

	s.Say("== how is it?")
	x.choose("Cluster status")
	x.see(2*time.Minute, "n1", "n2", "n3", "Ready")
	s.Say("status:\n%s", x.screen())
	x.press("Escape")

	s.Say("== the machine leaves")
	x.choose("Remove nodes")
	x.see(time.Minute, "Select nodes to remove from "+cluster, "n3")
	x.press("Down", "Down", "Space", "p")
	x.see(time.Minute, "will be removed")
	x.press("Enter")
	x.see(3*time.Minute, "Enter remove")
	s.Say("its plan:\n%s", x.screen())
	x.press("Enter")
	x.see(time.Minute, "Type the cluster's name to confirm: "+cluster)
	x.write(cluster)
	x.press("Enter")
	well()
	absent(t, s, cluster, "n3")
	must(t, "use without it", s.Works(ctx, 2))

	s.Say("== the cluster is cleaned up")
	x.choose("Clean up a cluster")
	x.see(2*time.Minute, "Enter clean up")
	x.press("p")
	x.see(2*time.Minute, "[✔] p: also delete", "Enter clean up", "/var/lib/containerd")
	s.Say("what goes:\n%s", x.screen())
	x.press("Enter")
	x.see(time.Minute, "Clean up "+cluster, "images and runtime data")
	x.write("persno")
	x.press("Enter")
	x.see(time.Minute, "Type the cluster's name to confirm: "+cluster, "persno")
	x.press("C-u")
	x.write(cluster)
	x.press("Enter")
	x.see(15*time.Minute, "Cluster "+cluster+" was removed")
	x.press("Escape")
	x.see(time.Minute, "Install a new cluster", "removed")
	x.press("q")
	x.back(time.Minute, "Cluster "+cluster+" was removed")
	if _, err := os.Stat(filepath.Join(s.State(), cluster, "deploy.yaml")); err == nil {
		t.Error("the cluster's deploy.yaml is still there")
	}
}

var counted = regexp.MustCompile(`(\d+) of \d+ steps`)

// stepsOn is how many steps have ended as the board says, -1 when it does not.
func stepsOn(screen string) int {
	m := counted.FindStringSubmatch(screen)
	n := -1
	if m != nil {
		_, _ = fmt.Sscan(m[1], &n)
	}
	return n
}

func steps(x *terminal) int {
	x.t.Helper()
	n := 0
	x.seeWhat(time.Minute, "the count of steps", func(screen string) error {
		if n = stepsOn(screen); n < 0 {
			return fmt.Errorf("it is not on the screen")
		}
		return nil
	})
	return n
}

// asked are the steps of a node that wait for a decision, by the number of the record that says so.
func asked(run []event.Record, node string) []uint64 {
	open := map[string]uint64{}
	for _, r := range run {
		switch e := r.Event.(type) {
		case event.StepAsked:
			if strings.HasSuffix(e.Step, "/"+node) {
				open[e.Step] = r.Seq
			}
		case event.StepDecided:
			delete(open, e.Step)
		}
	}
	var out []uint64
	for _, seq := range open {
		out = append(out, seq)
	}
	slices.Sort(out)
	return out
}

// running is how many steps of a node have begun and not ended, those that are asked about too.
func running(run []event.Record, node string) int {
	on := map[string]bool{}
	for _, r := range run {
		switch e := r.Event.(type) {
		case event.StepStarted:
			if strings.HasSuffix(e.Step, "/"+node) {
				on[e.Step] = true
			}
		case event.StepEnded:
			delete(on, e.Step)
		}
	}
	return len(on)
}

// endedAfter says whether a step of a node has ended well since a record.
func endedAfter(run []event.Record, seq uint64, node string) bool {
	return slices.ContainsFunc(run, func(r event.Record) bool {
		e, ok := r.Event.(event.StepEnded)
		return ok && r.Seq > seq && strings.HasSuffix(e.Step, "/"+node) && e.Outcome.Done()
	})
}

// decisions counts those of a kind.
func decisions(run []event.Record, d event.Decision) int {
	n := 0
	for _, r := range run {
		if e, ok := r.Event.(event.StepDecided); ok && e.Decision == d {
			n++
		}
	}
	return n
}
