package operation

import (
	"context"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// undone is a deploy of a text whose last hook fails on a worker, and that is then reverted.
func undone(t *testing.T, f *fakes, text []byte) request.Deploy {
	t.Helper()
	hook := filepath.Join(t.TempDir(), "fails.sh")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	q := deployOf(f)
	q.Source.Text = text
	q.OnFailure = request.OnFailure{Undo: true}
	q.Hooks.After = []string{hook + ",worker"}
	return q
}

// ended runs a request, and gives the first and the last of its log.
func ended(t *testing.T, q request.Request, d Deps) (event.RunStarted, event.RunEnded, *Handle) {
	t.Helper()
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = h.Wait(t.Context())
	var first event.RunStarted
	var last event.RunEnded
	for rec, err := range journal.Read(h.Run().Dir) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := rec.Event.(type) {
		case event.RunStarted:
			first = e
		case event.RunEnded:
			last = e
		}
	}
	return first, last, h
}

// everything is what the machines have, and what the control host has of the cluster beside logs and backups.
func everything(t *testing.T, f *fakes) map[string]string {
	t.Helper()
	out, err := f.lab.Tree()
	if err != nil {
		t.Fatal(err)
	}
	dir := f.lab.StateDir()
	if err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(p, dir)
		if err != nil || strings.HasPrefix(rel, "/runs") || strings.HasPrefix(rel, "/lock") || rel == "/format" ||
			e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if out["control host"+rel] = string(data); rel == "/owner.json" { // each run writes its own
			out["control host"+rel] = "some owner"
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAFirstInstallationIsReverted: its last hook fails, after all of its work. Nothing is left, the log says so,
// nothing is offered to be resumed, and the next deploy is one from the beginning.
func TestAFirstInstallationIsReverted(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	d.Answers.OnFailure = &request.OnFailure{Ask: true} // as from the menu: undo stays
	before := everything(t, f)
	q := undone(t, f, f.lab.DeployYAML())
	_, last, _ := ended(t, q, d)
	if !last.Reverted || last.Outcome != event.Failed || last.Fault == nil || last.Fault.Code != "run.reverted" {
		t.Errorf("%+v", last)
	}
	if next := last.Next[len(last.Next)-1]; next.Key != "next.undone" || next.Args["nodes"] != "m1, w1" {
		t.Errorf("%+v", last.Next)
	}
	if diff := cmp.Diff(before, everything(t, f)); diff != "" {
		t.Error(diff)
	}
	c, err := Cluster(t.Context(), f, "sim")
	if err != nil || c.Status != request.Removed {
		t.Errorf("%+v %v", c, err)
	}
	first, last, _ := ended(t, deployOf(f), d)
	if first.Resumed || last.Exit != 0 {
		t.Errorf("%+v %+v", first, last)
	}
}

// TestNodesThatWereAddedAreReverted: a worker joins a cluster that lives and the run fails at its end; the cluster and
// the worker are what they were.
func TestNodesThatWereAddedAreReverted(t *testing.T) {
	long(t)
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 2})
	all := f.lab.DeployYAML()
	text := strings.Replace(string(all), "- {name: w2, ip: 192.0.2.22, port: 22, arch: amd64}\n", "", 1)
	small := deployOf(f)
	small.Source.Text = []byte(text)
	if _, last, _ := ended(t, small, d); last.Exit != 0 || text == string(all) {
		t.Fatalf("%+v", last)
	}
	// What changes more than nodes, or adds none, is refused; and the cluster is not touched.
	for name, refused := range map[string]string{"no node more": text,
		"a flag too": string(all) + "apiserver-timeout: 61s\n"} {
		q := undone(t, f, []byte(refused))
		before := everything(t, f)
		_, err := Start(t.Context(), q, d)
		eventtest.Fault(t, err, "undo.living", "")
		if diff := cmp.Diff(before, everything(t, f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// The simulation has it from the start.
	if err := os.RemoveAll(filepath.Join(f.lab.StateDir(), "pki", "nodes", "w2")); err != nil {
		t.Fatal(err)
	}
	deploys := undone(t, f, all)
	joins := request.Join{Common: deploys.Common, Nodes: []config.Node{{Name: "w2", Arch: "amd64",
		IP: netip.MustParseAddr("192.0.2.22"), Roles: []bundle.Role{bundle.Worker}}}}
	joins.Source = request.Source{Cluster: "sim"}
	joins.Hooks.OfNodes = true
	for _, q := range []request.Request{deploys, joins} {
		reverted(t, f, d, q)
	}
}

// reverted runs a request to which w2 joins, and which fails.
func reverted(t *testing.T, f *fakes, d Deps, q request.Request) {
	t.Helper()
	before, objects := everything(t, f), f.lab.API.Objects()
	_, last, h := ended(t, q, d)
	if next := last.Next[len(last.Next)-1]; !last.Reverted || next.Key != "next.undone" || next.Args["nodes"] != "w2" {
		t.Errorf("%+v", last)
	}
	if diff := cmp.Diff(before, everything(t, f)); diff != "" {
		t.Error(diff)
	}
	// A lease goes with its Node, by the garbage collector.
	leases := func(o string) bool { return strings.HasSuffix(o, "/leases/w2") }
	now := slices.DeleteFunc(f.lab.API.Objects(), leases)
	if diff := cmp.Diff(slices.DeleteFunc(objects, leases), now); diff != "" {
		t.Error(diff)
	}
	_, err := Resume(t.Context(), f, "sim", "", request.Common{})
	eventtest.Fault(t, err, "resume.nothing", "")
	_, err = Resume(t.Context(), f, "sim", h.Run().Run, request.Common{})
	eventtest.Fault(t, err, "resume.reverted", "")
}

// TestAStopWhileItIsReverted: what is left is said, with the command that removes it, which does so.
func TestAStopWhileItIsReverted(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	before := everything(t, f)
	var h *Handle
	begun := make(chan struct{})
	d.Sink = sinkFunc(func(r event.Record) error {
		if n, is := r.Event.(event.Notice); is && n.Text.Key == "notice.undo" {
			<-begun
			return h.Stop()
		}
		return nil
	})
	h, err := Start(t.Context(), undone(t, f, f.lab.DeployYAML()), d)
	if err != nil {
		t.Fatal(err)
	}
	close(begun)
	_, _ = h.Wait(t.Context())
	rec, err := journal.Last(h.Run().Dir)
	last, _ := rec.Event.(event.RunEnded)
	if err != nil || last.Reverted || last.Outcome != event.Failed {
		t.Fatalf("%+v %v", last, err)
	}
	next := last.Next[len(last.Next)-1]
	if next.Key != "next.undo-unfinished" || next.Call == nil || next.Call.Verb != "cleanup" || !next.Call.Purge {
		t.Fatalf("%+v", last.Next)
	}
	d.Sink = nil
	c := request.Cleanup{Common: request.OfCluster("sim"), Purge: true}
	if _, last, _ := ended(t, c, d); last.Exit != 0 {
		t.Errorf("%+v", last)
	}
	is, err := f.lab.Tree()
	for name := range before {
		if strings.HasPrefix(name, "control host") {
			delete(before, name)
		}
	}
	if diff := cmp.Diff(before, is); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestWhereUndoIsRefused: verbs that it is not for, and with a limit. A run that is resumed does not take it over.
func TestWhereUndoIsRefused(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	undo := request.OnFailure{Undo: true}
	limited := deployOf(f)
	limited.OnFailure, limited.Limit = undo, []string{"m1"}
	clean := request.Cleanup{Common: deployOf(f).Common}
	clean.OnFailure = undo
	for code, q := range map[string]request.Request{"usage.undo-limit": limited, "usage.undo-verb": clean} {
		_, err := Start(context.Background(), q, d)
		eventtest.Fault(t, err, code, "")
	}
	if c := (request.Common{}).Continue(&event.RunOptions{OnFailure: "undo"}); c.OnFailure.Undo {
		t.Error("it is taken over")
	}
}
