package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var at = time.Date(2026, 11, 26, 12, 30, 0, 0, time.UTC)

func quiet(int64, int64) {}

// cluster is the directory of one.
func cluster(t *testing.T) (dir string, sources []Source) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"deploy.yaml": "cluster-id: one\n", "known_hosts": "host key\n", "pki/ca.crt": "ca", "pki/ca.key": "secret-key",
		"pki/front-proxy-ca.crt": "ca", "pki/front-proxy-ca.key": "secret", "pki/etcd/ca.crt": "ca",
		"pki/etcd/ca.key": "secret", "pki/sa.key": "secret", "pki/.ca.crt123": "left", "pki/notes": "not ours",
		"pki/encryption-config.yaml": "secret: x", "pki/nodes/m1/apiserver.crt": "leaf", "runs/1/events.jsonl": "log",
		"snapshot": strings.Repeat("data ", 100_000),
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := Sources(dir, filepath.Join(dir, "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, sources
}

func keys(t *testing.T) (Lock, Key) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(file, []byte("# created\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := RecipientsLock([]string{id.Recipient().String()})
	k, err2 := IdentityKey(file)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return l, k
}

func made(t *testing.T, l Lock) string {
	t.Helper()
	_, sources := cluster(t)
	file := filepath.Join(t.TempDir(), "new", Name("one", at, "v1.34.2", "0123456789", CommandLine))
	m := Manifest{Cluster: "one", At: at, Program: "v1", Kubernetes: "v1.34.2", Revision: 4711}
	if err := Write(t.Context(), file, m, sources, l, quiet); err != nil {
		t.Fatal(err)
	}
	return file
}

func code(err error) string {
	if f := event.AsFault(err); f != nil {
		return f.Code
	}
	return ""
}

// What is in a backup comes out of it, private; nothing of it can be read without the key.
func TestABackupIsWhatItWasMadeOf(t *testing.T) {
	l, k := keys(t)
	file := made(t, l)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("secret")) ||
		bytes.Contains(text, []byte("cluster-id")) || len(text) > 20_000 {
		t.Errorf("%d bytes %v", len(text), err)
	}
	dir, last := t.TempDir(), int64(0)
	m, err := Extract(t.Context(), file, dir, k, func(done, total int64) {
		if done < last || done > total {
			t.Error(done, total)
		}
		last = done
	})
	if err != nil || m.Cluster != "one" || m.Revision != 4711 || !m.At.Equal(at) || last != m.size() {
		t.Fatalf("%+v %v", m, err)
	}
	for name, want := range map[string]string{"pki/ca.key": "secret-key", "pki/nodes/m1/apiserver.crt": "leaf",
		"deploy.yaml": "cluster-id: one\n", "known_hosts": "host key\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(text) != want {
			t.Error(name, string(text), err)
		}
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o077 != 0 && path != dir {
			t.Error(path, info.Mode())
		}
		return err
	})
	if _, gone := os.Stat(filepath.Join(dir, "runs")); err != nil || gone == nil {
		t.Error("the runs are in it", err)
	}
}

func TestPassphrases(t *testing.T) {
	l, err := PassphraseLock("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	l.to[0].(*age.ScryptRecipient).SetWorkFactor(5)
	file := made(t, l)
	k, err := PassphraseKey("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(t.Context(), file, t.TempDir(), k, quiet); err != nil {
		t.Error(err)
	}
	wrong, _ := PassphraseKey("another one")
	_, other := keys(t)
	for _, k := range []Key{wrong, other} {
		if _, err := Extract(t.Context(), file, t.TempDir(), k, quiet); code(err) != "backup.wrong-key" {
			t.Error(err)
		}
	}
	_, err = PassphraseLock("")
	_, err2 := PassphraseKey("")
	if code(err) != "backup.no-passphrase" || code(err2) != "backup.no-passphrase" {
		t.Error(err, err2)
	}
}

func TestBadKeys(t *testing.T) {
	if _, err := RecipientsLock([]string{"age1nonsense"}); code(err) != "backup.recipient" {
		t.Error(err)
	}
	private := "AGE-SECRET-KEY-1QQQ"
	_, err := RecipientsLock([]string{private})
	if f := event.AsFault(err); code(err) != "backup.no-recipient" || len(f.Args) > 0 ||
		strings.Contains(err.Error(), private) {
		t.Error(err)
	}
	bad := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(bad, []byte("AGE-SECRET-KEY-1NONSENSE"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{bad, "/nowhere"} {
		if _, err := IdentityKey(file); code(err) != "backup.identity" || strings.Contains(err.Error(), "NONSENSE") {
			t.Error(err)
		}
	}
}

// A file that was cut anywhere, or changed anywhere, is refused.
func TestADamagedBackupIsRefused(t *testing.T) {
	l, k := keys(t)
	file := made(t, l)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	try := func(text []byte) error {
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Extract(t.Context(), bad, t.TempDir(), k, quiet)
		return err
	}
	for n := 0; n < len(text); n += 97 {
		if err := try(text[:n]); code(err) != "backup.damaged" && code(err) != "backup.not-one" {
			t.Fatalf("cut at %d: %v", n, err)
		}
		changed := bytes.Clone(text)
		changed[n] ^= 1
		if err := try(changed); err == nil {
			t.Fatalf("changed at %d", n)
		}
	}
	if err := try(text[:len(text)-1]); code(err) != "backup.damaged" {
		t.Error(err)
	}
	if err := try([]byte("no backup at all")); code(err) != "backup.not-one" {
		t.Error(err)
	}
	for _, path := range []string{"/nowhere", t.TempDir()} {
		if _, err := Extract(t.Context(), path, t.TempDir(), k, quiet); code(err) != "backup.unreadable" {
			t.Error(err)
		}
	}
}

// forged writes a backup with this manifest and these members, as anybody could who has the public key. What has no
// name follows the last member.
func forged(t *testing.T, l Lock, manifest any, members ...[2]string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "forged")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := age.Encrypt(out, l.to...)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(locked)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	text, _ := json.Marshal(manifest)
	tail := ""
	for _, m := range append([][2]string{{ManifestName, string(text)}}, members...) {
		if m[0] == "" {
			tail = m[1]
		} else if err := member(w, m[0], at, int64(len(m[1])), strings.NewReader(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	err = w.Close()
	_, after := io.WriteString(z, tail)
	if err := errors.Join(err, after, z.Close(), locked.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// What follows the last member is read to its end only if that is near: zeros, packed, are a small file that takes
// hours.
func TestABackupWithoutEndIsRefused(t *testing.T) {
	l, k := keys(t)
	m, members := Manifest{Format: 1, Cluster: "one"}, [][2]string(nil)
	for _, name := range needed() {
		m.Files = append(m.Files, File{Path: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(nil))})
		members = append(members, [2]string{name, ""})
	}
	for size, want := range map[int]string{0: "", 10 << 10: "", 4 << 20: "backup.damaged"} {
		tail := [2]string{"", strings.Repeat("\x00", size)}
		file := forged(t, l, m, append(members[:len(members):len(members)], tail)...)
		if _, err := Extract(t.Context(), file, t.TempDir(), k, quiet); code(err) != want {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
}

func TestAForgedBackupIsRefused(t *testing.T) {
	l, k := keys(t)
	var need []File
	for _, name := range needed() {
		need = append(need, File{Path: name})
	}
	with := func(f ...File) Manifest {
		return Manifest{Format: 1, Cluster: "one", Files: append(need[:len(need):len(need)], f...)}
	}
	for _, c := range []struct {
		manifest any
		code     string
	}{
		{map[string]any{"format": 2, "program": "v9", "files": "another kind"}, "backup.newer-format"},
		{Manifest{Format: 2}, "backup.newer-format"},
		{with(File{Path: "pki/../../escape"}), "backup.damaged"},
		{with(File{Path: "/etc/passwd"}), "backup.damaged"},
		{with(File{Path: "runs/1"}), "backup.damaged"},
		{with(File{Path: "pki/bundle.tar.gz"}), "backup.damaged"},
		{with(File{Path: "pki/nodes/../etcd"}), "backup.damaged"},
		{with(File{Path: "pki/admin.crt"}, File{Path: "pki/admin.crt"}), "backup.damaged"},
		{with(File{Path: "pki/admin.crt", Size: -1}), "backup.damaged"},
		{with(File{Path: "pki/admin.crt", Size: 1 << 60}), "backup.space"},
		{Manifest{Format: 1, Cluster: "one", Files: need[:len(need)-1]}, "backup.damaged"},
		{Manifest{Format: 1, Cluster: ".", Files: need}, "backup.damaged"},
		{Manifest{Format: 1, Cluster: "one"}, "backup.damaged"},
		{Manifest{Format: 1, Cluster: "../up", Files: need}, "backup.damaged"},
		{with(), "backup.damaged"}, // no members
		{"nonsense", "backup.damaged"},
	} {
		if _, err := Extract(t.Context(), forged(t, l, c.manifest), t.TempDir(), k, quiet); code(err) != c.code {
			t.Errorf("%+v: %v, want %s", c.manifest, err, c.code)
		}
	}
}

// A disk that is full leaves nothing half written.
func TestWhatCannotBeWritten(t *testing.T) {
	l, k := keys(t)
	_, sources := cluster(t)
	if err := encode(t.Context(), full{}, Manifest{Files: make([]File, len(sources))}, sources, l, quiet); err == nil {
		t.Error("a full disk was not noticed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	gone := append(sources[:1:1], Source{"pki/sa.key", filepath.Join(dir, "gone")})
	if err := Write(t.Context(), file, Manifest{}, gone, l, quiet); code(err) != "backup.write" {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(over, file, Manifest{}, sources, l, quiet); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
	good := made(t, l)
	below := filepath.Join(good, "below")
	if err := Write(t.Context(), below, Manifest{}, sources, l, quiet); code(err) != "backup.write" {
		t.Error(err)
	}
	there := t.TempDir()
	if err := os.WriteFile(filepath.Join(there, "etcd.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(t.Context(), good, there, k, quiet); code(err) != "backup.extract" {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// Backups are listed by their names alone; the oldest of the cluster go, and no others.
func TestListAndPrune(t *testing.T) {
	dir := t.TempDir()
	const ca, others = "0123456789abcdef", "fedcba9876543210"
	just := filepath.Join(dir, Name("one", at, "v1.34.2", ca, CommandLine))
	for i, name := range []string{filepath.Base(just), Name("one", at.Add(-time.Hour), "", ca, CommandLine),
		Name("one", at.Add(-2*time.Hour), "v1.33.1-rc.1", ca, CommandLine),
		Name("one", at.Add(-3*time.Hour), "v1.33.1", others, CommandLine),
		Name("one", at.Add(time.Hour), "v1.34.2", ca, CommandLine), "one_20200101T000000Z_v1.30.0.tar.zst.age",
		Name("one_two", at.Add(-time.Hour), "v1.34.2", ca, CommandLine), "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := List(dir, "one")
	if err != nil || len(all) != 6 || all[2].Kubernetes != "" || all[2].Size != 1 || !all[1].At.Equal(at) ||
		all[3].Kubernetes != "v1.33.1-rc.1" || all[3].CA != "01234567" || all[5].CA != "" {
		t.Errorf("%+v %v", all, err)
	}
	if all, _ := List(dir, ""); len(all) != 7 {
		t.Errorf("%+v", all)
	}
	if p := Prune(just, 0, at); len(p.Gone)+len(p.Future) > 0 {
		t.Errorf("%+v", p)
	}
	if p := Prune(just, 3, at); len(p.Gone) > 0 || len(p.Future) != 1 || p.Failed != nil {
		t.Errorf("%+v", p)
	}
	p := Prune(just, 1, at)
	if len(p.Gone) != 2 || p.Gone[0].CA != "01234567" || p.Failed != nil {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(just); err != nil {
		t.Error("the newest is gone:", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 6 {
		t.Error(left)
	}
	if all, err := List(filepath.Join(dir, "none"), ""); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	if _, err := List(filepath.Join(dir, "notes.txt"), ""); code(err) != "backup.directory" {
		t.Error(err)
	}
	if p := Prune(filepath.Join(dir, "notes.txt", filepath.Base(just)), 1, at); code(p.Failed) != "backup.directory" {
		t.Error(p.Failed)
	}
}

// Who takes a backup removes none of a set that is not his: else an operator could replace all that can be opened by
// what nobody but himself can.
func TestASetIsPrunedByItself(t *testing.T) {
	const ca = "01234567"
	sets := []Set{CommandLine, Schedule, SetOf("otto", nil), SetOf("ann", nil), SetOf("otto", []string{"age1x"}),
		SetOf("schedule", nil)}
	if a, b := SetOf("otto", []string{"a", "b"}), SetOf("otto", []string{"b", "a"}); a != b {
		t.Error("the order of recipients makes another set:", a, b)
	}
	for i, own := range sets {
		dir := t.TempDir()
		for _, set := range sets {
			for h := range 3 {
				name := Name("one", at.Add(-time.Duration(h)*time.Hour), "v1.34.2", ca, set)
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		p := Prune(filepath.Join(dir, Name("one", at, "v1.34.2", ca, own)), 1, at)
		if len(p.Gone) != 2 || p.Gone[0].Set != own || p.Gone[1].Set != own || p.Failed != nil {
			t.Errorf("%d: %+v", i, p)
		}
		if all, err := List(dir, "one"); len(all) != 3*len(sets)-2 || err != nil {
			t.Error(i, len(all), err)
		}
	}
	// What has no CA in its name is nobody's.
	just := filepath.Join(t.TempDir(), "one_20200101T000000Z_v1.30.0.tar.zst.age")
	if p := Prune(just, 1, at); len(p.Gone) > 0 || p.Failed != nil {
		t.Errorf("%+v", p)
	}
}

// One that cannot be removed keeps no other.
func TestPruneGoesOnAfterAFailure(t *testing.T) {
	dir := t.TempDir()
	just := filepath.Join(dir, Name("one", at, "v1.34.2", "01234567", CommandLine))
	for h := range 3 {
		name := filepath.Join(dir, Name("one", at.Add(-time.Duration(h)*time.Hour), "v1.34.2", "01234567", CommandLine))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700) //nolint:errcheck // for who removes it
	if p := Prune(just, 1, at); os.Getuid() != 0 && (p.Failed == nil || len(p.Gone) > 0) {
		t.Errorf("%+v", p)
	}
}

// A link below pki, or pki as one, would give a backup without CAs.
func TestLinksAreRefused(t *testing.T) {
	for _, name := range []string{"pki", "pki/ca.key", "pki/etcd"} {
		dir, _ := cluster(t)
		at := filepath.Join(dir, name)
		if err := errors.Join(os.Rename(at, at+".real"), os.Symlink(at+".real", at)); err != nil {
			t.Fatal(err)
		}
		if _, err := Sources(dir, "snapshot"); code(err) != "backup.irregular" {
			t.Error(name, err)
		}
	}
	dir, _ := cluster(t)
	if err := os.Remove(filepath.Join(dir, "pki", "sa.key")); err != nil {
		t.Fatal(err)
	}
	l, _ := keys(t)
	sources, err := Sources(dir, filepath.Join(dir, "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	err = Write(t.Context(), filepath.Join(dir, "b"), Manifest{}, sources, l, quiet)
	if code(err) != "backup.incomplete" {
		t.Error(err)
	}
}

// What a backup has left that was killed goes with the next one; what somebody writes stays.
func TestWhatWasLeftGoes(t *testing.T) {
	l, _ := keys(t)
	_, sources := cluster(t)
	dir := t.TempDir()
	name := Name("one", at, "v1.34.2", "01234567", CommandLine)
	other := Name("one", at, "v1.34.2", "76543210", CommandLine)
	stale, busy := filepath.Join(dir, "."+name+"123"), filepath.Join(dir, "."+name+"456")
	others := filepath.Join(dir, "."+other+"123")
	set := filepath.Join(dir, "."+Name("one", at.Add(-time.Hour), "v1.34.2", "01234567", Schedule)+"123")
	for _, path := range []string{stale, busy, others, set} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(busy)
	if err := errors.Join(err, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(t.Context(), filepath.Join(dir, name), Manifest{}, sources, l, quiet); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{stale: false, busy: true, others: true, set: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Error(path, err)
		}
	}
}
