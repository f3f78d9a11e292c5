package kubeadm

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// TestTheWayBackOfAStaticPod: the API server of a newer bundle does not start, which is said with its last words. That
// of the old bundle then starts from a manifest like the one that it had.
func TestTheWayBackOfAStaticPod(t *testing.T) {
	r, newer := made(t, ""), made(t, "")
	m := *nodestest.Manifest()
	m.Kubernetes = "v1.35.4"
	m.Members, m.Images = newer.BundleOf(newer.named("m1")).Manifest().Members,
		newer.BundleOf(newer.named("m1")).Manifest().Images
	newer.services.SetBundle("amd64", nodestest.Box{Is: &m})
	n := r.named("m1")
	mach := newMachine(t, r.Binaries(n, Program)[0].File)
	nd := node.New(mach, r.Emit)
	for _, x := range []*Kubeadm{r, newer} {
		x.SetNode("m1", nd)
	}
	well := func(context.Context, *node.Node) error { return nil }
	uid := regexp.MustCompile("\n  uid: .*")
	text := func() string {
		t.Helper()
		data, err := os.ReadFile(mach.at(manifest(driver.Scheduler)))
		if err != nil {
			t.Fatal(err)
		}
		return uid.ReplaceAllString(string(data), "")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old, bad := scheduler(t, r, nd), scheduler(t, newer, nd)
	if old.revision == bad.revision {
		t.Fatal("another version is no other pod")
	}
	must(r.StartLocked(t.Context(), driver.Scheduler, n, nd))
	end := process(t, "kube-scheduler", old.revision)
	work := r.Start(driver.Scheduler, n, well)
	wants(t, "it runs", true, work.Check)
	was := text()

	log := mach.at("/var/log/pods/kube-system_kube-scheduler-m1_1/kube-scheduler/3.log")
	must(os.MkdirAll(filepath.Dir(log), 0o700))
	must(os.WriteFile(log, []byte("2026-11-26T00:00:00Z stderr F it does not start\n"), 0o600))
	must(newer.StartLocked(t.Context(), driver.Scheduler, n, nd))
	end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	f := event.AsFault(newer.then(driver.Scheduler, n, well)(ctx, nd))
	if f == nil || f.Code != "component.not-started" || f.Args["log"] != "it does not start" {
		t.Fatalf("%v", f)
	}
	if text() == was {
		t.Fatal("the new one has the old manifest")
	}
	wants(t, "the new one is there", false, work.Check)
	must(r.StartLocked(t.Context(), driver.Scheduler, n, nd))
	process(t, "kube-scheduler", old.revision)
	wants(t, "it is what it was", true, work.Check)
	if now := text(); now != was {
		t.Errorf("the manifest was\n%s\nand is\n%s", was, now)
	}
}

// TestMembersAreStoppedAndBeginAgain is what a restore asks of a member that is a static pod: it ends and stays so
// while its data are exchanged, and starts with the manifest that it had; a deploy then has nothing to do.
func TestMembersAreStoppedAndBeginAgain(t *testing.T) {
	r := made(t, "")
	n := r.named("m1")
	m := newMachine(t, r.Binaries(n, Program)[0].File)
	nd := node.New(m, r.Emit)
	r.SetNode("m1", nd)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.Form(t.Context(), n, nd, driver.Formation{State: "new", Members: map[string]string{
		"m1": "https://192.0.2.11:2380", "m2": "https://192.0.2.12:2380", "m3": "https://192.0.2.13:2380"}}))
	must(r.StartLocked(t.Context(), driver.Etcd, n, nd))
	p, err := r.pod(driver.Etcd, n, nd)
	must(err)
	end := process(t, "etcd", p.revision)
	work := r.Start(driver.Etcd, n, func(context.Context, *node.Node) error { return nil })
	wants(t, "it runs", true, work.Check)
	change := func(script string) {
		t.Helper()
		_, err := nd.Change(t.Context(), node.Change{Desc: event.M("change.static-pod"), Script: script})
		must(err)
	}
	go func() { // as the kubelet does when it sees the manifest go
		for {
			if _, err := os.Stat(m.at(manifest(driver.Etcd))); err != nil {
				end()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	change(r.Stop(driver.Etcd))
	stopped := func(ctx context.Context) (bool, error) { return r.Stopped(ctx, nd, driver.Etcd) }
	wants(t, "it has ended", true, stopped)
	change(r.Stop(driver.Etcd)) // again, after a kill
	wants(t, "it has ended", true, stopped)
	change(r.Resume(driver.Etcd))
	wants(t, "it may start", false, stopped)
	process(t, "etcd", p.revision)
	wants(t, "it runs", true, func(ctx context.Context) (bool, error) { return r.Runs(ctx, nd, driver.Etcd) })
	wants(t, "as it was", true, work.Check)
	text, err := os.ReadFile(m.at(manifest(driver.Etcd)))
	must(err)
	if !strings.Contains(string(text),
		"m1=https://192.0.2.11:2380,m2=https://192.0.2.12:2380,m3=https://192.0.2.13:2380") {
		t.Errorf("%s", text)
	}
}

// TestAnEditedManifestIsRepaired: what it was edited to runs in the same revision, so it ends before the right one is
// the kubelet's again.
func TestAnEditedManifestIsRepaired(t *testing.T) {
	r := made(t, "")
	n := r.named("m1")
	m := newMachine(t, r.Binaries(n, Program)[0].File)
	nd := node.New(m, r.Emit)
	if err := r.StartLocked(t.Context(), driver.Scheduler, n, nd); err != nil {
		t.Fatal(err)
	}
	p := scheduler(t, r, nd)
	end := process(t, "kube-scheduler", p.revision)
	addTo(t, m.at(manifest(p.c)), "    - --authorization-always-allow-paths=/*\n")
	wants(t, "it was edited", false, p.Current)
	stop := make(chan struct{})
	go func() { // as the kubelet does when it sees the manifest go
		defer close(stop)
		for t.Context().Err() == nil {
			if _, err := os.Stat(m.at(manifest(driver.Scheduler))); err != nil {
				end()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if err := r.StartLocked(t.Context(), driver.Scheduler, n, nd); err != nil {
		t.Fatal(err)
	}
	wants(t, "what was edited runs", false, p.Runs)
	<-stop
	process(t, "kube-scheduler", p.revision)
	wants(t, "it is what it was", true, p.Current)
}

// TestAMemberWhoseManifestSomebodyMovedIsStopped: it has no unit, so it is none.
func TestAMemberWhoseManifestSomebodyMovedIsStopped(t *testing.T) {
	r := made(t, "")
	nd := node.New(newMachine(t, r.Binaries(r.named("m1"), Program)[0].File), r.Emit)
	for _, script := range []string{r.Stop(driver.Etcd), r.Resume(driver.Etcd)} {
		_, err := nd.Change(t.Context(), node.Change{Desc: event.M("change.static-pod"), Script: script})
		if err != nil {
			t.Error(err)
		}
	}
}
