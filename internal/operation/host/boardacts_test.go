package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// A board is open before its run has kept the cluster's deploy.yaml: shell and edit are offered all the same, and find
// it when they are asked for.
func TestABoardThatIsOpenedEarly(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cluster, err := journal.Open(root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	log, err := cluster.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h := testHost(t, root, nil)
	past, live := backend.Board{}, backend.Board{Control: control.Client{Dir: cluster.RunDir(log.ID())}}
	h.acts(cluster, log.ID(), &past)
	if past.Shell != nil || past.Edit != nil {
		t.Error("a past run that kept no deploy.yaml offers a shell, or an editor")
	}
	h.acts(cluster, log.ID(), &live)
	if _, err := live.Shell("n1"); event.AsFault(err).Code != "board.too-early" {
		t.Errorf("shell: %v", err)
	}
	if _, _, err := live.Edit(); event.AsFault(err).Code != "board.too-early" {
		t.Errorf("edit: %v", err)
	}
	text := "cluster-id: rack\nusername: root\nprivate-key-path: /keys/k\nmasters:\n- {name: n1, ip: 192.0.2.1}\n" +
		"nodes:\n- {name: n1, ip: 192.0.2.1}\nnetwork: {podcidr: 10.244.0.0/16, plugin: flannel}\n" +
		"addons:\n- {type: file, filename: kube-flannel.yml}\npackage-src: {type: tar.gz, x86src: /b.tar.gz}\n"
	if err := os.WriteFile(filepath.Join(cluster.Path(), store.ConfigName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := live.Shell("n1")
	if err != nil || !slices.Contains(c.Args, "192.0.2.1") ||
		!slices.Contains(c.Args, `UserKnownHostsFile="`+filepath.Join(cluster.Path(), "known_hosts")+`"`) {
		t.Errorf("%v %v", c, err)
	}
	edited := filepath.Join(cluster.Path(), "edit-"+store.ConfigName)
	if c, _, err = live.Edit(); err != nil || !slices.Contains(c.Args, edited) {
		t.Errorf("%v %v", c, err)
	}
}

// What is written in the editor takes the place of the cluster's deploy.yaml when it has no faults, and ends the run
// then; else it is kept to be fixed.
func TestEditAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, store.ConfigName)
	good := "cluster-id: rack\nusername: root\nprivate-key-path: /keys/k\nmasters:\n- {name: n1, ip: 192.0.2.1}\n" +
		"nodes:\n- {name: n1, ip: 192.0.2.1}\nnetwork: {podcidr: 10.244.0.0/16, plugin: flannel}\n" +
		"addons:\n- {type: file, filename: kube-flannel.yml}\npackage-src: {type: tar.gz, x86src: /b.tar.gz}\n"
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	stops := 0
	edit := func(script string) (bool, error) {
		t.Helper()
		getenv := func(k string) string { return map[string]string{"EDITOR": "sed -i " + script}[k] }
		c, after, err := editAgain(getenv, path, func() error { stops++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		return after()
	}
	if again, err := edit("s/nothing/x/"); again || err != nil || exists(filepath.Join(dir, "edit-"+store.ConfigName)) {
		t.Errorf("nothing was changed: %v %v", again, err)
	}
	again, err := edit("s/192.0.2.1/300.0.2.1/")
	if w := (*backend.WrongEdit)(nil); again || !errors.As(err, &w) || w.Line != 5 || w.Key != "masters[0].ip" ||
		w.More != 1 {
		t.Errorf("an address that is none, twice: %v %#v", again, err)
	}
	if now, _ := os.ReadFile(path); string(now) != good || stops > 0 {
		t.Errorf("a faulty file counts: %s, %d stops", now, stops)
	}
	if again, err := edit("'s/300.0.2.1/192.0.2.2/; s/10.244/10.245/'"); !again || err != nil || stops != 1 {
		t.Errorf("fixed: %v %v, %d stops", again, err, stops)
	}
	if now, _ := os.ReadFile(path); !strings.Contains(string(now), "192.0.2.2") ||
		!strings.Contains(string(now), "10.245") || exists(filepath.Join(dir, "edit-"+store.ConfigName)) {
		t.Errorf("%s", now)
	}
}

// Without VISUAL and EDITOR the editors that machines have are looked for; where there is none, it is said.
func TestEditorOf(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	getenv := func(k string) string { return map[string]string{"EDITOR": ""}[k] }
	if e, err := editorOf(getenv); e != "" || event.AsFault(err).Code != "edit.no-editor" {
		t.Errorf("%q %v", e, err)
	}
	for _, name := range []string{"nano", "vi"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if e, err := editorOf(getenv); e != name || err != nil {
			t.Errorf("%q %v, want %s", e, err, name)
		}
	}
	getenv = func(k string) string { return map[string]string{"EDITOR": "ed", "VISUAL": "code --wait"}[k] }
	if e, err := editorOf(getenv); e != "code --wait" || err != nil {
		t.Errorf("%q %v", e, err)
	}
}

func TestSaveLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := &Host{Dir: dir}
	from := filepath.Join(dir, "in")
	if _, err := h.saveLog(from, "a.log"); event.AsFault(err).Code != "log.empty" {
		t.Error(err)
	}
	if err := os.WriteFile(from, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.log", "a-2.log", "a-3.log"} {
		got, err := h.saveLog(from, "a.log")
		data, _ := os.ReadFile(filepath.Join(dir, want))
		if err != nil || filepath.Base(got) != want || string(data) != "text\n" {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	for _, c := range []struct{ name, from, to string }{
		{"a log that cannot be opened", filepath.Join(from, "in"), "b.log"},
		{"a log that cannot be read", dir, "b.log"},
		{"no place for it", from, filepath.Join("none", "b.log")},
	} {
		_, err := h.saveLog(c.from, c.to)
		if f := event.AsFault(err); f == nil || f.Code != "log.save" || f.Args["file"] != c.to || f.Cause == "" ||
			exists(filepath.Join(dir, c.to)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A machine without a pager says so.
func TestPagerThatThisMachineLacks(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	log := filepath.Join(t.TempDir(), "n1.log")
	if err := os.WriteFile(log, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(string) string { return "" }
	_, err := pager(getenv, log)
	if f := event.AsFault(err); f == nil || f.Code != "log.no-pager" || f.Class != event.ClassUsage {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "more"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if c, err := pager(getenv, log); err != nil || !slices.Equal(c.Args, []string{filepath.Join(bin, "more"), log}) {
		t.Error(c, err)
	}
}
