package runs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// kept is what the files of clusters, or of runs, said when they were read last. They are read again when they are
// others, or were written so short a time ago that a second change could have left the same time.
type kept[T any] struct {
	mu  sync.Mutex
	all map[string]known[T]
}

type known[T any] struct {
	files []fs.FileInfo // nil: it was not there
	value T
}

// settled is how long ago a file was changed that another change gives another time.
const settled = 2 * time.Second

// of gives what the files of a cluster say. Errors are not kept.
func (k *kept[T]) of(cluster string, files []fs.FileInfo, read func() (T, error)) (T, error) {
	k.mu.Lock()
	have, is := k.all[cluster]
	k.mu.Unlock()
	if is && slices.EqualFunc(have.files, files, same) {
		return have.value, nil
	}
	value, err := read()
	k.mu.Lock()
	defer k.mu.Unlock()
	young := func(f fs.FileInfo) bool { return f != nil && time.Since(f.ModTime()) < settled }
	if err != nil || slices.ContainsFunc(files, young) {
		delete(k.all, cluster)
		return value, err
	}
	if k.all == nil {
		k.all = map[string]known[T]{}
	}
	k.all[cluster] = known[T]{files, value}
	return value, nil
}

// forget removes what is kept of a cluster, and returns it.
func (k *kept[T]) forget(cluster string) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.all[cluster].value
	delete(k.all, cluster)
	return have
}

// forget removes what is kept of the files of a cluster.
func (r *Runner) forget(cluster string) {
	r.machines.forget(cluster)
	r.found.forget(cluster)
	r.certs.forget(cluster)
	for _, only := range []bool{false, true} {
		if api := r.apis.forget(r.Kubeconfig(manager.Record{Name: cluster, Kubeconfig: only})); api != nil {
			api.client.CloseIdleConnections()
		}
	}
}

// forgetOthers forgets the clusters of the last scan that the state directory no longer has, such as those that the
// command line has removed.
func (r *Runner) forgetOthers(now []string) {
	slices.Sort(now)
	r.mu.Lock()
	was := r.scanned
	r.scanned = now
	r.mu.Unlock()
	for _, cluster := range was {
		if _, is := slices.BinarySearch(now, cluster); !is {
			r.forget(cluster)
		}
	}
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}

// stats are what is known of files.
func stats(paths ...string) (out []fs.FileInfo) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			info = nil
		}
		out = append(out, info)
	}
	return out
}

// ends are when the first certificates of a cluster expire that the control host has. Zero: there is none.
type ends struct {
	leaf      time.Time // CAs aside
	renewed   time.Time // of those that a renewal makes last longer
	authority time.Time
}

// ends reads the certificates of a cluster.
func (r *Runner) ends(cluster string) (ends, error) {
	dir := filepath.Join(r.o.Root, cluster, "pki")
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || filepath.Ext(path) == ".crt") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return ends{}, err
	}
	return r.certs.of(cluster, stats(paths...), func() (e ends, err error) {
		list, err := pki.List(dir)
		if err != nil {
			return e, err
		}
		first := func(t *time.Time, c pki.Certificate) {
			if t.IsZero() || c.NotAfter.Before(*t) {
				*t = c.NotAfter
			}
		}
		for _, c := range list {
			if c.Authority {
				first(&e.authority, c)
			} else {
				first(&e.leaf, c)
			}
		}
		for _, c := range pki.Renewable(list) {
			first(&e.renewed, c)
		}
		return e, nil
	})
}
