package operation

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func silent(int64, int64) {}

// did runs a request to its end.
func did(t *testing.T, q request.Request, d Deps) error {
	t.Helper()
	h, err := Start(t.Context(), q, d)
	if err != nil {
		return err
	}
	_, err = h.Wait(t.Context())
	return err
}

// keyPair is one of age: the public key, and the file of the private one.
func keyPair(t *testing.T) (recipient string, key request.BackupKey) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(file, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), request.BackupKey{Identity: file}
}

// restored opens a backup and, unless confirm says no, places what it has.
func restored(
	ctx context.Context, q request.BackupRestore, d Deps, confirm func(BackupContent) error,
) (request.Request, error) {
	r, err := OpenRestore(ctx, q, d, silent)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if confirm != nil {
		if err := confirm(r.Content()); err != nil {
			return nil, err
		}
	}
	return r.Place(ctx)
}

// twin is a lab of a kit: those of one kit have the same CAs.
func twin(t *testing.T, kit *phasestest.Kit) *fakes {
	t.Helper()
	lab, err := phasestest.NewLab(t.TempDir(), kit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	return fakesOf(lab)
}

func taken(t *testing.T, f *fakes) (file string, key request.BackupKey) {
	t.Helper()
	d := f.deps()
	if err := did(t, deployOf(f), d); err != nil {
		t.Fatal(err)
	}
	to, key := keyPair(t)
	q := request.Backup{Common: request.OfCluster("sim"), Dir: filepath.Join(t.TempDir(), "kept"), Keep: 1,
		Recipients: []string{to}, By: "otto"}
	ca, err := fingerprint(f.lab.StateDir())
	if err != nil {
		t.Fatal(err)
	}
	// An old one goes; those of another cluster of the name, of the schedule and of the command line, and one from the
	// future, stay.
	set := "_" + string(backup.SetOf("otto", q.Recipients))
	old := filepath.Join(q.Dir, "sim_20200101T000000Z_unknown_"+ca[:8]+set+".tar.zst.age")
	others := filepath.Join(q.Dir, "sim_20200101T000000Z_unknown_00000000"+set+".tar.zst.age")
	plain := filepath.Join(q.Dir, "sim_20200102T000000Z_unknown_"+ca[:8]+".tar.zst.age")
	scheduled := filepath.Join(q.Dir, "sim_20200103T000000Z_unknown_"+ca[:8]+"_schedule.tar.zst.age")
	ahead := filepath.Join(q.Dir, "sim_29990101T000000Z_unknown_"+ca[:8]+set+".tar.zst.age")
	left := filepath.Join(f.root, ".backup-killed")
	for _, err := range []error{os.Mkdir(q.Dir, 0o700), os.WriteFile(old, nil, 0o600), os.WriteFile(others, nil, 0o600),
		os.WriteFile(ahead, nil, 0o600), os.WriteFile(plain, nil, 0o600), os.WriteFile(scheduled, nil, 0o600),
		os.MkdirAll(filepath.Join(left, "files", "pki"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	still := manyBackups(t, d)
	if err := did(t, q, d); err != nil {
		t.Fatal(err)
	}
	still()
	list, err := Backups(t.Context(), d.Store, request.BackupList{Dir: q.Dir})
	if err != nil || len(list) != 5 || list[0].Path != ahead || list[1].Cluster != "sim" ||
		list[2].Path != scheduled || !list[2].Scheduled || list[3].Path != plain || list[4].Path != others {
		t.Fatal(list, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed process had open is still there")
	}
	if left, err := os.Stat(filepath.Join(f.lab.StateDir(), backupScratch)); err == nil {
		t.Error("left", left.Name())
	}
	return list[1].Path, key
}

// manyBackups gives a cluster as many runs of backups as are kept. still fails if the next run has removed others for
// them.
func manyBackups(t *testing.T, d Deps) (still func()) {
	t.Helper()
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	runs := files.Journal()
	others, err := runs.Runs()
	for range journal.KeepRuns {
		w, err2 := runs.NewRun("backup", d.clock().Now(), "backup")
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		now, err := runs.Runs()
		if err != nil || len(others) == 0 || len(now) != len(others)+journal.KeepRuns || now[0] != others[0] {
			t.Error(others, now, err)
		}
	}
}

// One backup: what it is refused for, what comes of it where everything is lost but the machines, and on new machines.
func TestABackupAndItsRestore(t *testing.T) {
	kit, err := phasestest.NewKitOf(t.TempDir(), phasestest.Shape{Masters: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	f, fresh := twin(t, kit), twin(t, kit)
	file, key := taken(t, f)
	if err := errors.Join(os.RemoveAll(fresh.lab.StateDir()),
		os.CopyFS(fresh.lab.StateDir(), os.DirFS(f.lab.StateDir()))); err != nil {
		t.Fatal(err)
	}
	restoresThatAreRefused(t, f, file, key)
	lostControlHost(t, f, file, key)
	newMachines(t, fresh, file, key)
}

// lostControlHost restores where the control host has lost everything.
func lostControlHost(t *testing.T, f *fakes, file string, key request.BackupKey) {
	t.Helper()
	d := f.deps()
	verify := request.BackupVerify{File: file, Key: key}
	if _, err := VerifyBackup(t.Context(), verify, d, silent); code(err) != "backup.scratch" {
		t.Error("the lab's programs are none:", err)
	}
	t.Setenv("PATH", t.TempDir())
	without := d
	without.Bundles = gone{f}
	proof, err := VerifyBackup(t.Context(), verify, without, silent)
	if err != nil || proof.Cluster != "sim" || proof.Revision != phasestest.Revision || proof.Files < 10 {
		t.Fatalf("%+v %v", proof, err)
	}
	if proof.Etcd || proof.NoEtcd == nil {
		t.Errorf("%+v", proof)
	}
	// No known signer signed the bundle: for a caller that may not decide about that, nothing of it is executed, and
	// the answer says why.
	told := verify
	told.SignedOnly = true
	unsigned := d
	unsigned.Bundles = strict{f}
	proof, err = VerifyBackup(t.Context(), told, unsigned, silent)
	if err != nil || proof.Etcd || proof.NoEtcd == nil || proof.NoEtcd.Code != "backup.no-signed-etcd" {
		t.Errorf("%+v %v", proof, err)
	}
	told.Bundle = "/bundle.tar.gz" // it was named
	if _, err := VerifyBackup(t.Context(), told, unsigned, silent); code(err) != "backup.scratch" {
		t.Error("the programs of the bundle that was named:", err)
	}
	named := verify
	named.Bundle = "/bundle.tar.gz"
	if _, err := VerifyBackup(t.Context(), named, without, silent); code(err) != "bundle.open" {
		t.Error("a bundle that was asked for is not used, and nobody is told:", err)
	}
	q := request.BackupRestore{File: file, Key: key, FilesOnly: true}
	if _, err := restored(t.Context(), q, d, nil); code(err) != "backup.there" {
		t.Error(err)
	}
	lost := map[string]string{}
	for _, name := range []string{"pki/ca.key", "pki/encryption-config.yaml", "deploy.yaml", "admin.conf"} {
		text, err := os.ReadFile(filepath.Join(f.lab.StateDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		lost[name] = string(text)
	}
	whole := pkiFiles(t, f)
	if err := os.RemoveAll(f.lab.StateDir()); err != nil {
		t.Fatal(err)
	}
	// The bundle of the backup's deploy.yaml is not this host's: nothing of it is executed.
	if proof, err := VerifyBackup(t.Context(), verify, d, silent); err != nil || proof.Etcd || proof.NoEtcd == nil {
		t.Errorf("%+v %v", proof, err)
	}
	no := errors.New("no")
	asked := func(b BackupContent) error {
		if b.Cluster != "sim" || len(b.Nodes) != 0 {
			t.Errorf("%+v", b)
		}
		return no
	}
	if _, err := restored(t.Context(), q, d, asked); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, err := os.Stat(f.lab.StateDir()); err == nil {
		t.Error("something was restored after a no")
	}
	if next, err := restored(t.Context(), q, d, nil); err != nil || next != nil {
		t.Fatal(next, err)
	}
	for name, want := range lost {
		text, err := os.ReadFile(filepath.Join(f.lab.StateDir(), name))
		if err != nil || string(text) != want {
			t.Error(name, err)
		}
	}
	if got := pkiFiles(t, f); !slices.Equal(got, whole) {
		t.Errorf("%q, want %q", got, whole)
	}
	partOfPKI(t, f, q, d)
	q.FilesOnly = false
	next, err := restored(t.Context(), q, d, nil)
	if re, is := next.(request.Restore); err != nil || !is || re.Source.Cluster != "sim" {
		t.Fatal(next, err)
	}
	if err := did(t, next, d); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.root, ".backup-*")); len(left) > 0 {
		t.Error(left)
	}
}

// pkiFiles are those of a lab's cluster.
func pkiFiles(t *testing.T, f *fakes) (out []string) {
	t.Helper()
	root := filepath.Join(f.lab.StateDir(), backup.PKI)
	if err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, strings.TrimPrefix(path, root))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// partOfPKI: what is left of it is kept, and what is lost comes back.
func partOfPKI(t *testing.T, f *fakes, q request.BackupRestore, d Deps) {
	t.Helper()
	whole := pkiFiles(t, f)
	dir := f.lab.StateDir()
	if err := errors.Join(os.Remove(filepath.Join(dir, "deploy.yaml")), os.Remove(filepath.Join(dir, "pki", "sa.key")),
		os.Remove(filepath.Join(dir, "pki", "ca.key"))); err != nil {
		t.Fatal(err)
	}
	if _, err := restored(t.Context(), q, d, nil); err != nil {
		t.Fatal(err)
	}
	if got := pkiFiles(t, f); !slices.Equal(got, whole) {
		t.Errorf("%q, want %q", got, whole)
	}
}

// gone are bundles that are no more.
type gone struct{ *fakes }

func (g gone) Session(BundleUse) BundleSession { return goneSession{fakeBundles{g.fakes}} }

type goneSession struct{ fakeBundles }

// strict has bundles that nobody has signed.
type strict struct{ *fakes }

// Session implements Bundles.
func (s strict) Session(use BundleUse) BundleSession {
	if use.SignedOnly {
		return unsignedSession{fakeBundles{s.fakes}}
	}
	return fakeBundles{s.fakes}
}

type unsignedSession struct{ fakeBundles }

// Stage implements BundleSession.
func (unsignedSession) Stage(context.Context, config.BundleSource) (phases.Bundle, error) {
	return nil, event.NewFault(event.ClassBundle, "trust.unsigned", nil, "file", "/srv/bundle.tar.gz")
}

func (goneSession) Stage(context.Context, config.BundleSource) (phases.Bundle, error) {
	return nil, event.NewFault(event.ClassBundle, "bundle.open", nil)
}

// newMachines: all machines are lost, a deploy to others begins with the backup's data. Who repeats the command
// continues.
func newMachines(t *testing.T, fresh *fakes, file string, key request.BackupKey) {
	t.Helper()
	d := fresh.deps()
	deploy := filepath.Join(fresh.lab.Dir, "deploy.yaml")
	if err := os.WriteFile(deploy, fresh.lab.DeployYAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	q := request.BackupRestore{Common: request.OfFile(deploy), File: file, Key: key}
	for range 2 {
		if _, err := restored(t.Context(), q, d, func(b BackupContent) error {
			if len(b.Nodes) != 2 {
				t.Errorf("%+v", b.Nodes)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if aside, _ := filepath.Glob(filepath.Join(fresh.lab.StateDir(), "replaced-*", "deploy.yaml")); len(aside) != 1 {
		t.Error(aside)
	}
	// It was a mistake: a restore without -f ends it, and the cluster is what it was. Then it is wanted after all.
	back := request.BackupRestore{File: file, Key: key}
	seed := filepath.Join(fresh.lab.StateDir(), "seed.json")
	if next, err := restored(t.Context(), back, d, nil); err != nil || next.Verb() != request.VerbRestore {
		t.Fatal(next, err)
	}
	_, err := os.Stat(seed)
	_, err2 := os.Stat(filepath.Join(fresh.lab.StateDir(), "deploy.yaml"))
	if !errors.Is(err, fs.ErrNotExist) || err2 != nil {
		t.Error(err, err2)
	}
	next, err := restored(t.Context(), q, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := did(t, next, d); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fresh.lab.Nodes["m1"].Path("/var/lib/etcd/default.etcd/member/revision"))
	if err != nil || strings.TrimSpace(string(text)) != "1000004711" {
		t.Errorf("%s %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(fresh.lab.StateDir(), "seed.json")); err == nil {
		t.Error("it is not over")
	}
}

// restoresThatAreRefused: what a backup cannot be restored as is refused, and nothing is changed.
func restoresThatAreRefused(t *testing.T, f *fakes, file string, key request.BackupKey) {
	t.Helper()
	d := f.deps()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "deploy.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := string(f.lab.DeployYAML())
	otherCIDR := write(strings.Replace(text, "10.200.0.0/16", "10.201.0.0/16", 1))
	otherName := write(strings.Replace(text, "cluster-id: sim", "cluster-id: other", 1))
	imported, _, err := config.SetImported([]byte(text), "deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(f.lab.StateDir(), "deploy.yaml")
	before, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]request.BackupRestore{
		"backup.imported":   {Common: request.OfFile(write(string(imported))), File: file, Key: key},
		"backup.network":    {Common: request.OfFile(otherCIDR), File: file, Key: key},
		"backup.cluster-id": {Common: request.OfFile(otherName), File: file, Key: key},
		"backup.files-only": {Common: request.OfFile(otherName), File: file, Key: key, FilesOnly: true},
		"backup.no-key":     {File: file},
		"backup.unreadable": {File: file + "x", Key: key},
		"backup.not-one":    {File: otherName, Key: key},
		"usage.secret":      {File: file, Key: request.BackupKey{Passphrase: "prompt"}},
	} {
		if _, err := restored(t.Context(), q, d, nil); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
		if is, err := os.ReadFile(own); err != nil || !bytes.Equal(is, before) {
			t.Errorf("%s: the cluster's deploy.yaml has changed: %v", want, err)
		}
	}
	r := &Restoring{opened: &opened{manifest: &backup.Manifest{Cluster: "sim", Kubernetes: "v1.36.0"}}, deps: d}
	c, _ := config.Load(f.lab.DeployYAML(), "deploy.yaml")
	s := &source{cluster: c, file: "/deploy.yaml"}
	f.heads = map[string]*bundle.Manifest{"/bundle.tar.gz": {Name: "b", Kubernetes: "v1.34.2"}}
	if err := r.fits(s); code(err) != "backup.version" {
		t.Error(err)
	}
	r.manifest.Kubernetes = "v1.34.1"
	if err := r.fits(s); err != nil {
		t.Error(err)
	}
	ca := filepath.Join(f.lab.StateDir(), "pki", "ca.crt")
	was, err := os.ReadFile(ca)
	if err := errors.Join(err, os.WriteFile(ca, []byte("of another cluster"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = restored(t.Context(), request.BackupRestore{File: file, Key: key}, d, nil)
	if code(err) != "backup.other-cluster" {
		t.Error(err)
	}
	if err := os.WriteFile(ca, was, 0o600); err != nil {
		t.Fatal(err)
	}
	f.heads = nil
	if left, _ := filepath.Glob(filepath.Join(f.root, ".backup-*")); len(left) > 0 {
		t.Error(left)
	}
}

// Somebody may deploy while a restore is confirmed: what was checked is checked again with the lock.
func TestARestoreChecksAgainWithTheLock(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	file, key := taken(t, f)
	q := request.BackupRestore{File: file, Key: key}
	confirm := func(b BackupContent) error {
		if len(b.Nodes) != 1 || b.Nodes[0].Name != "renamed" {
			t.Errorf("not the cluster's own nodes: %+v", b.Nodes)
		}
		return os.WriteFile(filepath.Join(f.lab.StateDir(), "pki", "ca.crt"), []byte("of another cluster"), 0o600)
	}
	own := filepath.Join(f.lab.StateDir(), "deploy.yaml")
	text, err := os.ReadFile(own)
	if err == nil {
		err = os.WriteFile(own, []byte(strings.ReplaceAll(string(text), "m1", "renamed")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restored(t.Context(), q, d, confirm); code(err) != "backup.other-cluster" {
		t.Error(err)
	}
}

// What a process that lives has open stays.
func TestWhatIsOpenStays(t *testing.T) {
	root := t.TempDir()
	dir, remove, err := ownDir(root)
	if err != nil {
		t.Fatal(err)
	}
	sweep(root)
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	remove()
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Error(left)
	}
}

// A backup that was taken, or failed, does not hide that the deploy before it was interrupted.
func TestABackupHidesNoInterruptedDeploy(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	files, err := d.Store.Open(t.Context(), "sim")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i, verb := range []string{"deploy", "backup", "etcd-snapshot"} {
		w, err := files.Journal().NewRun(verb, time.Date(2026, 11, 26, 12, i, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Cluster(t.Context(), f, "sim")
	if err != nil || c.Status != request.Interrupted || c.LastRun != ids[0] {
		t.Errorf("%+v %v", c, err)
	}
}

// words answers what is asked, one after the other.
type words struct{ list []string }

func (w *words) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	if _, is := q.(ask.Secret); !is || len(w.list) == 0 {
		return ask.Answer{}, ask.ErrNobody
	}
	word := w.list[0]
	w.list = w.list[1:]
	return ask.Answer{Secret: word}, nil
}

// What a backup lacks is said before there is a run.
func TestBackupsThatAreRefused(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	to, _ := keyPair(t)
	of := func(q request.Backup) request.Backup { q.Common = deployOf(f).Common; return q }
	if _, err := Start(t.Context(), of(request.Backup{Recipients: []string{to}}), d); code(err) != "backup.no-cluster" {
		t.Error(err)
	}
	for want, q := range map[string]request.Backup{
		"backup.keep":   {Recipients: []string{to}, Keep: -1},
		"backup.no-key": {},
	} {
		if err := q.Validate(); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, said := range map[string][]string{"backup.differ": {"one", "another"}, "backup.no-passphrase": {"", ""},
		"usage.secret": {"one"}, "": {"same", "same"}} {
		q := request.Backup{Key: request.BackupKey{Passphrase: "prompt"}}
		if _, err := lockOf(t.Context(), q, &words{said}); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := Backups(t.Context(), d.Store, request.BackupList{}); code(err) != "usage.no-clusters" {
		t.Error(err)
	}
	b, err := f.lab.Env(nil).Stage(t.Context(), config.BundleSource{Path: "/bundle.tar.gz", Arch: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program(b, t.TempDir(), "nothing"); code(err) != "backup.no-program" {
		t.Error(err)
	}
}
