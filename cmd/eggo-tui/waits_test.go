package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	states "github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// A run that goes on and waits for a decision says so wherever runs are listed, from its log alone; when it is decided
// it just runs.
func TestARunThatWaitsForADecision(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	store, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := store.Lock(whoami("deploy"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	log, err := store.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := lock.Writes(log.ID()); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	bus := event.NewBus(func() time.Time { return now }, log)
	tell := func(list ...event.Event) {
		t.Helper()
		for _, e := range list {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	fault := *event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "1").On("n1")
	fault.Cause = "discovery failed"
	tell(event.RunStarted{Run: log.ID(), Cluster: "rack", Verb: "deploy"},
		event.PlanMade{Hosts: []event.Host{{Name: "n1"}},
			Steps: []event.Step{{ID: "etcd.start/n1", Phase: "etcd", Host: "n1", Title: event.M("step.etcd.start")},
				{ID: "kube.ready", Phase: "etcd"}}},
		event.StepStarted{Step: "etcd.start/n1", Try: 1})
	listed := func(lang i18n.Lang, output string) string {
		t.Helper()
		var out bytes.Buffer
		env := &environment{P: i18n.NewPrinter(lang), Stdout: &out, Stderr: &out, State: root,
			Getenv: func(string) string { return "" }}
		if err := list(t.Context(), env, output); err != nil {
			t.Fatal(err)
		}
		if output == "text" {
			if err := listRuns(t.Context(), env, logOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	seen := func() request.ClusterRuns {
		t.Helper()
		h := (&environment{Getenv: func(string) string { return "" }, State: root}).host()
		all, err := h.Clusters(t.Context())
		if err != nil || len(all) != 1 || len(all[0].Runs) != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		return all[0]
	}
	runs := func() {
		t.Helper()
		if out := listed(i18n.English, "text"); strings.Contains(out, "action required") ||
			strings.Count(out, "running") != 2 {
			t.Errorf("it just runs:\n%s", out)
		}
		if c := seen(); c.Said() != request.Running || c.Runs[0].Said() != request.Running ||
			backend.MenuEntries([]request.ClusterRuns{c})[0].ID != "watch" {
			t.Errorf("it just runs: %+v", c)
		}
	}
	runs()

	tell(event.StepAsked{Step: "etcd.start/n1", Try: 1, Fault: fault})
	attach := "eggo-tui attach --id rack --state-dir " + root
	for lang, want := range map[i18n.Lang][]string{i18n.English: {"action required", "waiting for a decision", "n1: ",
		"discovery failed", attach, log.ID()},
		i18n.Chinese: {"待决定", "n1：", "discovery failed", attach, log.ID()}} {
		out := listed(lang, "text")
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%q is not in\n%s", w, out)
			}
		}
		if strings.Count(out, want[0]) < 2 { // of the cluster and of the run
			t.Errorf("%q is there once in\n%s", want[0], out)
		}
	}
	var c struct {
		Status string
		Waits  []request.Wait `json:"waits_for"`
	}
	lines := strings.Split(strings.TrimSpace(listed(i18n.English, "json")), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &c); err != nil || c.Status != "running" ||
		len(c.Waits) != 1 || c.Waits[0].Step != "etcd.start/n1" || c.Waits[0].Node != "n1" ||
		!c.Waits[0].Since.Equal(now) || c.Waits[0].Fault.Code != fault.Code {
		t.Errorf("%s: %+v %v", lines, c, err)
	}
	k := seen()
	if w := k.Runs[0].Waits; k.Status != request.Running || k.Said() != request.Waiting || len(w) != 1 ||
		w[0].Node != "n1" || w[0].Title.Key != "step.etcd.start" || w[0].Fault.Code != fault.Code {
		t.Errorf("%+v", k)
	}
	if first := backend.MenuEntries([]request.ClusterRuns{k})[0]; first.ID != "decide" || len(first.Of) != 1 ||
		first.Of[0].Name != "rack" {
		t.Errorf("%+v", first)
	}

	meanwhile, err := operation.Cluster(t.Context(), states.Dir{Root: root}, "rack")
	if err != nil {
		t.Fatal(err)
	}
	status := present.StatusLine(&operation.StatusResult{Status: &phases.Status{Cluster: "rack"}, Now: meanwhile})
	if text, err := json.Marshal(status); err != nil ||
		!strings.Contains(string(text), `"cluster":"rack"`) ||
		!strings.Contains(string(text), `"run":{"run":"`+log.ID()+
			`","verb":"deploy","waits_for":[{"step":"etcd.start/n1",`) {
		t.Errorf("status: %s %v", text, err)
	}

	tell(event.StepDecided{Step: "etcd.start/n1", Decision: event.TryAgain},
		event.StepStarted{Step: "etcd.start/n1", Try: 2})
	runs()
	tell(event.StepAsked{Step: "etcd.start/n1", Try: 2, Fault: fault})
	if err := lock.Unlock(); err != nil { // the process has gone
		t.Fatal(err)
	}
	if out := listed(i18n.English, "text"); strings.Contains(out, "action required") ||
		strings.Count(out, "interrupted") != 2 {
		t.Errorf("nobody is left to be told a decision:\n%s", out)
	}
}
