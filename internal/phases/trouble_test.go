package phases_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// twice makes a plan whose steps each do their work two times, as after a cut that lost the outcome, and asks each that
// can say so whether it is done.
func twice(t *testing.T, plan func(phases.Env) *engine.Plan) func(phases.Env) *engine.Plan {
	return func(e phases.Env) *engine.Plan {
		p := plan(e)
		for _, s := range p.Steps {
			apply := s.Apply
			if apply == nil {
				continue
			}
			s.Apply = func(ctx context.Context) error {
				if err := apply(ctx); err != nil {
					return err
				}
				if strings.HasPrefix(s.ID, "infrastructure.load-images/") {
					return nil // removes what it loaded from; a cut before that is left to Check
				}
				if err := apply(ctx); err != nil && !errors.Is(err, engine.ErrUnchanged) {
					t.Errorf("%s the second time: %v", s.ID, err)
				}
				return nil
			}
			verify := s.Verify
			s.Verify = func(ctx context.Context) error {
				if verify != nil {
					if err := verify(ctx); err != nil {
						return err
					}
				}
				if s.Check != nil && !strings.HasPrefix(s.ID, "infrastructure.send-images/") {
					// which knows only of loaded ones, and finds that nothing is to be sent
					if ok, err := s.Check(ctx); err != nil || !ok {
						t.Errorf("%s was applied and does not know it: %v", s.ID, err)
					}
				}
				return nil
			}
		}
		return p
	}
}

func TestEveryStepMayRunTwice(t *testing.T) {
	long(t)
	t.Parallel()
	once := deployed(t, workers(1))
	l := newLab(t, 1)
	before := tree(t, l)
	if _, sum, err := run(t, l, twice(t, phases.Deploy)); err != nil {
		t.Fatal(err, sum.Failed)
	}
	if diff := cmp.Diff(tree(t, once), tree(t, l)); diff != "" {
		t.Error("twice is not like once:", diff)
	}
	if _, sum, err := run(t, l, twice(t, purge)); err != nil {
		t.Fatal(err, sum.Failed)
	}
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a cleanup of which each step ran twice:", diff)
	}
}

func TestAFileOfSomebodyElseIsNotOverwritten(t *testing.T) {
	t.Parallel()
	const early = "preflight.verdict" // programs and units are searched for before anything is touched
	for path, step := range map[string]string{
		"/usr/local/bin/kubelet":              early,
		"/etc/sysctl.d/99-zz-eggo.conf":       "infrastructure.system/m1",
		"/etc/systemd/system/etcd.service":    early,
		"/etc/systemd/system/kubelet.service": early,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 0)
			put(t, l.Nodes["m1"].Path(path), "[Service]\nExecStart=/usr/local/bin/own\n")
			before := tree(t, l)
			b, sum, err := run(t, l, phases.Deploy)
			if err == nil || len(sum.Failed) != 1 || sum.Failed[0].Step != step {
				t.Fatalf("%v: %+v", err, sum.Failed)
			}
			fault, what := sum.Failed[0].Fault, "what"
			if step == early {
				fault, what = &of[event.Finding](b)[0].Fault, "files"
			}
			if want := map[bool]string{true: "preflight.foreign-files",
				false: "node.file-exists"}[step == early]; fault.Code != want || fault.Args[what] != path {
				t.Fatalf("%+v", fault)
			}
			key := "m1/root" + path
			if got := tree(t, l)[key]; got != before[key] {
				t.Errorf("it was changed: %q", got)
			}
			cleanup(t, l, purge)
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Error("after cleanup:", diff)
			}
		})
	}
}

func TestANodeOfAnotherClusterIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	put(t, l.Nodes["w1"].Path("/var/lib/eggo-node/node"), "other\nw1\n")
	put(t, l.Nodes["w1"].Path("/var/lib/eggo-node/record"), "file\t/usr/local/bin/own\tabsent\n")
	before := tree(t, l)
	for _, plan := range []func(phases.Env) *engine.Plan{phases.Deploy, plain, purge} {
		b, _, err := run(t, l, plan)
		if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight ||
			!slices.Contains(b.findings(), "preflight.other-cluster") {
			t.Errorf("%v, found %v", err, b.findings())
		}
		if diff := cmp.Diff(before, tree(t, l)); diff != "" {
			t.Error("touched:", diff)
		}
	}
}

func TestWhatPreflightFindsStopsEverything(t *testing.T) {
	t.Parallel()
	for code, spoil := range map[string]func(t *testing.T, n *phasestest.Node){
		"preflight.swap": func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/proc/swaps"), "Filename\n/swapfile file 1 0 -2\n")
		},
		"preflight.os": func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/etc/os-release"), "ID=fedora\nPRETTY_NAME='Fedora 42'\n")
		},
		"preflight.address": func(t *testing.T, n *phasestest.Node) { put(t, n.State("address"), "198.51.100.7\n") },
		"preflight.disk":    func(t *testing.T, n *phasestest.Node) { put(t, n.State("free"), "1000000\n") },
		"preflight.missing": func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/sys/fs/cgroup/cgroup.controllers"), "cpu io\n")
		},
		"preflight.leftovers": func(t *testing.T,
			n *phasestest.Node) {
			put(t, n.Path("/etc/kubernetes/admin.conf"), "of a cluster\n")
		},
		"preflight.foreign-cluster": func(t *testing.T,
			n *phasestest.Node) {
			put(t, n.State("active/k3s.service"), "")
		},
		"preflight.port": func(t *testing.T, n *phasestest.Node) {
			put(t, n.State("listening"), "LISTEN 0 4096 *:10250 *:* users:((\"nginx\",pid=7,fd=3))\n")
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			spoil(t, l.Nodes["w1"])
			before := tree(t, l)
			b, sum, err := run(t, l, phases.Deploy)
			if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight || len(sum.Changed) > 0 {
				t.Errorf("%v, changed %v", err, sum.Changed)
			}
			if !slices.Equal(b.findings(), []string{code}) {
				t.Errorf("found %v", b.findings())
			}
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Error("touched:", diff)
			}
		})
	}
}

func TestANodeThatIsGoneDoesNotStopTheCleanupOfTheOthers(t *testing.T) {
	long(t)
	t.Parallel()
	bare := tree(t, newLab(t, 1))
	before := maps.Clone(bare)
	l := deployed(t, workers(1))
	l.Nodes["w1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	_, sum, err := run(t, l, purge)
	f := event.AsFault(err)
	if f == nil || f.Class != event.ClassPartial {
		t.Errorf("ended with %+v, %+v, found %v", f, sum.Counts, sum.Failed)
	}
	for _, e := range sum.Failed {
		if e.Fault.Class != event.ClassPartial || e.Fault.Node != "w1" {
			t.Errorf("%+v", e)
		}
	}
	left := tree(t, l)
	for _, m := range []map[string]string{before, left} {
		maps.DeleteFunc(m, func(p, _ string) bool { return !strings.HasPrefix(p, "m1/") })
	}
	if diff := cmp.Diff(before, left); diff != "" {
		t.Error("left:", diff)
	}
	l.Nodes["w1"].PowerOff(nil)
	cleanup(t, l, purge)
	if diff := cmp.Diff(bare, tree(t, l)); diff != "" {
		t.Error("left when it is back:", diff)
	}
}

func TestAComponentThatDoesNotStartIsNamedAndTheNextDeployGoesOn(t *testing.T) {
	long(t)
	t.Parallel()
	l := newLab(t, 0)
	put(t, l.Nodes["m1"].State("broken/kube-scheduler.service"), "")
	_, sum, err := run(t, l, phases.Deploy)
	if err == nil || len(sum.Failed) != 1 {
		t.Fatal(err, sum.Failed)
	}
	f := sum.Failed[0].Fault
	if f.Step != "control-plane.scheduler/m1" || f.Code != "node.command-failed" ||
		!strings.Contains(f.Cause, "it is broken") {
		t.Errorf("%+v", f)
	}
	if full, ok := f.Args[event.FullDisks]; ok {
		t.Errorf("full: %s", full)
	}
	if err := os.Remove(l.Nodes["m1"].State("broken/kube-scheduler.service")); err != nil {
		t.Fatal(err)
	}
	b := deploy(t, l)
	for _, c := range of[event.Change](b) {
		if c.Step != "control-plane.scheduler/m1" {
			t.Errorf("changed again: %+v", c)
		}
	}
}

// TestAFailureOnAFullDiskSaysSo: what fails does not say that its disk is full; the fault does.
func TestAFailureOnAFullDiskSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t, 0)
	put(t, l.Nodes["m1"].State("broken/etcd.service"), "1000\n/var/lib 99999999\n/usr/local 100\n/etc 200\n")
	_, sum, err := run(t, l, phases.Deploy)
	if err == nil || len(sum.Failed) != 1 {
		t.Fatal(err, sum.Failed)
	}
	f := sum.Failed[0].Fault
	if f.Code != "node.command-failed" || !strings.Contains(f.Cause, "it is broken") ||
		f.Args[event.FullDisks] != "/, /etc, /usr/local" {
		t.Errorf("%+v", f)
	}
}

func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	b := deploy(t, l)
	var secrets [][]byte
	err := filepath.WalkDir(filepath.Join(l.StateDir(), "pki"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".crt") || strings.HasSuffix(p, ".pub") {
			return err
		}
		data, err := os.ReadFile(p)
		if i := bytes.Index(data, []byte("Secret")); i > 0 && filepath.Base(p) == "bootstrap-token" {
			data = bytes.Trim(data[i+len("Secret"):i+len("Secret")+20], `":,`)
		}
		for _, line := range bytes.Split(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 15 && !bytes.HasPrefix(line, []byte("-")) &&
				!bytes.HasSuffix(line, []byte(":")) && !bytes.Contains(line, []byte("apiVersion")) &&
				!bytes.Contains(line, []byte("kind")) {
				secrets = append(secrets, line)
			}
		}
		return err
	})
	if err != nil || len(secrets) < 20 {
		t.Fatal(len(secrets), err)
	}
	var told bytes.Buffer
	for i, e := range b.all {
		line, err := event.Encode(event.Record{Seq: uint64(i + 1), Event: e})
		if err != nil {
			t.Fatal(err)
		}
		told.Write(line)
	}
	for name, n := range l.Nodes {
		for _, c := range n.Commands() {
			if !c.Secret {
				told.WriteString(c.Script)
				told.Write(c.Stdin)
			}
		}
		err := filepath.WalkDir(n.Path("/"), func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			i, err := d.Info()
			if i.Mode().Perm()&0o077 != 0 && (bytes.Contains(data, []byte("PRIVATE KEY")) ||
				bytes.Contains(data, []byte("client-key-data")) || bytes.Contains(data, []byte("token:"))) {
				t.Errorf("%s: %s may be read by others", name, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range secrets {
		if bytes.Contains(told.Bytes(), s) {
			t.Errorf("a secret was told: %.12s…", s)
		}
	}
	for _, f := range []string{"ca.key", "etcd/ca.key", "front-proxy-ca.key"} {
		if _, err := os.Stat(l.Nodes["w1"].Path("/etc/kubernetes/pki/" + f)); err == nil {
			t.Error("on a worker:", f)
		}
	}
	if _, err := os.Stat(l.Nodes["m1"].Path("/etc/kubernetes/pki/etcd/ca.key")); err == nil {
		t.Error("the etcd authority's key left the jump host")
	}
}

func TestADirectoryWithoutARecordIsRemovedToo(t *testing.T) {
	t.Parallel()
	l := newLab(t, 0)
	before := tree(t, l)
	if err := os.Mkdir(l.Nodes["m1"].Path("/var/lib/eggo-node"), 0o700); err != nil {
		t.Fatal(err)
	}
	cleanup(t, l, plain)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error(diff)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
