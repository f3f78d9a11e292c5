package operation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

const ownerFile = "/var/lib/eggo-node/owner"

// errorsOf runs a request to its end, and returns the findings that refused it by their node.
func errorsOf(t *testing.T, q request.Request, d Deps) (map[string]event.Fault, error) {
	t.Helper()
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Wait(t.Context())
	out := map[string]event.Fault{}
	for r := range journal.Read(h.Run().Dir) {
		if f, is := r.Event.(event.Finding); is && f.Severity == event.Error {
			out[f.Host] = f.Fault
		}
	}
	return out, err
}

// ownerOn reads the owner that a node has.
func ownerOn(t *testing.T, f *fakes, name string) node.Owner {
	t.Helper()
	line, err := os.ReadFile(f.lab.Nodes[name].Path(ownerFile))
	if err != nil {
		t.Fatal(err)
	}
	return node.ParseOwner(line)
}

// disagree has another copy of the cluster's files begin a run with this number that has reached one node only.
func disagree(t *testing.T, f *fakes, name string, fence uint64) {
	t.Helper()
	o := ownerOn(t, f, name)
	o.Fence, o.Token, o.By = fence, "other"+strconv.Itoa(int(fence)), "you@there pid 8: eggo-tui deploy sim"
	o.At = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	line, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(f.lab.Nodes[name].Path(ownerFile), append(line, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// allAt checks that the files and the nodes have a number.
func allAt(t *testing.T, f *fakes, what string, fence uint64, nodes ...string) {
	t.Helper()
	files := ownerAt(t, f.root)
	if files.Fence != fence {
		t.Errorf("%s: the files have %+v", what, files)
	}
	for _, name := range nodes {
		if is := ownerOn(t, f, name); is != files {
			t.Errorf("%s: %s has %+v, the files have %+v", what, name, is, files)
		}
	}
}

// Of nodes with different numbers the highest counts, and each refusal names its node's run and the highest number.
func TestStart_NodesWithDifferentNumbers(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 2})
	q := deployOf(f)
	if refused, err := errorsOf(t, q, d); err != nil {
		t.Fatal(refused, err)
	}
	disagree(t, f, "w1", 9)
	disagree(t, f, "w2", 5)
	for _, c := range []struct {
		takeOver uint64
		refused  map[string]string // nodes, with the number of their run
	}{
		{0, map[string]string{"w1": "9", "w2": "5"}},
		{4, map[string]string{"w1": "9", "w2": "5"}},
		{5, map[string]string{"w1": "9"}},
		{8, map[string]string{"w1": "9"}},
	} {
		q.TakeOver = c.takeOver
		refused, err := errorsOf(t, q, d)
		if code(err) != "preflight.failed" || len(refused) != len(c.refused) {
			t.Errorf("%d: %v %v", c.takeOver, refused, err)
		}
		for name, fence := range c.refused {
			args := refused[name].Args
			if refused[name].Code != "preflight.stale-owner" || args["fence"] != fence || args["highest"] != "9" ||
				args["have"] != "1" || args["by"] != "you@there pid 8: eggo-tui deploy sim" ||
				args["at"] != "2026-11-30T08:00:00Z" {
				t.Errorf("%d: %s: %+v", c.takeOver, name, refused[name])
			}
		}
		if ownerAt(t, f.root).Fence != 1 || ownerOn(t, f, "m1").Fence != 1 || ownerOn(t, f, "w2").Fence != 5 {
			t.Errorf("%d: a refused run has raised a number", c.takeOver)
		}
	}
	q.TakeOver = 9
	if refused, err := errorsOf(t, q, d); err != nil {
		t.Fatal(refused, err)
	}
	allAt(t, f, "after the take-over", 10, "m1", "w1", "w2")
}

// A take-over reaches the nodes that live. When the dead one is back with a higher number, the run is refused again,
// with the number of that node.
func TestStart_TakeOverWithADeadNode(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 2})
	d.Clock = operationtest.Swift{}
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	disagree(t, f, "w1", 5)
	disagree(t, f, "w2", 7)
	f.lab.Nodes["w2"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", nil))
	q := request.Delete{Common: request.OfCluster("sim"), Names: []string{"w2"}, Drain: time.Second, Force: true}
	q.TakeOver = 4
	if refused, err := errorsOf(t, q, d); code(err) != "preflight.failed" || refused["w1"].Args["highest"] != "5" {
		t.Fatal(refused, err)
	}
	q.TakeOver = 5
	if refused, err := errorsOf(t, q, d); err != nil {
		t.Fatal(refused, err)
	}
	allAt(t, f, "without the dead node", 6, "m1", "w1")
	f.lab.Nodes["w2"].PowerOff(nil)
	again := deployOf(f) // whose deploy.yaml has w2
	refused, err := errorsOf(t, again, d)
	if len(refused) != 1 || refused["w2"].Code != "preflight.stale-owner" || refused["w2"].Args["highest"] != "7" {
		t.Fatal(refused, err)
	}
	again.TakeOver = 7
	if refused, err := errorsOf(t, again, d); err != nil {
		t.Fatal(refused, err)
	}
	allAt(t, f, "with the node that was dead", 8, "m1", "w1", "w2")
}

// An owner of a newer format, on a node or in the directory, is refused also where it is taken over and where the
// cluster is cleaned up, and nothing is changed.
func TestStart_NewerOwner(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	newer := []byte(`{"format":2,"id":{"parts":["a","b"]},"fence":"seven"}` + "\n")
	takes := deployOf(f)
	takes.TakeOver = 1 << 60
	verbs := map[string]request.Request{"deploy": deployOf(f), "take-over": takes,
		"cleanup": request.Cleanup{Common: request.OfCluster("sim"), Purge: true},
		"renew":   request.Renew{Common: request.OfCluster("sim")},
		"delete": request.Delete{Common: request.OfCluster("sim"), Names: []string{"w1"}, Drain: time.Second,
			Force: true}}
	for _, c := range []struct{ path, code, node, format string }{
		{f.lab.Nodes["w1"].Path(ownerFile), "preflight.newer-owner", "w1", "2"},
		{filepath.Join(f.root, "sim", input.OwnerName), "state.newer-format", "m1", "2"},
	} {
		was, err := os.ReadFile(c.path)
		if err == nil {
			err = os.WriteFile(c.path, newer, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := trees(t, f)
		for name, q := range verbs {
			refused, err := errorsOf(t, q, d)
			if code(err) != "preflight.failed" || refused[c.node].Code != c.code ||
				refused[c.node].Args["format"] != c.format || refused[c.node].Args["ours"] != "1" {
				t.Errorf("%s with %s: %v %v", name, c.path, refused, err)
			}
			if is, err := os.ReadFile(c.path); err != nil || string(is) != string(newer) || trees(t, f) != before {
				t.Errorf("%s with %s has changed a node or the record: %s %v", name, c.path, is, err)
			}
		}
		if _, err := Status(t.Context(), request.OfCluster("sim"), d); err != nil {
			t.Error("a read was refused:", err)
		}
		if err := os.WriteFile(c.path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Error(refused, err)
	}
	allAt(t, f, "with the records of before", 2, "m1", "w1")
}

// A cluster of the driver kubeadm has an owner from its import on, is refused to another copy, and is taken over like
// any other.
func TestStart_OwnerOfADriverKubeadmCluster(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	read := func() request.Import {
		next, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
		q, is := next.(request.Import)
		if err != nil || !is {
			t.Fatal(next, err)
		}
		return q
	}
	if refused, err := errorsOf(t, read(), d); err != nil {
		t.Fatal(refused, err)
	}
	files, err := d.Store.Read(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := ownConfig(files); err != nil || c.Eggo.Driver != config.DriverKubeadm {
		t.Fatal(c, err)
	}
	disagree(t, f, "w1", 8)
	q := read()
	if refused, err := errorsOf(t, q, d); code(err) != "preflight.failed" || refused["w1"].Args["highest"] != "8" {
		t.Error(refused, err)
	}
	q.TakeOver = 8
	if refused, err := errorsOf(t, q, d); err != nil {
		t.Error(refused, err)
	}
	allAt(t, f, "take-over", 9, "m1", "w1")
	if refused, err := errorsOf(t, request.Cleanup{Common: request.OfCluster("sim")}, d); err != nil {
		t.Error(refused, err)
	}
	for _, name := range []string{"m1", "w1"} {
		if _, err := os.Lstat(f.lab.Nodes[name].Path(ownerFile)); err == nil {
			t.Errorf("%s has an owner after the cleanup", name)
		}
	}
	if o := ownerAt(t, f.root); o != (node.Owner{}) {
		t.Errorf("after the cleanup: %+v", o)
	}
}

// A backup that is older than the nodes is refused on a new control host, with the run of the nodes, and continues
// where that number is named. The host that was lost is refused from then on.
func TestOpenRestore_OlderThanTheNodes(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	to, key := keyPair(t)
	dir := t.TempDir()
	q := request.Backup{Common: request.OfCluster("sim"), Dir: dir, Recipients: []string{to}}
	if err := did(t, q, d); err != nil {
		t.Fatal(err)
	}
	list, err := Backups(t.Context(), d.Store, request.BackupList{Dir: dir})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	lost := f.root
	elsewhere(t, f)
	back := request.BackupRestore{File: list[0].Path, Key: key, FilesOnly: true}
	if next, err := restored(t.Context(), back, d, nil); err != nil || next != nil {
		t.Fatal(next, err)
	}
	if o := ownerAt(t, f.root); o.Fence != 1 {
		t.Fatalf("%+v", o)
	}
	back.FilesOnly = false
	for _, takeOver := range []uint64{0, 2} {
		back.Common.TakeOver = takeOver
		next, err := restored(t.Context(), back, d, nil)
		if err != nil || next.Base().TakeOver != takeOver {
			t.Fatal(next, err)
		}
		refused, err := errorsOf(t, next, d)
		args := refused["w1"].Args
		if takeOver == 0 && (code(err) != "preflight.failed" || refused["w1"].Code != "preflight.stale-owner" ||
			args["fence"] != "2" || args["highest"] != "2" || args["have"] != "1" || args["at"] == "" ||
			args["by"] != "me@here pid 7: eggo-tui deploy sim") || takeOver == 2 && err != nil {
			t.Fatal(takeOver, refused, err)
		}
	}
	allAt(t, f, "the restore", 3, "m1", "w1")
	f.root = lost
	if refused, err := errorsOf(t, deployOf(f), d); code(err) != "preflight.failed" || len(refused) != 2 {
		t.Error("the host that was lost:", refused, err)
	}
}

// A backup with an owner of a newer format is refused, and nothing is placed.
func TestOpenRestore_NewerOwner(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	r := &Restoring{deps: d, opened: &opened{manifest: &backup.Manifest{Cluster: "other", Owner: []byte(`{"format":2}`)}}}
	if next, err := r.Place(t.Context()); code(err) != "backup.newer-format" || next != nil {
		t.Error(next, err)
	}
	if o := ownerAt(t, f.root); o != (node.Owner{}) {
		t.Errorf("%+v", o)
	}
}

// A cluster that a meta cluster installs is owned by it from the beginning: refusals of others say where it is.
func TestStart_OwnerOfAMetaCluster(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	d.Place = "prod @ https://192.0.2.99:6443"
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	if o := ownerOn(t, f, "m1"); o.Kind != node.OwnerMeta || o.Place != d.Place {
		t.Errorf("%+v", o)
	}
	if err := os.WriteFile(filepath.Join(f.root, "sim", input.OwnerName), []byte(`{"format":1,"id":"other","fence":1}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	d.Place = ""
	refused, err := errorsOf(t, deployOf(f), d)
	if code(err) != "preflight.failed" || refused["m1"].Code != "preflight.other-owner" ||
		!strings.HasPrefix(refused["m1"].Args["owner"], "prod @ https://192.0.2.99:6443, ") {
		t.Error(refused, err)
	}
}
