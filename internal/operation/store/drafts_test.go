package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What was typed last is kept, in whatever order it is saved; a cluster's draft is its own.
func TestDrafts(t *testing.T) {
	d, now := Dir{Root: filepath.Join(t.TempDir(), "state")}, time.Now()
	draft, other := d.Draft(), d.JoinDraft("one")
	if draft.Load() != nil {
		t.Error("a draft from nowhere")
	}
	err := errors.Join(
		draft.Save([]byte("later"), now.Add(time.Second)), draft.Save([]byte("earlier"), now),
		other.Save([]byte("other"), now))
	if err != nil || string(draft.Load())+" "+string(other.Load()) != "later other" {
		t.Errorf("%s %s %v", draft.Load(), other.Load(), err)
	}
	if i, err := os.Stat(filepath.Join(d.Root, "draft.json")); err != nil || i.Mode().Perm() != 0o600 {
		t.Error(i, err)
	}
	if err := errors.Join(draft.Forget(), draft.Forget()); err != nil || draft.Load() != nil || other.Load() == nil {
		t.Errorf("%s %s %v", draft.Load(), other.Load(), err)
	}
}

// Lines that are there are not added again, and a last line without its end stays one.
func TestLinesAreAddedOnce(t *testing.T) {
	d, from := Dir{Root: t.TempDir()}, filepath.Join(t.TempDir(), "known_hosts")
	to := filepath.Join(d.Root, "one", "known_hosts")
	if err := d.Trust("one", "", from); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(to)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	place(t, to, "a\nb")
	place(t, from, "b\nc")
	for range 2 {
		if err := d.Trust("one", "", from); err != nil || textOf(t, to) != "a\nb\nc\n" {
			t.Errorf("%q %v", textOf(t, to), err)
		}
	}
}

// Host keys go where the cluster's deploy.yaml says that they are.
func TestTheFileThatDeployYAMLNamesIsAddedTo(t *testing.T) {
	d, dir := Dir{Root: t.TempDir()}, t.TempDir()
	from, named := filepath.Join(dir, "draft"), filepath.Join(dir, "mine", "known_hosts")
	place(t, from, "a\n")
	if err := d.Trust("one", named, from); err != nil || textOf(t, named) != "a\n" {
		t.Errorf("%q %v", textOf(t, named), err)
	}
	if _, err := os.Stat(filepath.Join(d.Root, "one")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What a file was is kept beside it when it becomes something else.
func TestReplaceKeepsWhatWas(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "c", "deploy.yaml"), time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, text := range []string{"one", "one", "two"} {
		if err := Replace(file, []byte(text), now); err != nil {
			t.Fatal(err)
		}
	}
	if got := textOf(t, file) + " " + textOf(t, file+".20261122T090000Z.bak"); got != "two one" {
		t.Error(got)
	}
	if list, err := filepath.Glob(file + "*"); len(list) != 2 || err != nil {
		t.Error(list, err)
	}
}
