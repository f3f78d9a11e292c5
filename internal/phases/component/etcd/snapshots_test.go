package etcd_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

func TestASnapshotIsVerified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	if err := phasestest.WriteSnapshot(good, []byte("authority")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(data)
	flipped[len(flipped)/2] ^= 1
	// A forged one has the right sum, and pages that lead out of the file.
	sum := sha256.Sum256(data[:8192])
	forged := append(slices.Clone(data[:8192]), sum[:]...)
	for name, c := range map[string]struct {
		data []byte
		code string
	}{
		"good": {data, ""}, "empty": {nil, "snapshot.truncated"},
		"forged":     {forged, "snapshot.damaged"},
		"only a sum": {data[len(data)-32:], "snapshot.truncated"}, "cut": {data[:len(data)-1000], "snapshot.truncated"},
		"cut by pages": {append(slices.Clone(data[:4096]), data[len(data)-32:]...), "snapshot.damaged"},
		"raw database": {data[:len(data)-32], "snapshot.truncated"}, "a bit": {flipped, "snapshot.damaged"},
	} {
		file := filepath.Join(dir, "x.db")
		if err := os.WriteFile(file, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := etcd.ReadSnapshot(t.Context(), file)
		if got := event.AsFault(err); (got == nil) != (c.code == "") || got != nil && got.Code != c.code {
			t.Errorf("%s: %v, not %q", name, err, c.code)
		}
	}
	if _, err := etcd.ReadSnapshot(t.Context(), filepath.Join(dir,
		"nowhere")); event.AsFault(err).Code != "snapshot.unreadable" {
		t.Error(err)
	}
}

// gives is what members of a fake give as their snapshot.
func gives(t *testing.T, f *fake) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.db")
	if err := phasestest.WriteSnapshot(file, f.PKI().CA.Cert); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f.snapshot = data
}

func TestASnapshotIsThatOfTheFirstMemberThatGivesOne(t *testing.T) {
	f := newFake(t, "e1 e2")
	gives(t, f)
	f.sick["e1"] = true
	var kept []input.Kept
	f.env.Persist = func(_ context.Context, what input.Kept) error { kept = append(kept, what); return nil }
	// Until it is whole, it has no path that others can guess.
	hear, meanwhile := f.env.Emit, map[string]bool{}
	f.env.Emit = func(e event.Event) error {
		entries, _ := os.ReadDir(filepath.Join(f.env.StateDir, "snapshots"))
		for _, x := range entries {
			if name, hidden := strings.CutPrefix(x.Name(), ".part-"); hidden && x.IsDir() && len(name) >= 26 {
				meanwhile["hidden"] = true
			} else if _, is := e.(event.Progress); is {
				meanwhile[x.Name()] = true
			}
		}
		return hear(e)
	}
	if err := f.Snapshots.Save(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if !meanwhile["hidden"] || len(meanwhile) != 1 {
		t.Errorf("while it is written: %v", meanwhile)
	}
	if left, _ := filepath.Glob(filepath.Join(f.env.StateDir, "snapshots", ".part-*")); len(left) > 0 {
		t.Error("left:", left)
	}
	files, err := filepath.Glob(filepath.Join(f.env.StateDir, "snapshots", "*-e2.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if i, err := os.Stat(files[0]); err != nil || i.Mode().Perm() != 0o600 {
		t.Error("the file:", i, err)
	}
	s, err := etcd.ReadSnapshot(t.Context(), files[0])
	if err != nil || s.Revision != phasestest.Revision || s.Foreign(f.PKI().CA.Cert) ||
		!s.Foreign([]byte("another")) {
		t.Errorf("%+v %v", s, err)
	}
	if !slices.Equal(kept, []input.Kept{input.KeptSnapshots}) ||
		!slices.Equal(f.notices(), []string{"notice.snapshot-saved"}) {
		t.Errorf("kept %q, told %q", kept, f.notices())
	}
	p, ok := f.told[slices.IndexFunc(f.told, func(e event.Event) bool {
		_, yes := e.(event.Progress)
		return yes
	})].(event.Progress)
	if !ok || p.Host != "e2" || p.Done == 0 || p.Done > p.Total {
		t.Errorf("progress: %+v", p)
	}
}

func TestASnapshotThatNobodyGives(t *testing.T) {
	f := newFake(t, "e1 e2")
	f.sick["e1"], f.sick["e2"] = true, true
	eventtest.Fault(t, f.Snapshots.Save(t.Context(), ""), "snapshot.none", "corrupt")
	f = newFake(t, "e1")
	f.snapshot = []byte("no database")
	eventtest.Fault(t, f.Snapshots.Save(t.Context(), ""), "snapshot.none", "")
	if left, _ := filepath.Glob(filepath.Join(f.env.StateDir, "snapshots", "*")); len(left) > 0 {
		t.Error("half of one is left:", left)
	}
}

// Where the control host cannot keep it, the data that would be lost stay; else the loss is reported and the run
// continues.
func TestWhatIsLostIsSavedBefore(t *testing.T) {
	f := newFake(t, "e1 e2")
	gives(t, f)
	n := f.env.Cluster.Nodes[0]
	lose := func() error { return f.Snapshots.BeforeLoss(t.Context(), n, f.Node(n.Name)) }
	if err := lose(); err != nil {
		t.Error(err)
	}
	f.sick["e1"] = true
	if err := lose(); err != nil {
		t.Error(err)
	}
	f.idle["e1"] = true
	if err := lose(); err != nil {
		t.Error(err)
	}
	f.idle["e1"], f.sick["e1"] = false, false
	if want := []string{"notice.snapshot", "notice.no-snapshot", "notice.no-etcd"}; !slices.Equal(f.notices(), want) {
		t.Errorf("told %q, want %q", f.notices(), want)
	}
	dir := filepath.Join(f.env.StateDir, "snapshots")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventtest.Fault(t, lose(), "state.write", "snapshots")
	// A cluster whose CAs are lost has no way in.
	if err := os.Remove(filepath.Join(f.env.StateDir, "pki", "etcd", "ca.key")); err != nil {
		t.Fatal(err)
	}
	if err := lose(); err != nil || f.notices()[len(f.notices())-1] != "notice.no-snapshot" {
		t.Error(err, f.notices())
	}
}

// What runs that were killed have left of snapshots is removed; what only has such a name stays.
func TestPartsOfKilledRunsAreRemoved(t *testing.T) {
	f := newFake(t, "e1")
	gives(t, f)
	dir := filepath.Join(f.env.StateDir, "snapshots")
	part, mine := filepath.Join(dir, ".part-ABCDEFGHIJKLMNOPQRSTUVWXYZ"), filepath.Join(dir, ".part-mine")
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, d := range []string{part, mine} {
		if err := errors.Join(os.MkdirAll(d, 0o700), os.WriteFile(filepath.Join(d, "snapshot"), nil, 0o600),
			os.Chtimes(d, past, past)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Snapshots.Save(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".part-*")); !slices.Equal(left, []string{mine}) {
		t.Error("left:", left)
	}
}
