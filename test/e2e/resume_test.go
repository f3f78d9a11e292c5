package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// changesOfADeploy is about how many changes a deploy of 1+2 nodes announces; kills are spread over them.
const changesOfADeploy = 130

// changes counts the announced changes of all runs.
func changes(runs [][]event.Record) int {
	n := 0
	for _, run := range runs {
		for _, r := range run {
			if _, ok := r.Event.(event.Change); ok {
				n++
			}
		}
	}
	return n
}

// random is seeded by EGGO_E2E_SEED or by the time; the seed is said.
func random(s *stand.Stand) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("EGGO_E2E_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	s.Say("random moments by EGGO_E2E_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestResume kills the program again and again in the middle of a deploy. Every run goes on from there, nothing that
// was done is done again, and in the end the cluster works. It is then removed from a jump host that has never heard of
// it.
func TestResume(t *testing.T) {
	s := newLab(t, 3)
	ctx := t.Context()
	kills := 3
	if os.Getenv("EGGO_E2E_FULL") == "1" {
		kills = 10
	}
	file, err := s.Deploy("resume.yaml", "resume", stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 3)
	rnd := random(s)
	var moments []int
	for range kills {
		moments = append(moments, 1+rnd.IntN(changesOfADeploy))
	}
	slices.Sort(moments)
	killed := 0
	for _, m := range moments {
		r, err := s.Start(ctx, "", "deploy", "-f", file, "--foreground")
		must(t, "deploy", err)
		// At least one more change, so that two moments that are near each other are two.
		start, err := stand.Runs(s.State(), "resume")
		if err == nil {
			m = max(m, changes(start)+1)
		}
		reached, err := r.When(ctx, "resume", func(runs [][]event.Record) bool { return changes(runs) >= m })
		must(t, "watch", err)
		if reached {
			must(t, "kill", r.Signal(syscall.SIGKILL))
			killed++
		}
		got, err := r.Wait()
		must(t, "deploy", err)
		s.Say("killed at change %d, after %s, exit code %d", m, got.Took, got.Code)
		if got.Code > 0 {
			t.Fatalf("deploy went wrong by itself: exit code %d\n%s", got.Code, tail(got.Out, 40))
		}
	}
	if killed == 0 {
		t.Fatal("no run was killed")
	}
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	runs, err := stand.Runs(s.State(), "resume")
	must(t, "event logs", err)
	for _, complaint := range doneTwice(runs) {
		t.Error(complaint)
	}
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "resume")
	nothingHalfDone(t, s, 3)

	s.Say("== cleanup from another jump host")
	got := tryFrom(t, s, otherJumpHost(t, s, "elsewhere"), 0, "cleanup", "-f", file, "--yes", "--purge")
	if err := got.Has("no etcd snapshot was saved"); err != nil {
		t.Errorf("a cleanup without the cluster's keys: %v\n%s", err, tail(got.Out, 40))
	}
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}

// doneTwice finds steps that made changes although an earlier run had finished them, and lanes of a node in which a
// kill left more than one step to be done again.
func doneTwice(runs [][]event.Record) []string {
	var complaints []string
	finished := map[string]int{} // step → run
	begun := map[string]bool{}   // by the run before, not finished by any
	for i, run := range runs {
		lane := map[string]string{}
		again := map[string][]string{}
		touched := map[string]bool{}
		ended := map[string]bool{}
		for _, r := range run {
			switch e := r.Event.(type) {
			case event.PlanMade:
				for _, st := range e.Steps {
					lane[st.ID] = st.Host + "\x00" + st.Lane
				}
			case event.Change:
				if j, done := finished[e.Step]; done && !touched[e.Step] {
					complaints = append(complaints,
						fmt.Sprintf("run %d changed something in %s, which run %d had finished: %v", i+1, e.Step, j+1,
							e.Desc))
				}
				if begun[e.Step] && !touched[e.Step] && e.Host != "" {
					again[lane[e.Step]] = append(again[lane[e.Step]], e.Step)
				}
				touched[e.Step] = true
			case event.StepEnded:
				if e.Outcome == event.OK || e.Outcome == event.Changed {
					ended[e.Step] = true
				}
			}
		}
		for l, steps := range again {
			if len(steps) > 1 {
				complaints = append(complaints, fmt.Sprintf("run %d did %v again in one lane of %s", i+1, steps,
					strings.TrimRight(l, "\x00")))
			}
		}
		begun = map[string]bool{}
		for st := range touched {
			if begun[st] = !ended[st]; !begun[st] {
				delete(begun, st)
			}
		}
		for st := range ended {
			finished[st] = i
		}
	}
	return complaints
}

// nothingHalfDone looks for what a killed upload, write or package manager leaves behind.
func nothingHalfDone(t *testing.T, s *stand.Stand, nodes int) {
	t.Helper()
	out, err := s.Each(t.Context(), nodes,
		`find / -xdev \( -name '*.eggo-new' -o -name '*.eggo-part' -o -name '*.part' \) -not -path '/proc/*' -not -path '/var/lib/containerd/*'; dpkg --audit; systemctl --failed --plain --no-legend --no-pager | grep -E 'kube|etcd|containerd' || true`)
	must(t, "look for leftovers", err)
	for k, text := range out {
		if text != "" {
			t.Errorf("n%d has something half done: %s", k+1, text)
		}
	}
}

// TestPowerCut takes the power from a worker in the middle of a deploy.
func TestPowerCut(t *testing.T) {
	full(t)
	disturbed(t, "power", func(ctx context.Context, s *stand.Stand) error { return s.Lab.Kill(ctx, "n2") },
		func(ctx context.Context, s *stand.Stand) error { return s.Lab.Start(ctx, "n2") })
}

// TestCableCut pulls the cable of a worker for two minutes in the middle of a deploy.
func TestCableCut(t *testing.T) {
	full(t)
	disturbed(t, "cable", func(ctx context.Context, s *stand.Stand) error {
		if err := s.Lab.Cut(ctx, "n2"); err != nil {
			return err
		}
		timer := time.AfterFunc(2*time.Minute, func() { _ = s.Lab.Reconnect(ctx, "n2") })
		t.Cleanup(func() { timer.Stop() })
		return nil
	}, func(ctx context.Context, s *stand.Stand) error { return s.Lab.Reconnect(ctx, "n2") })
}

// disturbed deploys with n2 disturbed while a step runs there: the deploy recovers, or ends with a fault that names n2;
// then the same command ends well.
func disturbed(t *testing.T, cluster string, hurt func(context.Context, *stand.Stand) error,
	heal func(context.Context, *stand.Stand) error) {
	s := newLab(t, 3)
	ctx := t.Context()
	file, err := s.Deploy(cluster+".yaml", cluster, stand.OneAndTwo())
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 3)
	m := 20 + random(s).IntN(60)
	r, err := s.Start(ctx, "", "deploy", "-f", file)
	must(t, "deploy", err)
	reached, err := r.When(ctx, cluster, func(runs [][]event.Record) bool {
		return changes(runs) >= m && busy(runs, "n2")
	})
	must(t, "watch", err)
	if !reached {
		t.Fatal("the deploy ended before it was disturbed")
	}
	s.Say("n2 is disturbed at change %d", m)
	must(t, "disturb", hurt(ctx, s))
	got, err := r.Wait()
	must(t, "deploy", err)
	s.Say("exit code %d after %s", got.Code, got.Took)
	switch {
	case got.Code == 0:
	case got.Code != 1 && got.Code != 3:
		t.Errorf("exit code %d", got.Code)
	default:
		if err := got.Has("n2"); err != nil {
			t.Error(err)
		}
	}
	t.Logf("how it ended:\n%s", tail(got.Out, 25))
	must(t, "heal", heal(ctx, s))
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	nothingHalfDone(t, s, 3)
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}

// busy says whether a step runs on the node now.
func busy(runs [][]event.Record, node string) bool {
	running := map[string]bool{}
	host := map[string]string{}
	for _, r := range runs[len(runs)-1] {
		switch e := r.Event.(type) {
		case event.PlanMade:
			for _, st := range e.Steps {
				host[st.ID] = st.Host
			}
		case event.StepStarted:
			running[e.Step] = true
		case event.StepRetry:
			delete(running, e.Step)
		case event.StepEnded:
			delete(running, e.Step)
		}
	}
	for st := range running {
		if host[st] == node {
			return true
		}
	}
	return false
}
