package operation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// put writes a file of a side of the cluster.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, "sim", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// What cannot be handed over is refused, and the directory, the nodes and the meta cluster stay as they are.
func TestHandover_Refused(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	ca, err := os.ReadFile(filepath.Join(s.root, "sim", "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	off := event.NewFault(event.ClassFailed, "ssh.unreachable", nil)
	for name, c := range map[string]struct {
		q     request.Handover
		given func()
		code  string
	}{
		"a meta cluster that is the cluster": {code: "handover.itself", given: func() { s.meta.ca = ca }},
		"another cluster of the name there": {code: "handover.other-cluster", given: func() {
			put(t, s.meta.root, "pki/ca.crt", "x")
		}},
		"a restore that is not finished": {code: "handover.unfinished", given: func() {
			put(t, s.root, input.SeedName, "{}")
		}},
		"an import that is not finished": {code: "handover.unfinished", given: func() {
			put(t, s.root, importMark, "")
		}},
		"a node that cannot be reached":      {code: "preflight.failed", given: func() { s.lab.Nodes["w1"].PowerOff(off) }},
		"a node with a newer number":         {code: "preflight.failed", given: func() { disagree(t, s.fakes, "w1", 9) }},
		"a deploy.yaml for the meta cluster": {code: "handover.file", q: request.Handover{File: "/f"}},
		"an owner of a newer format": {code: "state.newer-format", given: func() {
			put(t, s.root, input.OwnerName, `{"format":2}`)
		}},
		"back from where nothing is": {code: "handover.none", q: request.Handover{Back: true}, given: func() {
			put(t, s.root, input.OwnerName, "{}")
		}},
		"another owner there": {code: "handover.owned", given: func() {
			put(t, s.meta.root, input.OwnerName, `{"format":1,"id":"c","kind":"meta","fence":3,"token":"t"}`)
		}},
	} {
		owner, err := os.ReadFile(filepath.Join(s.root, "sim", input.OwnerName))
		if err != nil {
			t.Fatal(err)
		}
		on := ownerOn(t, s.fakes, "w1")
		if c.given != nil {
			c.given()
		}
		before := trees(t, s.fakes)
		if _, err := s.move(c.q); code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if after := trees(t, s.fakes); after != before {
			t.Errorf("%s: a node has changed", name)
		}
		if m, err := readMoved(filepath.Join(s.root, "sim")); m != nil || err != nil || len(secretsIn(t, s.root)) < 5 {
			t.Errorf("%s: the directory is marked: %+v %v", name, m, err)
		}
		if len(secretsIn(t, s.meta.root)) > 0 {
			t.Errorf("%s: the meta cluster has keys", name)
		}
		s.meta.ca = nil
		s.lab.Nodes["w1"].PowerOff(nil)
		err = errors.Join(os.RemoveAll(filepath.Join(s.meta.root, "sim")),
			os.WriteFile(s.lab.Nodes["w1"].Path(ownerFile), on.Line(), 0o600))
		for _, name := range []string{input.SeedName, importMark} {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.root, "sim", name)))
		}
		if err != nil {
			t.Fatal(err)
		}
		put(t, s.root, input.OwnerName, string(owner))
	}
	if r, err := s.move(request.Handover{}); err != nil || r.Already {
		t.Errorf("with none of it: %+v %v", r, err)
	}
}

// A part that the meta cluster cannot keep ends the hand-over before a node has the new owner.
func TestHandover_NotKept(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1})
	for _, part := range []phases.Kept{phases.KeptPKI, phases.KeptAdminConf, phases.KeptKnownHosts, phases.KeptConfig,
		phases.KeptOwner} {
		s.meta.fail = part
		if _, err := s.move(request.Handover{}); code(err) != "state.write" {
			t.Errorf("%s: %v", part, err)
		}
		if !s.one(string(part)) {
			t.Errorf("%s: the control host may not run", part)
		}
	}
	s.meta.fail = ""
	if _, err := s.move(request.Handover{}); err != nil || s.one("kept") {
		t.Error(err)
	}
}

// A directory that was handed over refuses all that changes the cluster, or needs its keys, with where it is now. What
// is known of it is shown. An older program refuses it by its format.
func TestHandover_DirectoryIsReadOnly(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	to, key := keyPair(t)
	dir := t.TempDir()
	c := request.OfCluster("sim")
	save := request.Backup{Common: c, Dir: dir, Recipients: []string{to}}
	if err := did(t, save, s.here()); err != nil {
		t.Fatal(err)
	}
	list, err := Backups(t.Context(), s.here().Store, request.BackupList{Dir: dir})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	d := s.here()
	moved := func(what string, err error) {
		t.Helper()
		f := event.AsFault(err)
		if f == nil || f.Code != "state.moved" || f.Args["place"] != s.meta.Place() || f.Args["at"] == "" ||
			!strings.Contains(f.Args["by"], "eggo-tui handover sim") {
			t.Errorf("%s: %+v", what, f)
		}
	}
	for _, q := range []request.Request{deployOf(s.fakes), request.Renew{Common: c}, request.Cleanup{Common: c},
		request.Snapshot{Common: c}, save, request.NewUpgrade(c, "/bundle.tar.gz"), request.Back{Common: c},
		request.Delete{Common: c, Names: []string{"w1"}, Drain: time.Second},
		request.Restore{Common: c, Snapshot: "/s.db"}} {
		_, err := Start(t.Context(), q, d)
		moved(string(q.Verb()), err)
		_, err = Plan(t.Context(), q, d)
		moved("plan of "+string(q.Verb()), err)
	}
	_, err = Preflight(t.Context(), c, d)
	moved("preflight", err)
	_, err = Status(t.Context(), c, d)
	moved("status", err)
	_, err = Kubeconfig(t.Context(), d.Store, request.Kubeconfig{Cluster: "sim"})
	moved("kubeconfig", err)
	_, err = restored(t.Context(), request.BackupRestore{File: list[0].Path, Key: key}, d, nil)
	moved("backup restore", err)
	_, err = Questions(t.Context(), request.Renew{Common: c}, d, nil)
	moved("questions", err)
	all, err := Clusters(t.Context(), d.Store)
	if err != nil || len(all) != 1 || all[0].Status != request.Moved || all[0].Moved != s.meta.Place() {
		t.Errorf("%+v %v", all, err)
	}
	if rows, err := Certificates(t.Context(), c, false, d); err != nil || len(rows) == 0 {
		t.Error("certificates: ", rows, err)
	}
	format, err := os.ReadFile(filepath.Join(s.root, "sim", journal.FormatFile))
	if err != nil || string(format) != "{\"format\":2}\n" {
		t.Errorf("%s %v", format, err)
	}
	other := &fakeMeta{fakes: &fakes{root: t.TempDir(), lab: s.lab, locked: map[string]string{}}}
	s.meta, other = other, s.meta
	_, err = s.move(request.Handover{})
	if event.AsFault(err) == nil || event.AsFault(err).Code != "state.moved" {
		t.Error("to another meta cluster: ", err)
	}
	if _, err = s.move(request.Handover{Back: true}); code(err) != "handover.none" {
		t.Error("from another meta cluster: ", err)
	}
	s.meta = other
	if _, err := s.move(request.Handover{Back: true}); err != nil {
		t.Fatal(err)
	}
	if all, err := Clusters(t.Context(), d.Store); err != nil || all[0].Status != request.Installed {
		t.Errorf("%+v %v", all, err)
	}
	s.runs("back", true)
}

// A copy of the directory from before the hand-over is refused by the nodes; to hand it over again marks it.
func TestHandover_CopyOfTheDirectory(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(s.root)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	s.root = copied
	ok, why := may(t, s.here())
	if ok || why != "preflight.failed preflight.other-owner preflight.other-owner" {
		t.Error(ok, why)
	}
	if r, err := s.move(request.Handover{}); err != nil || r.Already || slices.Contains(s.seen, "files") {
		t.Errorf("%+v %v %v", r, s.seen, err)
	}
	s.ended("the copy", false)
}

// A control host that is lost is replaced by one that has nothing: the state comes from the meta cluster.
func TestHandover_LostControlHost(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	s.runs("there", false)
	s.root = filepath.Join(t.TempDir(), "new")
	if err := os.Mkdir(s.root, 0o700); err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]request.Handover{"usage.none-of-that-name": {}, "handover.needs-file": {Back: true},
		"config.no-file": {Back: true, File: "/nowhere.yaml"}} {
		if _, err := s.move(q); code(err) != want {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := os.Lstat(filepath.Join(s.root, "sim")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v has left a directory: %v", q, err)
		}
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	text := strings.Replace(string(s.lab.DeployYAML()), "/bundle.tar.gz", "/mine/bundle.tar.gz", 1)
	other := strings.Replace(text, "192.0.2.21", "192.0.2.29", 1)
	for _, text := range []string{other, text} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.move(request.Handover{Back: true, File: file})
		if text == other && code(err) != "handover.nodes" || text != other && err != nil {
			t.Fatal(err)
		}
	}
	s.ended("on the new host", true)
	have, err := os.ReadFile(filepath.Join(s.root, "sim", "deploy.yaml"))
	if err != nil || !strings.Contains(string(have), "/mine/bundle.tar.gz") {
		t.Errorf("%s %v", have, err)
	}
	if !s.one("on the new host") {
		t.Error("it may not run")
	}
}

// A control host that was lost while it handed the cluster over, and a meta cluster whose state is older than the
// nodes: the number of the nodes confirms that this side continues.
func TestHandover_TakeOver(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	s.at = 4 // before the first node
	if _, err := s.move(request.Handover{}); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.at = -1
	s.root = filepath.Join(t.TempDir(), "new")
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := errors.Join(os.Mkdir(s.root, 0o700), os.WriteFile(file, s.lab.DeployYAML(), 0o600)); err != nil {
		t.Fatal(err)
	}
	takes := func(what, why string, number, fence uint64) {
		t.Helper()
		r, err := s.move(request.Handover{Back: true, File: file})
		if code(err) != "preflight.failed" || len(r.Findings) != 2 || r.Findings[0].Fault.Code != why {
			t.Fatalf("%s: %+v %v", what, r, err)
		}
		low := request.Handover{Back: true, File: file, TakeOver: number - 1}
		if r, err := s.move(low); code(err) != "preflight.failed" {
			t.Fatalf("%s: a number that is too low: %+v %v", what, r, err)
		}
		r, err = s.move(request.Handover{Back: true, File: file, TakeOver: number})
		if err != nil || r.Fence != fence {
			t.Fatalf("%s: %+v %v", what, r, err)
		}
		s.ended(what, true)
		if !s.one(what) {
			t.Error("the control host may not run")
		}
	}
	takes("lost while it handed over", "preflight.not-handed-over", 2, 5)

	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(s.meta.root, "sim", input.OwnerName))
	if err != nil {
		t.Fatal(err)
	}
	s.runs("there", false)
	put(t, s.meta.root, input.OwnerName, string(old))
	takes("a meta cluster of before", "preflight.stale-owner", 8, 10)

	disagree(t, s.fakes, "w1", 20)
	if _, err := s.move(request.Handover{TakeOver: 19}); code(err) != "preflight.failed" {
		t.Error("an older directory was handed over: ", err)
	}
	if r, err := s.move(request.Handover{TakeOver: 20}); err != nil || r.Fence != 22 || s.one("handed over") {
		t.Errorf("%+v %v", r, err)
	}
}

// A meta cluster that is lost: a backup of before the hand-over continues on another host, by the number of the nodes.
func TestHandover_LostMetaCluster(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	to, key := keyPair(t)
	dir := t.TempDir()
	save := request.Backup{Common: request.OfCluster("sim"), Dir: dir, Recipients: []string{to}}
	if err := did(t, save, s.here()); err != nil {
		t.Fatal(err)
	}
	list, err := Backups(t.Context(), s.here().Store, request.BackupList{Dir: dir})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.meta.root, "sim")); err != nil {
		t.Fatal(err)
	}
	s.root = t.TempDir()
	back := request.BackupRestore{File: list[0].Path, Key: key, FilesOnly: true}
	if next, err := restored(t.Context(), back, s.here(), nil); err != nil || next != nil {
		t.Fatal(next, err)
	}
	q := request.Deploy{Common: request.OfCluster("sim")}
	refused, err := errorsOf(t, q, s.here())
	if code(err) != "preflight.failed" || refused["m1"].Code != "preflight.other-owner" ||
		refused["m1"].Args["highest"] != "3" || !strings.Contains(refused["m1"].Args["owner"], s.meta.Place()) {
		t.Fatal(refused, err)
	}
	q.TakeOver = 3
	if refused, err := errorsOf(t, q, s.here()); err != nil {
		t.Fatal(refused, err)
	}
	allAt(t, s.fakes, "from the backup", 4, "m1", "w1")
}

// What a meta cluster has made of deploy.yaml decides about no login and no file of this host.
func TestHandover_BackTakesNoLogins(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	if _, err := s.move(request.Handover{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.meta.root, "sim", "deploy.yaml")
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, now, code string }{
		{"192.0.2.21", "192.0.2.66", "handover.needs-file"}, // a machine of others
		{"podcidr: 10.200.0.0/16", "podcidr: 10.201.0.0/16", "handover.needs-file"},
		{"private-key-path: /root/.ssh/id_rsa",
			"private-key-path: /etc/shadow\neggo: {password-from: file:/etc/shadow}", ""},
	} {
		text := strings.ReplaceAll(string(have), c.old, c.now)
		if text == string(have) {
			t.Fatal(c)
		}
		put(t, s.meta.root, "deploy.yaml", text+"\n")
		_, err := s.move(request.Handover{Back: true})
		if c.code != "" && code(err) != c.code || c.code == "" && err != nil {
			t.Errorf("%s: %v", c.now, err)
		}
		own, err := os.ReadFile(filepath.Join(s.root, "sim", "deploy.yaml"))
		if err != nil || strings.Contains(string(own), "shadow") || strings.Contains(string(own), "66") {
			t.Errorf("%s %v", own, err)
		}
	}
	s.ended("back", true)
}
