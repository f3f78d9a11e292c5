package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// BackupContent is what is about to be restored, for who has to confirm it.
type BackupContent struct {
	*backup.Manifest
	Snapshot *phases.SnapshotFile
	// Nodes are those that the snapshot is restored on; none: no node is touched.
	Nodes []config.Node
}

// Restoring is a backup that was opened and can be restored here. OpenRestore changes nothing, Place brings back what
// is the control host's, and Undo takes that back for who does not come to the run that does the rest. A cluster with
// other CAs is never replaced. Who asks again after an interruption gets the same request.
type Restoring struct {
	*opened
	remove  func()
	deps    Deps
	request request.BackupRestore
	nodes   []config.Node
	there   bool // the control host has the cluster
	// aside is where placeSeed has set aside what the cluster was; "": nothing.
	aside string
	// placed is the snapshot that the cluster's directory did not have before; "": none.
	placed string
	// seed of a deploy to new machines that placing has ended; nil: none.
	seed []byte
}

// OpenRestore decrypts a backup, and refuses what cannot be restored here.
func OpenRestore(
	ctx context.Context, q request.BackupRestore, d Deps, progress func(done, total int64),
) (*Restoring, error) {
	if q.FilesOnly && q.Source.File != "" {
		return nil, event.NewFault(event.ClassUsage, "backup.files-only", nil)
	}
	o, remove, err := open(ctx, q.File, q.Key, d, progress)
	if err != nil {
		return nil, err
	}
	r := &Restoring{opened: o, remove: remove, deps: d, request: q}
	if err := r.check(ctx); err != nil {
		remove()
		return nil, err
	}
	return r, nil
}

// Close removes what was decrypted and is not placed.
func (r *Restoring) Close() { r.remove() }

// Content is what is about to be restored.
func (r *Restoring) Content() BackupContent { return BackupContent{r.manifest, r.snapshot, r.nodes} }

// Place puts the files where they belong, and gives the request of the run that does the rest: a restore of etcd on the
// machines that the cluster has, or a deploy to new ones, which begins with the snapshot. nil: nothing is left to do.
func (r *Restoring) Place(ctx context.Context) (next request.Request, err error) {
	err = r.locked(ctx, func(ctx context.Context, files Files) error {
		if err := r.check(ctx); err != nil { // somebody else may have worked on it since
			return err
		}
		next, err = r.place(ctx, files)
		return err
	})
	return next, err
}

// Replaces says whether Place has set aside the cluster's own deploy.yaml: until the run has begun, this host does not
// know of the cluster's machines any more.
func (r *Restoring) Replaces() bool { return r.aside != "" && r.there }

// Undo brings back what Place has set aside, unless somebody has begun with the cluster since, and removes the
// snapshot.
func (r *Restoring) Undo(ctx context.Context) error {
	if r.aside+r.placed == "" && r.seed == nil {
		return nil
	}
	return r.locked(ctx, r.bringBack)
}

// locked does something with the lock of the cluster.
func (r *Restoring) locked(ctx context.Context, do func(context.Context, Files) error) error {
	files, err := r.deps.Store.Open(ctx, r.manifest.Cluster)
	if err != nil {
		return err
	}
	defer files.Close()
	return withLock(ctx, r.deps, files, r.manifest.Cluster, "backup restore", func(ctx context.Context) error {
		return do(ctx, files)
	})
}

func (r *Restoring) bringBack(ctx context.Context, files Files) error {
	if r.aside != "" {
		if _, _, err := files.Config(); !errors.Is(err, fs.ErrNotExist) { // a deploy has begun
			return err
		}
	}
	if r.placed != "" {
		if err := os.Remove(r.placed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	if r.seed != nil {
		return errors.Join(input.WriteUnderWay(files.Dir(), input.SeedName, json.RawMessage(r.seed)),
			files.Persist(ctx, input.KeptSeed))
	}
	if r.aside == "" {
		return nil
	}
	if err := input.ForgetUnderWay(files.Dir(), input.SeedName); err != nil {
		return err
	}
	for _, name := range slices.Backward(ofMachines()) { // what says that the cluster is there comes last
		if err := move(filepath.Join(r.aside, name), filepath.Join(files.Dir(), name)); err != nil {
			return err
		}
	}
	if err := os.Remove(r.aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return persist(ctx, files, input.KeptKnownHosts, input.KeptAdminConf, input.KeptConfig, input.KeptSeed)
}

// ofMachines are the files in a cluster's directory that are about the machines that it has.
func ofMachines() []string {
	return []string{backup.Config, backup.KnownHosts, backup.AdminConf, input.UpgradeName, input.FormerName,
		input.FormerDNSName, input.SeedName, "restore.json"}
}

// check refuses what cannot be restored here.
func (r *Restoring) check(ctx context.Context) error {
	name := r.manifest.Cluster
	if o := node.ParseOwner(r.manifest.Owner); o.Newer() {
		return event.NewFault(event.ClassPreflight, "backup.newer-format", nil, "path", r.request.File, "format",
			strconv.Itoa(o.Format), "known", strconv.Itoa(node.OwnerFormat), "version",
			event.Clean(r.manifest.Program))
	}
	r.nodes, r.there = nil, false
	files, err := r.deps.Store.Read(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	_, _, err = files.Config()
	r.there = err == nil
	have, err := os.ReadFile(filepath.Join(files.Dir(), "pki", "ca.crt"))
	want, err2 := os.ReadFile(r.path("pki/ca.crt"))
	switch {
	case err2 != nil || err != nil && !errors.Is(err, fs.ErrNotExist):
		return event.NewFault(event.ClassFailed, "state.read", errors.Join(err, err2))
	case err == nil && !bytes.Equal(have, want):
		return event.NewFault(event.ClassPreflight, "backup.other-cluster", nil, "path", r.request.File,
			"cluster", name, "dir", files.Dir())
	case r.request.FilesOnly && r.there:
		return event.NewFault(event.ClassUsage, "backup.there", nil, "cluster", name, "dir", files.Dir())
	case r.request.FilesOnly:
		return nil
	}
	if r.request.Source.File == "" {
		r.nodes = nodesOf(r.config)
		if own, _ := ownConfig(files); own != nil { // whose machines they are
			r.nodes = own.Nodes
		}
		return nil
	}
	s, err := loadSource(ctx, r.request.Source, r.deps)
	if err != nil {
		return err
	}
	r.nodes = s.cluster.Nodes
	return r.fits(s)
}

// ownConfig is the cluster's own deploy.yaml on this host.
func ownConfig(files Files) (*config.Cluster, error) {
	text, path, err := files.Config()
	if err != nil {
		return nil, err
	}
	c, problems := config.Load(text, path)
	return c, problems.Err()
}

func nodesOf(c *config.Cluster) []config.Node {
	if c == nil {
		return nil
	}
	return c.Nodes
}

// fits refuses a deploy.yaml of new machines that the data are not for.
func (r *Restoring) fits(s *source) error {
	c, was := s.cluster, r.config
	if c.Name != r.manifest.Cluster {
		return event.NewFault(event.ClassUsage, "backup.cluster-id", nil, "file", s.file, "cluster", r.manifest.Cluster,
			"id", c.Name)
	}
	if c.Eggo.Imported { // of the machines that the cluster had; the run would refuse it with them set aside
		return event.NewFault(event.ClassUsage, "backup.imported", nil, "file", s.file, "cluster", c.Name)
	}
	if was != nil {
		for _, k := range []struct{ key, is, was string }{
			{"network.podcidr", c.PodCIDR.String(), was.PodCIDR.String()},
			{"service.cidr", c.ServiceCIDR.String(), was.ServiceCIDR.String()},
			{"dns-domain", c.DNSDomain, was.DNSDomain},
		} {
			if k.is != k.was {
				return event.NewFault(event.ClassUsage, "backup.network", nil, "file", s.file, "key", k.key,
					"value", k.is, "was", k.was)
			}
		}
	}
	old, ok := parseVersion(r.manifest.Kubernetes)
	fresh, ok2 := parseVersion((&prepared{source: s, deps: r.deps}).kubernetes())
	if ok && ok2 && (fresh.compare(old) < 0 || fresh.major != old.major || fresh.minor > old.minor+1) {
		return event.NewFault(event.ClassUsage, "backup.version", nil, "was", r.manifest.Kubernetes, "is",
			(&prepared{source: s, deps: r.deps}).kubernetes())
	}
	return nil
}

// place puts the files where they belong. What says that the cluster is there comes last.
func (r *Restoring) place(ctx context.Context, files Files) (request.Request, error) {
	if err := r.placeOwner(ctx, files); err != nil {
		return nil, err
	}
	if r.request.Source.File != "" {
		if err := r.placeSeed(ctx, files); err != nil {
			return nil, err
		}
		return request.Deploy{Common: r.request.Common}, nil
	}
	// A restore onto new machines that was begun by mistake, or is not wanted any more, ends.
	seed, err := os.ReadFile(filepath.Join(files.Dir(), input.SeedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	r.seed = seed
	if err := input.ForgetUnderWay(files.Dir(), input.SeedName); err != nil {
		return nil, err
	}
	if err := files.Persist(ctx, input.KeptSeed); err != nil {
		return nil, err
	}
	if err := r.placeCluster(ctx, files); err != nil {
		return nil, err
	}
	if r.request.FilesOnly {
		return nil, nil
	}
	snapshot, err := r.placeSnapshot(files)
	if err != nil {
		return nil, err
	}
	c := r.request.Common
	c.Source = request.Source{Cluster: r.manifest.Cluster}
	return request.Restore{Common: c, Snapshot: snapshot}, nil
}

// placeOwner gives the control host the owner of the cluster, if it lacks it: what is there is newer than a backup.
func (r *Restoring) placeOwner(ctx context.Context, files Files) error {
	owner := node.ParseOwner(r.manifest.Owner)
	if _, err := os.Lstat(filepath.Join(files.Dir(), input.OwnerName)); owner.ID == "" || err == nil {
		return nil
	}
	if err := input.WriteUnderWay(files.Dir(), input.OwnerName, owner); err != nil {
		return err
	}
	return files.Persist(ctx, input.KeptOwner)
}

// placeCluster gives the control host the cluster, if it lacks it.
func (r *Restoring) placeCluster(ctx context.Context, files Files) error {
	if r.there {
		return nil
	}
	if err := r.placePKI(files); err != nil {
		return err
	}
	for _, name := range []string{backup.KnownHosts, backup.AdminConf, backup.Config} {
		if err := move(r.path(name), filepath.Join(files.Dir(), name)); err != nil {
			return err
		}
	}
	return persist(ctx, files, input.KeptPKI, input.KeptKnownHosts, input.KeptAdminConf, input.KeptConfig)
}

func (r *Restoring) placePKI(files Files) error {
	to := filepath.Join(files.Dir(), backup.PKI)
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		return move(r.path(backup.PKI), to)
	}
	for _, f := range r.manifest.Files { // the same CA: it was checked; what else is lost comes back
		if !strings.HasPrefix(f.Path, backup.PKI+"/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(files.Dir(), f.Path)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := move(r.path(f.Path), filepath.Join(files.Dir(), f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// SnapshotName is the name that the snapshot gets among those of the cluster.
func (r *Restoring) SnapshotName() string { return "backup-" + r.snapshot.SHA256[:12] + ".db" }

// placeSnapshot gives the cluster's directory the snapshot by a name of its content.
func (r *Restoring) placeSnapshot(files Files) (string, error) {
	path := filepath.Join(files.Dir(), "snapshots", r.SnapshotName())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", event.NewFault(event.ClassFailed, "state.write", err)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		r.placed = path
	}
	return path, move(r.path(backup.Snapshot), path)
}

// placeSeed has the next deploy begin with the snapshot. What is known of the machines before is set aside: host keys,
// their deploy.yaml, what was in progress on them.
func (r *Restoring) placeSeed(ctx context.Context, files Files) error {
	var under phases.Seed
	if err := input.ReadUnderWay(files.Dir(), input.SeedName, &under); err != nil {
		return err
	}
	if under.SHA256 == r.snapshot.SHA256 { // an interrupted one continues
		return nil
	}
	aside := filepath.Join(files.Dir(), "replaced-"+r.deps.clock().Now().UTC().Format("20060102T150405.000000000Z"))
	r.aside = aside
	for _, name := range ofMachines() {
		if err := move(filepath.Join(files.Dir(), name), filepath.Join(aside, name)); err != nil {
			return err
		}
	}
	if err := r.placePKI(files); err != nil {
		return err
	}
	path, err := r.placeSnapshot(files)
	if err != nil {
		return err
	}
	snap := *r.snapshot
	snap.Path = path
	if err := phases.NewSeed(&snap).Write(files.Dir()); err != nil {
		return err
	}
	return persist(ctx, files, input.KeptPKI, input.KeptSnapshots, input.KeptConfig, input.KeptSeed)
}

func persist(ctx context.Context, files Files, parts ...phases.Kept) error {
	for _, what := range parts {
		if err := files.Persist(ctx, what); err != nil {
			return err
		}
	}
	return nil
}

// move moves what is there, and replaces a file.
func move(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}
