package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// Whoever reads makes nothing, and finds what a run has saved.
func TestFilesOfACluster(t *testing.T) {
	d := Dir{Root: filepath.Join(t.TempDir(), "state")}
	if all, err := d.Clusters(t.Context()); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	f, err := d.Read(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(d.Root, "one", "deploy.yaml")
	if _, path, err := f.Config(); path != own || !errors.Is(err, fs.ErrNotExist) {
		t.Error(path, err)
	}
	if _, err := os.Stat(d.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("reading made the directory", err)
	}
	if _, err := d.Read(t.Context(), "../one"); event.AsFault(err) == nil {
		t.Error("a cluster outside of the directory")
	}
	if f, err = d.Open(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	log, err := f.Journal().NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := errors.Join(f.CopyConfig(log.ID(), []byte("begun")),
		f.SaveConfig(t.Context(), []byte("kept"))); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, own) + " " + textOf(t, filepath.Join(log.Dir(), "deploy.yaml")); got != "kept begun" {
		t.Error(got)
	}
	if i, err := os.Stat(own); err != nil || i.Mode().Perm() != 0o600 {
		t.Error(i, err)
	}
	if all, err := d.Clusters(t.Context()); len(all) != 1 || all[0] != "one" || err != nil {
		t.Error(all, err)
	}
	if err := f.Close(); err != nil || textOf(t, own) != "kept" {
		t.Error("closing removed something", err)
	}
}

// What is done to a copy is not done to the cluster, and is gone with the copy.
func TestACopyIsThrownAway(t *testing.T) {
	d := Dir{Root: t.TempDir()}
	own := filepath.Join(d.Root, "one")
	for _, name := range []string{"deploy.yaml", "known_hosts", "admin.conf", "pki/etcd/ca.crt", "runs/log",
		"etcd/snap", "upgrade.json"} {
		place(t, filepath.Join(own, name), "original")
	}
	f, err := d.Copy(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"known_hosts", "admin.conf", "pki/etcd/ca.crt", "upgrade.json"} {
		if textOf(t, filepath.Join(f.Dir(), name)) != "original" {
			t.Error(name, "is not in the copy")
		}
		place(t, filepath.Join(f.Dir(), name), "changed")
	}
	if list, err := filepath.Glob(filepath.Join(f.Dir(), "*")); len(list) != 5 || err != nil {
		t.Error(list, err)
	}
	if err := errors.Join(f.SaveConfig(t.Context(), []byte("changed")), f.KeepStages([]string{"x"})); err != nil {
		t.Error(err)
	}
	text, path, err := f.Config()
	if string(text) != "original" || path != filepath.Join(own, "deploy.yaml") || err != nil {
		t.Error(string(text), path, err)
	}
	if f.Journal().Path() != own {
		t.Error(f.Journal().Path())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the copy is there still", err)
	}
	for _, name := range []string{"known_hosts", "admin.conf", "pki/etcd/ca.crt"} {
		if textOf(t, filepath.Join(own, name)) != "original" {
			t.Error(name, "was changed")
		}
	}
	if _, err := os.Stat(filepath.Join(own, stagesName)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// In use is what the last run used and what deploy.yaml names; a cluster that was cleaned up uses nothing.
func TestStagesInUse(t *testing.T) {
	d, file := Dir{Root: t.TempDir()}, filepath.Join(t.TempDir(), "eggo-amd64.tar.gz")
	if err := phasestest.WriteBundle(file); err != nil {
		t.Fatal(err)
	}
	a, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string) operation.Files {
		f, err := d.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, text := range map[string]string{
		"one": "cluster-id: one\nmasters:\n- {name: m1, ip: 192.0.2.11, arch: amd64}\nnodes:\n" +
			"- {name: m1, ip: 192.0.2.11, arch: amd64}\nnetwork: {podcidr: 10.200.0.0/16, plugin: flannel}\n" +
			"package-src: {type: tar.gz, x86src: " + file + "}\n",
		"two": "cluster-id: two\n", "gone": "cluster-id: gone\n", "broken": "cluster-id: [\n",
	} {
		if err := open(name).SaveConfig(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for name, ids := range map[string][]string{"two": {"b", "a", "b"}, "gone": {"c"}, "broken": {"d"}} {
		if err := open(name).KeepStages(ids); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(d.Root, "gone", ConfigName)
	if err := os.Rename(own, own+".cleaned"); err != nil {
		t.Fatal(err)
	}
	got, err := d.Stages(t.Context())
	if want := "d " + a.ID() + " a b"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q %v, want %s", got, err, want)
	}
	// The bundles of an upgrade under way are in use, too.
	next := filepath.Join(t.TempDir(), "next.tar.gz")
	if err := phasestest.WriteBundle(next); err != nil {
		t.Fatal(err)
	}
	under := upgrade.Begun{From: "v1.34.2", Hops: []upgrade.Hop{{Version: "v1.35.4",
		Source: config.PackageSource{Bundles: map[string]string{"amd64": next}}}}}
	if err := under.Write(filepath.Join(d.Root, "one")); err != nil {
		t.Fatal(err)
	}
	got, err = d.Stages(t.Context())
	b, err2 := bundle.Open(next)
	if err2 != nil {
		t.Fatal(err2)
	}
	if want := "d " + a.ID() + " " + b.ID() + " a b"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q %v, want %s", got, err, want)
	}
	// What a newer version may use, and what nobody wrote down, is unknown.
	for name, text := range map[string]string{
		"later/format": `{"format":99}`, "two/stages.json": "{", "new/deploy.yaml": "[",
	} {
		path := filepath.Join(d.Root, name)
		was, _ := os.ReadFile(path)
		place(t, path, text)
		if got, err := d.Stages(t.Context()); err == nil || got != nil {
			t.Errorf("%s: %q", name, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if was != nil {
			place(t, path, string(was))
		}
	}
}

// What is no file is not read: a pipe would be waited at.
func TestADeployYamlThatIsNoFile(t *testing.T) {
	d := Dir{Root: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(d.Root, "one", ConfigName), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := d.Read(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Config(); event.AsFault(err).Code != "config.not-a-file" {
		t.Error(err)
	}
}
