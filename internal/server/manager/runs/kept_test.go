package runs

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// What files say is kept until they change: also when the change leaves their size, and when it comes right after they
// were written.
func TestWhatFilesSaidIsKept(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	long := time.Now().Add(-time.Hour)
	write := func(path, text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	var k kept[string]
	reads := 0
	want := func(text string, more int) {
		t.Helper()
		before := reads
		got, err := k.of("one", stats(file, other), func() (string, error) {
			reads++
			text, err := os.ReadFile(file)
			return string(text), err
		})
		if got != text || err != nil && !errors.Is(err, fs.ErrNotExist) || reads-before != more {
			t.Errorf("%q %v, read %d times", got, err, reads-before)
		}
	}
	want("", 1)
	want("", 1) // an error is not kept
	write(file, "first", long)
	want("first", 1)
	want("first", 0)
	write(file, "other", long.Add(time.Nanosecond))
	want("other", 1)
	want("other", 0)
	write(other, "", long)
	want("other", 1)
	want("other", 0)
	moved := filepath.Join(dir, "c")
	write(moved, "moved", long.Add(time.Nanosecond))
	if err := os.Rename(moved, file); err != nil {
		t.Fatal(err)
	}
	want("moved", 1)
	write(file, "young", time.Now())
	want("young", 1)
	want("young", 1) // it may be written again at the same time
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want("", 1)
}

// A deploy.yaml, and a directory of a newer program, are seen when they come.
func TestWhatAClusterHasIsNotStale(t *testing.T) {
	r := runner(t)
	machines := func() int {
		t.Helper()
		nodes, lb, err := r.Machines(t.Context(), "one")
		if err != nil || lb != nil {
			t.Fatal(lb, err)
		}
		return len(nodes)
	}
	if n := machines(); n != 0 {
		t.Error(n)
	}
	install(t, r)
	dir := filepath.Join(r.o.Root, "one")
	aged := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	aged(filepath.Join(dir, store.ConfigName))
	aged(filepath.Join(dir, journal.FormatFile))
	for range 2 {
		if n := machines(); n != 3 {
			t.Error(n)
		}
	}
	nodes, _, _ := r.Machines(t.Context(), "one")
	nodes[0].Name = "changed by who asked"
	if nodes, _, _ := r.Machines(t.Context(), "one"); nodes[0].Name != "m1" {
		t.Error(nodes)
	}
	if err := os.WriteFile(filepath.Join(dir, journal.FormatFile), []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Machines(t.Context(), "one"); err == nil {
		t.Error("of a newer program")
	}
}

// Certificates that are issued again have another end, and so has a cluster that has none any more.
func TestTheEndsOfCertificatesAreNotStale(t *testing.T) {
	r := runner(t)
	dir := filepath.Join(r.o.Root, "one", "pki")
	issue := func(now time.Time) {
		t.Helper()
		_, _, err := pki.Ensure(dir, pki.Spec{Domain: "cluster.local", Endpoint: "192.0.2.1",
			ServiceGateway: netip.MustParseAddr("10.32.0.1")}, now)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(path, time.Time{}, now.Add(-time.Hour)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !r.Expiry("one").IsZero() {
		t.Error(r.Expiry("one"))
	}
	now := time.Now()
	issue(now)
	first := r.Expiry("one")
	leaf, ca := r.Ends("one")
	if again := r.Expiry("one"); first.IsZero() || !again.Equal(first) || !leaf.Equal(first) || !ca.After(first) {
		t.Error(first, again, leaf, ca)
	}
	issue(now.Add(360 * 24 * time.Hour))
	if later := r.Expiry("one"); !later.After(first) {
		t.Error(first, later)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if !r.Expiry("one").IsZero() {
		t.Error(r.Expiry("one"))
	}
}
