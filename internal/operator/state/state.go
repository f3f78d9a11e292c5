// Package state keeps the files of clusters in Secrets: it is the operation.Store of runs that have no control host.
// A directory is filled from the Secrets when a cluster is opened, and each part of it is written back before a node
// depends on it. The lock of a cluster is a Lease.
//
// Begin reading at Store and parts.
package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Client reads and writes the objects of one namespace. It must not answer from a cache: the resource version that was
// read decides who may write.
type Client interface {
	client.Reader
	client.Writer
}

// Options of a Store.
type Options struct {
	Client    Client
	Namespace string
	// Root is the directory that the files are in while the process lives; absolute. Put it in memory: it holds the
	// keys of the CAs.
	Root string
	// Snapshots and Backups are directories that outlive the process: snapshots of etcd and backups are kept in a
	// directory of the cluster's name below them. "": there is none. They may be the same.
	Snapshots, Backups string
	// Runs is a directory for the logs of runs, which grow with the cluster and hold no secret: a disk. "": they are
	// below Root.
	Runs string
	// Wait is how long Lock waits for a lock that another process holds; 0: it does not wait.
	Wait time.Duration
	// Waits is called once by each Lock that begins to wait, with the holder; nil: nothing.
	Waits func(journal.Holder)
	Clock operation.Clock // nil: the machine's
}

// Store keeps the clusters of a namespace in Secrets.
type Store struct {
	store.Dir
	o      Options
	timing timing

	mu       sync.Mutex
	clusters map[string]*cluster
}

var _ operation.Store = (*Store)(nil)

// New returns a Store. Nothing is read before a cluster is opened.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = machine{}
	}
	dir := store.Dir{Root: o.Root, Temp: filepath.Join(o.Root, copies)}
	return &Store{Dir: dir, o: o, timing: usual(), clusters: map[string]*cluster{}}
}

// Read implements operation.Store.
func (s *Store) Read(ctx context.Context, name string) (operation.Files, error) {
	c, err := s.filled(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := s.Dir.Read(ctx, name)
	return c.files(f), err
}

// Open implements operation.Store.
func (s *Store) Open(ctx context.Context, name string) (operation.Files, error) {
	c, err := s.filled(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := s.Dir.Open(ctx, name)
	return c.files(f), err
}

// copies is the directory of copies below the root: in memory, as the files themselves. No cluster has that name.
const copies = ".copies"

// Copy implements operation.Store. The copy is never written to the Secrets.
func (s *Store) Copy(ctx context.Context, name string) (operation.Files, error) {
	if _, err := s.filled(ctx, name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Temp, 0o700); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	return s.Dir.Copy(ctx, name)
}

// filled returns a cluster whose directory has what the Secrets have.
func (s *Store) filled(ctx context.Context, name string) (*cluster, error) {
	if _, err := s.Dir.Read(ctx, name); err != nil { // which refuses names that are not a directory's
		return nil, err
	}
	if err := s.link(name, "runs", s.o.Runs); err != nil {
		return nil, err
	}
	if _, err := s.Dir.Open(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	c := s.clusters[name]
	if c == nil {
		c = &cluster{store: s, name: name, dir: filepath.Join(s.Root, name), have: map[v1.StatePart]kept{}}
		s.clusters[name] = c
	}
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil { // the directory may be ahead of the Secrets
		return c, nil
	}
	if err := c.fill(ctx, ""); err != nil {
		return nil, err
	}
	return c, errors.Join(s.link(name, "snapshots", s.o.Snapshots), s.link(name, "backups", s.o.Backups))
}

// cluster is one cluster of a Store.
type cluster struct {
	store *Store
	name  string
	dir   string

	mu    sync.Mutex
	have  map[v1.StatePart]kept // by part: what the Secrets had when they were last read or written
	lease *lease                // while this process holds the lock
}

// files returns the files of a cluster's directory as those of the Secrets; nil for nil.
func (c *cluster) files(local operation.Files) operation.Files {
	if local == nil {
		return nil
	}
	return &files{Files: local, of: c}
}

// link has a directory of a cluster's files be elsewhere: below at; "": it is not.
func (s *Store) link(cluster, name, at string) error {
	if at == "" {
		return nil
	}
	dir, to := filepath.Join(s.Root, cluster), filepath.Join(at, cluster, name)
	err := errors.Join(os.MkdirAll(dir, 0o700), os.MkdirAll(to, 0o700))
	if err == nil {
		if err = os.Symlink(to, filepath.Join(dir, name)); os.IsExist(err) {
			err = nil
		}
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// machine is the clock of this host.
type machine struct{}

// Now implements operation.Clock.
func (machine) Now() time.Time { return time.Now() }

// Sleep implements operation.Clock.
func (machine) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
