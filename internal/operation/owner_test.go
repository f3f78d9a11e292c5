package operation

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// deployed runs a deploy to its end, and returns the findings that refused it.
func deployed(t *testing.T, d Deps, q request.Deploy) (refused []event.Fault, err error) {
	t.Helper()
	h, err := Start(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Wait(t.Context())
	for r := range journal.Read(h.Run().Dir) {
		if f, is := r.Event.(event.Finding); is && f.Severity == event.Error {
			refused = append(refused, f.Fault)
		}
	}
	return refused, err
}

// onNode is the owner that a node has.
func onNode(t *testing.T, f *fakes) node.Owner {
	t.Helper()
	line, err := os.ReadFile(f.lab.Nodes["m1"].Path("/var/lib/eggo-node/owner"))
	if err != nil {
		t.Fatal(err)
	}
	return node.ParseOwner(line)
}

func ownerAt(t *testing.T, root string) node.Owner {
	t.Helper()
	o, err := input.ReadOwner(filepath.Join(root, "sim"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Two copies of a state directory: the older one is refused, takes over when the user names the number of the other,
// and then the other is refused.
func TestStart_CopiedStateDirectory(t *testing.T) {
	f, a := simulate(t, phasestest.Shape{Masters: 1})
	q := deployOf(f)
	if refused, err := deployed(t, a, q); err != nil {
		t.Fatal(refused, err)
	}
	first := ownerAt(t, f.root)
	info, err := os.Stat(filepath.Join(f.root, "sim", input.OwnerName))
	if err != nil || info.Mode().Perm() != 0o600 || first.Fence != 1 || first.ID == "" ||
		first.By != "me@here pid 7: eggo-tui deploy sim" || first.Kind != node.OwnerDirectory ||
		onNode(t, f) != first {
		t.Fatalf("%+v %+v %v", first, onNode(t, f), err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(f.root)); err != nil {
		t.Fatal(err)
	}
	other := &fakes{root: copied, lab: f.lab, locked: map[string]string{}}
	b := other.deps()
	b.Who.Host = "there"

	if _, err := deployed(t, a, q); err != nil || onNode(t, f).Fence != 2 || onNode(t, f).ID != first.ID {
		t.Fatal(onNode(t, f), err)
	}
	wants := func(who string, d Deps, q request.Deploy, highest string) {
		t.Helper()
		before, was := onNode(t, f), ownerAt(t, d.Store.Where())
		refused, err := deployed(t, d, q)
		if len(refused) != 1 || refused[0].Code != "preflight.stale-owner" || refused[0].Args["highest"] != highest {
			t.Errorf("%s: %v %v", who, refused, err)
		}
		if onNode(t, f) != before || ownerAt(t, d.Store.Where()) != was {
			t.Errorf("%s: the run was refused, and has raised the number", who)
		}
	}
	wants("the copy", b, q, "2")
	if _, err := Status(t.Context(), request.OfCluster("sim"), b); err != nil {
		t.Error("a read was refused: ", err)
	}
	if p, err := Preflight(t.Context(), q.Common, b); len(p.Findings) == 0 || code(err) != "preflight.failed" {
		t.Error(p, err)
	}
	q.TakeOver = 1
	wants("the copy with a number that is too low", b, q, "2")
	q.TakeOver = 2
	if refused, err := deployed(t, b, q); err != nil {
		t.Fatal(refused, err)
	}
	if is := onNode(t, f); is.Fence != 3 || is.ID != first.ID || is.By != "me@there pid 7: eggo-tui deploy sim" {
		t.Errorf("%+v", is)
	}
	q.TakeOver = 0
	wants("the original", a, q, "3")
	if refused, err := deployed(t, b, q); err != nil {
		t.Error(refused, err)
	}
}

// Files without an owner get one, and are refused like an older copy when the nodes have one.
func TestStart_FilesWithoutOwner(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	q := deployOf(f)
	f.fail = phases.KeptOwner
	if _, err := deployed(t, d, q); err == nil {
		t.Error("the number was not persisted, and the run continued")
	}
	f.fail = ""
	if refused, err := deployed(t, d, q); err != nil {
		t.Fatal(refused, err)
	}
	// Of an older version: neither the files nor the node have an owner.
	file, there := filepath.Join(f.root, "sim", input.OwnerName), f.lab.Nodes["m1"].Path("/var/lib/eggo-node/owner")
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, there} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if refused, err := deployed(t, d, q); err != nil || onNode(t, f).Fence != 1 {
		t.Fatal(refused, err)
	}
	now, err := os.ReadFile(file)
	if err != nil || bytes.Equal(now, was) {
		t.Fatal(err)
	}
	// An owner of its own, and none.
	if err := os.WriteFile(file, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if refused, err := deployed(t, d, q); len(refused) != 1 || refused[0].Code != "preflight.other-owner" {
		t.Error(refused, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if refused, err := deployed(t, d, q); len(refused) != 1 || refused[0].Code != "preflight.stale-owner" {
		t.Error(refused, err)
	}
	q.TakeOver = 1
	if refused, err := deployed(t, d, q); err != nil || onNode(t, f).Fence != 2 || onNode(t, f) != ownerAt(t, f.root) {
		t.Error(refused, err)
	}
}

// A backup brings the owner to a control host that has none, and never an older number to one that has.
func TestRestoring_PlaceOwner(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		owner string
		want  uint64
	}{
		{"", 0}, {`{"id":"a","fence":-2}`, 0}, {`{"format":1,"id":"a","fence":7,"token":"x"}`, 7},
		{`{"format":1,"id":"a","fence":5,"token":"w"}`, 7},
	} {
		r := &Restoring{opened: &opened{manifest: &backup.Manifest{Owner: []byte(step.owner)}}}
		if err := r.placeOwner(t.Context(), files); err != nil || ownerAt(t, f.root).Fence != step.want {
			t.Errorf("%q: %+v %v", step.owner, ownerAt(t, f.root), err)
		}
	}
	if len(f.held) != 1 || f.held[0] != phases.KeptOwner {
		t.Error(f.held)
	}
}
