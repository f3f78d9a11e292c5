package operation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup/scratch"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// VerifyBackup proves a backup: it decrypts it, compares all checksums, and has a scratch etcd on this host serve the
// snapshot. Its programs are those of the bundle that the request names, or that the deploy.yaml of the cluster on this
// host names, else those of the PATH: nothing that the backup says is executed. progress is told how far it is.
func VerifyBackup(
	ctx context.Context, q request.BackupVerify, d Deps, progress func(done, total int64),
) (*request.BackupProof, error) {
	o, remove, err := open(ctx, q.File, q.Key, d, progress)
	if err != nil {
		return nil, err
	}
	defer remove()
	m := o.manifest
	out := &request.BackupProof{BackupInfo: request.BackupInfo{Type: "verified", Path: q.File, Cluster: m.Cluster,
		At: m.At, Kubernetes: m.Kubernetes, Size: o.size}, Program: m.Program, Revision: o.snapshot.Revision,
		Files: len(m.Files), Keys: int64(o.snapshot.Keys)}
	dir := filepath.Join(filepath.Dir(o.dir), "etcd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	programs, err := etcdPrograms(ctx, dir, m.Cluster, q, d)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && q.Bundle != "" {
		return nil, err
	}
	if err != nil {
		out.NoEtcd = noEtcd(err)
		return out, nil
	}
	proof, err := scratch.Restore(ctx, dir, o.snapshot.Path, programs)
	if err != nil {
		return nil, err
	}
	if proof.Revision < m.Revision || proof.Namespaces == 0 { // every cluster has namespaces
		return nil, event.NewFault(event.ClassFailed, "backup.scratch", fmt.Errorf("%w: revision %d with %d namespaces",
			errLess, proof.Revision, proof.Namespaces))
	}
	out.Etcd, out.Keys = true, proof.Keys
	return out, nil
}

var (
	errLess     = errors.New("etcd serves less than the backup has")
	errNoBundle = errors.New("this host has no deploy.yaml of the cluster with a bundle for its architecture")
)

// noEtcd says why no etcd served the snapshot.
func noEtcd(err error) *event.Fault {
	f := (*event.Fault)(nil)
	if errors.As(err, &f) && (f.Code == "trust.unsigned" || f.Code == "trust.foreign") {
		return event.NewFault(event.ClassPartial, "backup.no-signed-etcd", nil, "file", filepath.Base(f.Args["file"]))
	}
	return event.NewFault(event.ClassPartial, "backup.no-etcd", err)
}

// etcdPrograms are etcd and etcdutl for this host: copies of those of the bundle that is named, else of the one that
// this host's own deploy.yaml of the cluster names, else those of the PATH.
func etcdPrograms(
	ctx context.Context, dir, cluster string, q request.BackupVerify, d Deps,
) (scratch.Programs, error) {
	if q.Bundle != "" {
		from := config.BundleSource{Key: runtime.GOARCH, Arch: runtime.GOARCH, Path: q.Bundle}
		return bundled(ctx, dir, from, d, false)
	}
	from, err := ownBundle(ctx, cluster, d)
	if err == nil {
		var p scratch.Programs
		if p, err = bundled(ctx, dir, from, d, q.SignedOnly); err == nil || ctx.Err() != nil {
			return p, err
		}
	}
	p, err2 := scratch.Found()
	if err2 != nil {
		return p, errors.Join(err, err2)
	}
	return p, nil
}

// ownBundle is the one for this host's architecture of its own deploy.yaml of a cluster.
func ownBundle(ctx context.Context, cluster string, d Deps) (config.BundleSource, error) {
	files, err := d.Store.Read(ctx, cluster)
	if err != nil {
		return config.BundleSource{}, err
	}
	defer files.Close()
	c, err := ownConfig(files)
	if err != nil {
		return config.BundleSource{}, errNoBundle
	}
	all := c.Bundles()
	i := slices.IndexFunc(all, func(b config.BundleSource) bool { return b.Arch == runtime.GOARCH })
	if i < 0 {
		return config.BundleSource{}, errNoBundle
	}
	return all[i], nil
}

func bundled(
	ctx context.Context, dir string, from config.BundleSource, d Deps, signed bool,
) (p scratch.Programs, err error) {
	s := d.Bundles.Session(BundleUse{Beside: dir, SignedOnly: signed, Emit: func(event.Event) error { return nil }})
	defer s.Release()
	b, err := s.Stage(ctx, from)
	if err != nil {
		return p, err
	}
	if p.Etcd, err = program(b, dir, "etcd"); err != nil {
		return p, err
	}
	p.Etcdutl, err = program(b, dir, "etcdutl")
	return p, err
}

// program copies a program of a bundle to where only this user can execute it.
func program(b phases.Bundle, dir, name string) (string, error) {
	m := b.Manifest()
	i := slices.IndexFunc(m.Members, func(m bundle.Member) bool { return m.Kind == bundle.Binary && m.Name == name })
	if i < 0 {
		return "", event.NewFault(event.ClassBundle, "backup.no-program", nil, "name", name)
	}
	src, err := b.Open(m.Members[i].Path)
	if err != nil {
		return "", err
	}
	defer src.Close()
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, src)
	return path, errors.Join(err, f.Close())
}
