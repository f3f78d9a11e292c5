package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Backup of a cluster.
type Backup struct {
	Name       string    `json:"name"`
	At         time.Time `json:"at"`
	Kubernetes string    `json:"kubernetes,omitempty"`
	Size       int64     `json:"size_bytes"`
	Scheduled  bool      `json:"scheduled,omitempty" doc:"The schedule of the server took it."`
}

type backupsOutput struct{ Body problem.List[Backup] }

type backupInput struct {
	InCluster
	Matching
	Body struct {
		RunOptions
		Passphrase string   `json:"passphrase,omitempty" maxLength:"1024" doc:"What the backup is encrypted with. It is kept in memory until the run has it."`
		Recipients []string `json:"recipients,omitempty" maxItems:"32" doc:"Public keys of age in place of a passphrase."`
		Keep       int      `json:"keep,omitempty" minimum:"0" maximum:"10000" doc:"How many of the newest backups stay that the same user took for the same recipients, or with passphrases; 0: all."`
	}
}

// BackupKey decrypts a backup.
type BackupKey struct {
	Passphrase string `json:"passphrase,omitempty" maxLength:"1024"`
	Identity   string `json:"identity,omitempty" maxLength:"65536" doc:"The private key of age of a recipient."`
}

// BackupPath is the path of a route of one backup.
type BackupPath struct {
	InCluster
	Backup string `path:"backup" maxLength:"255" doc:"The name of a backup of this cluster."`
}

// VerifyInput is the request that verifies a backup.
type VerifyInput struct {
	BackupPath
	Body struct {
		BackupKey
		Bundle string `json:"bundle,omitempty" maxLength:"4096" doc:"Path on this host of the bundle whose etcd is executed, for administrators of all clusters; none: that of the cluster's deploy.yaml, if a known signer signed it."`
	}
}

// VerifyOutput is the result of a verification.
type VerifyOutput struct {
	Body struct {
		Backup
		Program  string `json:"program" doc:"The version of Eggo that took it."`
		Revision int64  `json:"revision" doc:"Of etcd."`
		Files    int    `json:"files" doc:"All with the right checksum."`
		Keys     int64  `json:"keys"`
		Etcd     bool   `json:"etcd" doc:"A scratch etcd served the snapshot."`
		Why      *Fault `json:"why,omitempty" doc:"Why only its database was verified."`
	}
}

// RestoreBackupInput is the request that restores a backup.
type RestoreBackupInput struct {
	BackupPath
	Matching
	Body struct {
		RunOptions
		BackupKey
		NewMachines
	}
}

// NewMachines are those that a cluster is restored onto.
type NewMachines struct {
	Nodes      []clusterspec.Node    `json:"nodes,omitempty" maxItems:"1000" doc:"New machines that the cluster is deployed to, beginning with the data of the backup; none: etcd is restored on the machines of the cluster."`
	Balancer   *clusterspec.Balancer `json:"load_balancer,omitempty" doc:"Another load balancer; none: that of the cluster stays, if it has one."`
	Unbalanced bool                  `json:"no_load_balancer,omitempty" doc:"The cluster has no load balancer any more."`
	KnownHosts string                `json:"known_hosts,omitempty" maxLength:"262144" doc:"The host keys of the new machines, as in known_hosts."`
	Bundles    map[string]string     `json:"bundles,omitempty" doc:"Other bundles, by architecture: of the version of the backup, or one minor version newer."`
}

// backups are the routes of backups.
func (s *Server) backups(api huma.API) {
	const all = "/clusters/{cluster}/backups"
	op := func(id, method, path, summary string, status int) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status,
			Tags: []string{"backups"}}
	}
	s.ListBackups = add(s, api, op("list-backups", "GET", all, "List the backups", 200), access.View, s.listBackups)
	add(s, api, op("take-backup", "POST", all, "Take an encrypted backup of the cluster", 202), access.Operate,
		s.takeBackup)
	s.VerifyBackup = add(s, api, op("verify-backup", "POST", all+"/{backup}/verify",
		"Verify a backup by a restore into a scratch etcd", 200), access.Operate, s.verifyBackup,
		func(i *VerifyInput) (string, string) { return "", i.Backup })
	s.RestoreBackup = add(s, api, op("restore-backup", "POST", all+"/{backup}/restore",
		"Restore etcd from a backup", 202), access.Administer, s.restoreBackup,
		func(i *RestoreBackupInput) (string, string) { return "", i.Backup })
}

func (s *Server) listBackups(ctx context.Context, _ access.Grant, in *InCluster) (*backupsOutput, error) {
	list, err := s.backupsOf(ctx, in.Cluster)
	out := &backupsOutput{}
	out.Body.Items = []Backup{}
	for _, b := range list {
		out.Body.Items = append(out.Body.Items, backupOf(b))
	}
	return out, err
}

func backupOf(b request.BackupInfo) Backup {
	return Backup{filepath.Base(b.Path), b.At, b.Kubernetes, b.Size, b.Scheduled}
}

// backupsOf are those of a cluster that exists.
func (s *Server) backupsOf(ctx context.Context, cluster string) ([]request.BackupInfo, error) {
	v, err := s.Manager.Cluster(cluster)
	if err != nil { // its name is part of a path
		return nil, err
	}
	return s.Runs.Backups(ctx, v.Record)
}

// backupNamed is the path of a backup of a cluster.
func (s *Server) backupNamed(ctx context.Context, in BackupPath) (string, error) {
	list, err := s.backupsOf(ctx, in.Cluster)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(b request.BackupInfo) bool { return filepath.Base(b.Path) == in.Backup })
	if i < 0 {
		return "", event.NewFault(event.ClassUsage, "api.no-backup", nil, "cluster", in.Cluster, "name", in.Backup)
	}
	return list[i].Path, nil
}

func (s *Server) takeBackup(ctx context.Context, who access.Grant, in *backupInput) (*shown, error) {
	o := in.Body.RunOptions
	if (in.Body.Passphrase == "") == (len(in.Body.Recipients) == 0) {
		return nil, event.NewFault(event.ClassUsage, "backup.no-key", nil)
	}
	if word := in.Body.Passphrase; word != "" {
		o.Secrets = maps.Clone(o.Secrets)
		if o.Secrets == nil {
			o.Secrets = map[string]string{}
		}
		for _, id := range operation.BackupSecrets() {
			o.Secrets[id] = word
		}
	}
	if err := operation.CheckRecipients(in.Body.Recipients); err != nil { // before they are written down
		return nil, err
	}
	return s.begin(ctx, in.Cluster, manager.Backup, in.Matching, o, nil, func(p *runs.Parameters) error {
		p.Keep, p.Recipients = in.Body.Keep, in.Body.Recipients
		return nil
	}, who, manager.Request{})
}

// opening has do called with where the key is, which is there for as long as that takes. It waits while others open
// backups.
func (s *Server) opening(ctx context.Context, k BackupKey, do func(request.BackupKey, operation.Deps) error) error {
	select {
	case s.opens <- struct{}{}:
		defer func() { <-s.opens }()
	case <-ctx.Done():
		return ctx.Err()
	}
	d := s.Deps()
	if k.Identity == "" {
		d.Asker = ask.WithAnswers(ask.Nobody{}, map[string]string{"backup": k.Passphrase})
		return do(request.BackupKey{Passphrase: "prompt"}, d)
	}
	dir, remove, err := scratchDir(keyPrefix)
	if err != nil {
		return err
	}
	defer remove()
	file := filepath.Join(dir, "identity")
	if err := os.WriteFile(file, []byte(k.Identity), 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return do(request.BackupKey{Identity: file}, d)
}

// executes refuses the path of a bundle whose programs this host is to execute, unless an administrator of all
// clusters names it, and one that is not absolute.
func (s *Server) executes(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	if err := s.privileged(ctx, ""); err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return event.NewFault(event.ClassUsage, "usage.bundle", nil, "value", path)
	}
	return nil
}

func (s *Server) verifyBackup(ctx context.Context, _ access.Grant, in *VerifyInput) (*VerifyOutput, error) {
	file, err := s.backupNamed(ctx, in.BackupPath)
	if err != nil {
		return nil, err
	}
	if err := s.executes(ctx, in.Body.Bundle); err != nil {
		return nil, err
	}
	out := &VerifyOutput{}
	return out, s.opening(ctx, in.Body.BackupKey, func(k request.BackupKey, d operation.Deps) error {
		q := request.BackupVerify{File: file, Key: k, Bundle: in.Body.Bundle, SignedOnly: true}
		p, err := operation.VerifyBackup(ctx, q, d, func(int64, int64) {})
		if err != nil {
			return err
		}
		b := &out.Body
		b.Backup, b.Program, b.Revision, b.Files = backupOf(p.BackupInfo), event.Clean(p.Program), p.Revision, p.Files
		b.Keys, b.Etcd, b.Why = p.Keys, p.Etcd, faultOf(ctx, p.NoEtcd)
		return nil
	})
}

// restoreBackup begins the restore of a snapshot, which is decrypted into the cluster's directory.
func (s *Server) restoreBackup(ctx context.Context, who access.Grant, in *RestoreBackupInput) (*shown, error) {
	file, err := s.backupNamed(ctx, in.BackupPath)
	if err != nil {
		return nil, err
	}
	if in.Body.Nodes != nil {
		return s.restoreOnto(ctx, who, in, file)
	}
	var placing placing
	defer placing.end()
	return s.begin(ctx, in.Cluster, manager.Restore, in.Matching, in.Body.RunOptions, nil,
		func(p *runs.Parameters) error {
			err := s.placed(ctx, in, request.BackupRestore{File: file}, &placing)
			if err == nil {
				p.Snapshot = filepath.Join(s.Runs.Snapshots(in.Cluster), placing.SnapshotName())
			}
			return err
		}, who, placing.in(ctx, manager.Request{}))
}

// placing is what a backup has, on its way to the cluster's directory. It gets there under the guard of the manager:
// nothing else of the server begins before the restore has begun, or what was placed is gone again.
type placing struct{ *operation.Restoring }

// in adds to a request that what was opened until it is sent is placed.
func (p *placing) in(ctx context.Context, q manager.Request) manager.Request {
	q.Prepare = func() error {
		_, err := p.Place(ctx)
		return err
	}
	q.Undo = func() error { return p.Undo(context.WithoutCancel(ctx)) }
	return q
}

func (p *placing) end() {
	if p.Restoring != nil {
		p.Close()
	}
}

// placed opens a backup that is to be placed.
func (s *Server) placed(ctx context.Context, in *RestoreBackupInput, q request.BackupRestore, to *placing) error {
	return s.opening(ctx, in.Body.BackupKey, func(k request.BackupKey, d operation.Deps) (err error) {
		q.Key = k
		to.Restoring, err = operation.OpenRestore(ctx, q, d, func(int64, int64) {})
		return err
	})
}

// restoreOnto deploys a cluster to new machines, with the data of a backup: by its own deploy.yaml, with the nodes of
// the request. The command line is given a file for that.
func (s *Server) restoreOnto(
	ctx context.Context, who access.Grant, in *RestoreBackupInput, file string,
) (*shown, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	w := wanted(v.Record)
	var placing placing
	defer placing.end()
	return s.begin(ctx, in.Cluster, manager.Restore, in.Matching, in.Body.RunOptions, &w,
		func(p *runs.Parameters) error {
			if err := s.moved(ctx, in, &w); err != nil {
				return err
			}
			p.Seeded = true
			return s.placed(ctx, in, request.BackupRestore{Common: request.OfFile(s.Runs.File(in.Cluster)),
				File: file}, &placing)
		}, who, placing.in(ctx, manager.Request{Check: func(r manager.Record) error {
			if r.Revision != v.Revision { // what is wanted was made of the cluster that was read
				return revised(in.Cluster)
			}
			return nil
		}}))
}

// moved has a cluster wanted on new machines, and writes the deploy.yaml that says so. A restore that was interrupted
// has set the cluster's own one aside by now: what it wanted is in the record or, if the server was killed before that
// was written, in the file that this has written.
func (s *Server) moved(ctx context.Context, in *RestoreBackupInput, w *runs.Wanted) error {
	m := in.Body.NewMachines
	if err := s.namesBundles(ctx, slices.Collect(maps.Values(m.Bundles))); err != nil {
		return err
	}
	wrong := append(s.Rules.Update(nil, m.Nodes, w.Server), s.Rules.Balancer(m.Balancer, m.Nodes, w.Server)...)
	wrong = append(wrong, clusterspec.KnownHosts("body.known_hosts", m.KnownHosts)...)
	if m.Unbalanced && m.Balancer != nil {
		wrong = append(wrong, clusterspec.Finding{Location: "body.no_load_balancer",
			Fault: event.NewFault(event.ClassUsage, "profile.balancer-both", nil)})
	}
	if err := findings(wrong); err != nil {
		return err
	}
	text, _, err := s.Runs.Own(ctx, in.Cluster)
	if err == nil {
		_, w.LoadBalancer, err = s.Runs.Machines(ctx, in.Cluster)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.Deploy != "":
		text = []byte(w.Deploy)
	case errors.Is(err, fs.ErrNotExist):
		if text, err = os.ReadFile(s.Runs.File(in.Cluster)); err != nil {
			return event.NewFault(event.ClassLocked, "manager.no-config", nil, "cluster", in.Cluster)
		}
	case err != nil:
		return err
	}
	to := clusterspec.Machines{Nodes: m.Nodes, Balancer: m.Balancer, Unbalanced: m.Unbalanced, Bundles: m.Bundles,
		New: true}
	known := fmt.Sprintf("known_hosts-%x", sha256.Sum256([]byte(m.KnownHosts)))[:24] // not over those of now
	if m.KnownHosts != "" {
		to.KnownHosts = filepath.Join(s.Runs.Dir(in.Cluster), known)
	}
	text, wrong, err = s.Rules.Replaced(text, to, s.Runs.File(in.Cluster))
	if err == nil {
		err = findings(wrong)
	}
	if err == nil && m.KnownHosts != "" {
		err = s.Runs.Keep(in.Cluster, known, m.KnownHosts)
	}
	if err != nil {
		return err
	}
	w.Deploy, w.Nodes, w.LoadBalancer = string(text), m.Nodes, cmp.Or(m.Balancer, w.LoadBalancer)
	if m.Unbalanced {
		w.LoadBalancer = nil
	}
	return s.Runs.Keep(in.Cluster, filepath.Base(s.Runs.File(in.Cluster)), w.Deploy)
}
