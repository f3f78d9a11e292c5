// Package store keeps the clusters of a control host in a directory, one below it for each. It may import operation
// and what that stands on.
package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/scratch"
)

// ConfigName in a cluster's directory is its own deploy.yaml: that of the last run that passed preflight. That of a
// cluster that was cleaned up is kept beside it, by another name.
const ConfigName = "deploy.yaml"

// Dir is a state directory.
type Dir struct {
	Root string
	// Temp is a directory for copies, which hold the keys of CAs; "": that of the system.
	Temp string
}

var _ operation.Store = Dir{}

// Clusters implements operation.Store.
func (d Dir) Clusters(context.Context) ([]string, error) {
	entries, err := d.Entries()
	var out []string
	for _, e := range entries {
		if isThere(filepath.Join(d.Root, e.Name(), ConfigName)) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// Entries returns what is in the directory, by name: clusters and other files.
func (d Dir) Entries() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(d.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return entries, nil
}

// Known implements operation.Store.
func (d Dir) Known(context.Context) ([]string, error) {
	entries, err := d.Entries()
	var out []string
	for _, e := range entries {
		if d.Knows(e) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// Knows reports whether an entry of the directory is a cluster.
func (d Dir) Knows(e fs.DirEntry) bool {
	dir := filepath.Join(d.Root, e.Name())
	_, err := journal.At(d.Root, e.Name())
	f := event.AsFault(err)
	newer := f != nil && f.Code == "state.newer-format"
	has := isThere(filepath.Join(dir, "runs")) || isThere(filepath.Join(dir, ConfigName))
	return newer || err == nil && e.IsDir() && has
}

// Where implements operation.Store.
func (d Dir) Where() string { return d.Root }

// Read implements operation.Store.
func (d Dir) Read(_ context.Context, cluster string) (operation.Files, error) {
	return found(journal.At(d.Root, cluster))
}

// Open implements operation.Store.
func (d Dir) Open(_ context.Context, cluster string) (operation.Files, error) {
	return found(journal.Open(d.Root, cluster))
}

func found(j *journal.Cluster, err error) (operation.Files, error) {
	if err != nil {
		return nil, err
	}
	return &files{dir: j.Path(), journal: j}, nil
}

// Copy implements operation.Store. What is copied is what phases read: runs and snapshots are not in it.
func (d Dir) Copy(_ context.Context, cluster string) (operation.Files, error) {
	j, err := journal.At(d.Root, cluster)
	if err != nil {
		return nil, err
	}
	dir, remove, err := scratch.Dir(cmp.Or(d.Temp, os.TempDir()), copyPrefix, time.Now())
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	f := &files{dir: dir, journal: j, remove: remove}
	if err := copyState(j.Path(), dir); err != nil {
		return nil, errors.Join(event.NewFault(event.ClassFailed, "state.read", err), f.Close())
	}
	return f, nil
}

// copyPrefix begins the names of directories with copies of clusters' files, CA keys among them.
const copyPrefix = "eggo-copy-"

// copyState copies what a cluster keeps here, but for its runs and snapshots.
func copyState(from, to string) error {
	for _, name := range []string{"pki", "known_hosts", "admin.conf", "upgrade.json", "endpoint.json", "dns.json",
		"seed.json", "owner.json", ConfigName} {
		src := filepath.Join(from, name)
		i, err := os.Lstat(src)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case i.IsDir():
			err = os.CopyFS(filepath.Join(to, name), os.DirFS(src))
		default:
			err = copyFile(src, filepath.Join(to, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file with mode 0600.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
