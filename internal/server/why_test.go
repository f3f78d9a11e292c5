package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// unreached is the log of a run that ended before it changed anything: w2 was not reached, and w3 shows an unknown host
// key.
func unreached() []event.Event {
	failed := event.Fault{Class: event.ClassPreflight, Code: "preflight.failed", Args: map[string]string{"count": "2"}}
	return []event.Event{
		event.PlanMade{Hosts: []event.Host{{Name: "w2"}, {Name: "w3"}}, Steps: []event.Step{{ID: "facts/w2", Host: "w2",
			Title: event.M("step.facts.gather")}, {ID: "preflight", Title: event.M("step.preflight")}}},
		event.StepStarted{Step: "facts/w2", Try: 3},
		event.StepEnded{Step: "facts/w2", Outcome: event.Ignored, Fault: event.NewFault(event.ClassAuth,
			"ssh.unreachable", nil, "addr", "192.0.2.3")},
		event.StepStarted{Step: "preflight", Try: 1},
		event.Finding{Host: "w2", Severity: event.Error, Fault: event.Fault{Class: event.ClassPreflight,
			Code: "ssh.unreachable", Node: "w2", Args: map[string]string{"addr": "192.0.2.3:22", "why": "no route"},
			Cause: "no route to host"}},
		event.Finding{Host: "w3", Severity: event.Error, Fault: event.Fault{Class: event.ClassAuth,
			Code: "ssh.hostkey-unknown", Args: map[string]string{"key": "ssh-ed25519 AAAA", "host": "192.0.2.4"}}},
		event.Finding{Host: "w3", Severity: event.Warning, Fault: event.Fault{Code: "check.swap"}},
		event.StepEnded{Step: "preflight", Outcome: event.Failed, Fault: &failed},
		event.RunEnded{Outcome: event.Failed, Fault: &failed},
	}
}

// logs has the log of a run of the world in the state directory.
func (s *site) logs(run, verb string, events ...event.Event) {
	s.t.Helper()
	j, err := journal.Open(s.root, "one")
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := j.NewRun(verb, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	for _, e := range append([]event.Event{event.RunStarted{Cluster: "one", Verb: verb}}, events...) {
		if err := bus.Emit(e); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		s.t.Fatal(err)
	}
	runs := filepath.Join(s.root, "one", "runs")
	if err := os.Rename(filepath.Join(runs, log.ID()), filepath.Join(runs, run)); err != nil {
		s.t.Fatal(err)
	}
}

// reasons are the node, the code and the host key of each error of a fault.
func reasons(fault any) (out []string) {
	f, _ := fault.(map[string]any)
	list, _ := f["errors"].([]any)
	for _, x := range list {
		r := x.(map[string]any)
		text := r["node"].(string) + " " + r["code"].(string)
		if key, is := r["host_key"].(string); is {
			text += " " + key
		}
		out = append(out, text)
	}
	return out
}

// A run that preflight refused says why, in the cluster and by itself, in the language of the caller; and what is to be
// done there, where no command can be run again.
func TestAFailedPreflightSaysWhy(t *testing.T) {
	s := begin(t)
	s.running()
	const one, want = "/api/v1/clusters/one", "w2 ssh.unreachable, w3 ssh.hostkey-unknown ssh-ed25519 AAAA"
	got := s.want(s.call("vera", "GET", one, ""), 200, "")
	text := strings.Replace(got.text, `"nodes":[`, `"nodes":[{"name":"w2","address":"192.0.2.3","roles":["worker"]},`, 1)
	for _, c := range []struct{ lang, detail, next string }{
		{"en", "no route to host", "Nothing was changed. Fix the errors listed, then change the nodes again."},
		{"zh", "no route to host", "未做任何改动。"}} {
		before := s.world.Newest("one")
		s.want(s.call("ann", "PUT", one, text), 202, "")
		s.reach("Updating", func() bool { return s.world.Newest("one") != before })
		run := s.world.Newest("one")
		events := unreached()
		s.logs(run.ID(), "join", events...)
		run.Refuse(events[len(events)-1].(event.RunEnded).Fault)
		s.reach("Running", nil)
		for _, path := range []string{one, one + "/runs/" + run.ID()} {
			a := s.want(s.call("vera", "GET", path, "", "Accept-Language", c.lang), 200, "")
			f, _ := a.body["fault"].(map[string]any)
			if next, _ := f["next"].(string); strings.Join(reasons(f), ", ") != want ||
				!strings.HasPrefix(next, c.next) || !strings.Contains(a.text, c.detail) || a.body["continues"] != nil {
				t.Errorf("%s: %s", path, a.text)
			}
		}
	}
}

// A run that another owner's number has refused says which number takes over, and an operation takes that number.
func TestAFailedPreflightSaysWhichNumberTakesOver(t *testing.T) {
	s := begin(t)
	s.running()
	const one = "/api/v1/clusters/one"
	s.want(s.call("ann", "POST", one+"/renew", `{"take_over":-1}`), 422, "api.request")
	s.want(s.call("ann", "POST", one+"/renew", ""), 202, "")
	s.reach("Updating", func() bool { return s.world.Newest("one") != nil })
	run := s.world.Newest("one")
	failed := event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "2")
	stale := func(host, code, fence string) event.Event {
		return event.Finding{Host: host, Severity: event.Error, Fault: *event.NewFault(event.ClassPreflight, code, nil,
			"cluster", "one", "dir", s.root, "by", "you@there pid 8: eggo-tui deploy one", "at", "2026-11-30T08:00:00Z",
			"fence", fence, "have", "3", "owner", "a", "own", "b", "highest", "12").On(host)}
	}
	s.logs(run.ID(), "renew", stale("w2", "preflight.stale-owner", "9"), stale("w3", "preflight.other-owner", "12"),
		event.RunEnded{Outcome: event.Failed, Fault: failed})
	run.Refuse(failed)
	s.reach("Running", nil)
	a := s.want(s.call("vera", "GET", one, ""), 200, "")
	f, _ := a.body["fault"].(map[string]any)
	if f["take_over"] != 12.0 || !strings.Contains(a.text, "take-over number 12") ||
		!strings.Contains(a.text, "you@there pid 8: eggo-tui deploy one at 2026-11-30T08:00:00Z") {
		t.Error(a.text)
	}
	s.want(s.call("ann", "POST", one+"/renew", `{"take_over":12}`), 202, "")
	v, err := s.m.Cluster("one")
	if err != nil || v.Operation == nil || !strings.Contains(string(v.Operation.Request), `"take_over":12`) {
		t.Errorf("%+v %v", v.Operation, err)
	}
}

// Of a creation that preflight refused the advice is to continue it, or to change its nodes; a run that another one has
// followed is not continued.
func TestTheAdviceIsThatOfTheCluster(t *testing.T) {
	s := begin(t)
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != nil })
	first := s.world.Newest("one")
	events := unreached()
	refused := events[len(events)-1].(event.RunEnded).Fault
	s.logs(first.ID(), "deploy", events...)
	next := func(path string) (string, any) {
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one"+path, ""), 200, "")
		f, _ := a.body["fault"].(map[string]any)
		text, _ := f["next"].(string)
		return text, a.body["continues"]
	}
	const create = "Fix the errors listed, then continue the cluster, or change its nodes."
	if got, is := next("/runs/" + first.ID()); got != create || is != "create" { // before the manager has seen its end
		t.Error(got, is)
	}
	first.Refuse(refused)
	s.reach("Unavailable", nil)
	for _, path := range []string{"", "/runs/" + first.ID()} {
		if got, is := next(path); got != create || is != "create" {
			t.Error(path, got, is)
		}
	}
	s.want(s.call("ann", "POST", "/api/v1/clusters/one/continue", ""), 202, "")
	s.reach("Creating", func() bool { return s.world.Newest("one") != first })
	s.world.Newest("one").Finish(&event.Fault{Class: event.ClassFailed, Code: "run.failed"})
	s.reach("Unavailable", nil)
	if got, is := next(""); got != "Fix the errors listed, then continue the cluster." || is != "create" {
		t.Error(got, is)
	}
	if got, is := next("/runs/" + first.ID()); !strings.HasPrefix(got, "Nothing was changed.") || is != nil {
		t.Error(got, is)
	}
}

// A change of the nodes of a cluster that never ran is one of its creation.
func TestWhichAdviceIsOfACreation(t *testing.T) {
	failed := event.Fault{Code: "preflight.failed"}
	for name, c := range map[string]struct {
		kind manager.Kind
		made bool
		want string
	}{
		"a creation":            {manager.Create, false, "api.next.create"},
		"its nodes":             {manager.Update, false, "api.next.create"},
		"nodes of one that was": {manager.Update, true, "api.next.fix"},
	} {
		v := manager.View{State: state.Unavailable, Record: manager.Record{EverRan: c.made,
			Failed: &manager.Operation{Kind: c.kind}}}
		if got := advice(v, v.Failed, &failed).Key; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A list of runs says of each that failed why: the first errors, and how many there are. One that ended well is done,
// whatever it did: a backup installs nothing.
func TestAListOfRunsSaysWhy(t *testing.T) {
	s := begin(t)
	s.running()
	events := unreached()
	n := len(events) - 2
	for _, node := range []string{"w4", "w5"} {
		events = slices.Insert(events, n, event.Event(event.Finding{Host: node, Severity: event.Error,
			Fault: event.Fault{Class: event.ClassPreflight, Code: "check.port-used", Node: node}}))
	}
	s.logs("20271122T020000Z-backup", "backup", event.RunEnded{Outcome: event.OK})
	s.logs("20271122T030000Z-snapshot", "snapshot", event.RunEnded{Outcome: event.Changed})
	s.logs("20271122T040000Z-deploy", "deploy", event.RunEnded{Outcome: event.Changed})
	s.logs("20271122T050000Z-cleanup", "cleanup", event.RunEnded{Outcome: event.Changed})
	s.logs("20271122T060000Z-join", "join", events...)
	const path = "/api/v1/clusters/one/runs"
	var got problem.List[Run]
	if err := json.Unmarshal([]byte(s.want(s.call("vera", "GET", path, ""), 200, "").text), &got); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, r := range got.Items {
		words = append(words, r.Verb+" "+r.Status)
	}
	if list := strings.Join(words, ", "); list != "join failed, cleanup done, deploy done, snapshot done, backup done" {
		t.Fatal(list)
	}
	f := got.Items[0].Fault
	if f == nil || len(f.Errors) != 3 || f.Count != 4 || f.Errors[0].Node != "w2" || f.Errors[0].Detail == "" {
		t.Errorf("%+v", f)
	}
	a := s.want(s.call("vera", "GET", path+"/"+got.Items[0].ID, ""), 200, "")
	if all := reasons(a.body["fault"]); len(all) != 4 || !strings.Contains(a.text, `"errors_count":4`) {
		t.Error(a.text)
	}
}
