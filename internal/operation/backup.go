package operation

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	// backupsDir in a cluster's directory has its backups, unless another directory is named.
	backupsDir = "backups"
	// backupScratch in a cluster's directory has the snapshot that is being packed.
	backupScratch = "backup.part"
)

// checkBackup refuses to back up what is no cluster: one without CAs, or without a deploy.yaml of its own.
func (p *prepared) checkBackup(ctx context.Context) error {
	files, err := p.deps.Store.Read(ctx, p.cluster.Name)
	if err != nil {
		return err
	}
	defer files.Close()
	_, _, err = files.Config()
	_, err2 := os.Stat(filepath.Join(files.Dir(), backup.PKI, "ca.key"))
	if err := errors.Join(err, err2); err != nil {
		return event.NewFault(event.ClassUsage, "backup.no-cluster", err, "cluster", p.cluster.Name, "dir", files.Dir())
	}
	return nil
}

// The IDs of the questions for the passphrase of a backup.
const (
	askBackup      = "backup"
	askBackupAgain = "backup again"
)

// BackupSecrets are the IDs of the secrets that encrypt a backup.
func BackupSecrets() []string { return []string{askBackup, askBackupAgain} }

// NewBackupKey makes a key pair that backups can be encrypted with.
func NewBackupKey() (backup.KeyPair, error) { return backup.NewKeyPair() }

// lockOf is what a backup is encrypted with. A passphrase that is typed is typed twice: who mistypes it would find
// out when the backup is needed.
func lockOf(ctx context.Context, q request.Backup, a ask.Asker) (backup.Lock, error) {
	if len(q.Recipients) > 0 {
		return backup.RecipientsLock(q.Recipients)
	}
	word, err := passphrase(ctx, q.Key.Passphrase, askBackup, "ask.backup-new", a)
	if err != nil {
		return backup.Lock{}, err
	}
	again, err := passphrase(ctx, q.Key.Passphrase, askBackupAgain, "ask.backup-again", a)
	if err != nil {
		return backup.Lock{}, err
	}
	if word != again {
		return backup.Lock{}, event.NewFault(event.ClassUsage, "backup.differ", nil)
	}
	return backup.PassphraseLock(word)
}

// CheckRecipients refuses what are no public keys of age, without repeating them.
func CheckRecipients(keys []string) error {
	_, err := backup.RecipientsLock(keys)
	return err
}

// keyOf is what decrypts one.
func keyOf(ctx context.Context, k request.BackupKey, a ask.Asker) (backup.Key, error) {
	switch {
	case k.Identity != "" && k.Passphrase != "", k.Identity == "" && k.Passphrase == "":
		return backup.Key{}, event.NewFault(event.ClassUsage, "backup.no-key", nil)
	case k.Identity != "":
		return backup.IdentityKey(k.Identity)
	}
	word, err := passphrase(ctx, k.Passphrase, askBackup, "ask.backup", a)
	if err != nil {
		return backup.Key{}, err
	}
	return backup.PassphraseKey(word)
}

func passphrase(ctx context.Context, from, id, what string, a ask.Asker) (word string, err error) {
	s := secret{ask.Secret{ID: id, From: from, What: event.M(what)}, &word}
	if err = s.resolve(ctx, a); errors.Is(err, errEmpty) {
		err = event.NewFault(event.ClassUsage, "backup.no-passphrase", nil)
	}
	return word, err
}

// backup takes a backup.
func (p *prepared) backup(q request.Backup) (*work, error) {
	sweep(p.deps.Store.Where())
	scratch := filepath.Join(p.files.Dir(), backupScratch)
	if err := os.RemoveAll(scratch); err != nil { // of one that was killed
		return nil, event.NewFault(event.ClassFailed, "state.write", err)
	}
	snapshot := filepath.Join(scratch, backup.Snapshot)
	return &work{
		plan: func(e phases.Env) *engine.Plan {
			return phases.Backup(e, snapshot, func(ctx context.Context) error { return p.pack(ctx, q, snapshot) })
		},
		tidy: func() { _ = os.RemoveAll(scratch) }, // else the next one does it
	}, nil
}

// pack writes the backup, and removes old ones when it is there.
func (p *prepared) pack(ctx context.Context, q request.Backup, snapshot string) error {
	snap, err := phases.ReadSnapshot(ctx, snapshot)
	if err != nil {
		return err
	}
	sources, err := backup.Sources(p.files.Dir(), snapshot)
	if err != nil {
		return err
	}
	now := p.deps.clock().Now()
	m := backup.Manifest{Cluster: p.cluster.Name, At: now.UTC().Truncate(time.Second), Program: p.deps.Version,
		Kubernetes: p.kubernetes(), Revision: snap.Revision}
	owner, err := input.ReadOwner(p.files.Dir())
	if err != nil {
		return err
	}
	if owner.ID != "" {
		if m.Owner, err = json.Marshal(owner); err != nil {
			return event.NewFault(event.ClassFailed, "backup.write", err, "path", q.Dir)
		}
	}
	dir := q.Dir
	if dir == "" {
		dir = filepath.Join(p.files.Dir(), backupsDir)
	}
	ca, err := fingerprint(p.files.Dir())
	if err != nil {
		return err
	}
	file := filepath.Join(dir, backup.Name(m.Cluster, now, m.Kubernetes, ca, setOf(q)))
	if err := backup.Write(ctx, file, m, sources, p.seal, p.progress(ctx, filepath.Base(file))); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return event.NewFault(event.ClassFailed, "backup.write", err, "path", file)
	}
	step := engine.StepID(ctx)
	if err := p.emit(event.Notice{Step: step, Text: event.M("notice.backup", "path", file, "size",
		strconv.FormatInt(info.Size(), 10), "revision", strconv.FormatInt(m.Revision, 10))}); err != nil {
		return err
	}
	for _, name := range []string{input.UpgradeName, input.FormerName, input.FormerDNSName} {
		if _, err := os.Lstat(filepath.Join(p.files.Dir(), name)); err == nil {
			if err := p.emit(event.Notice{Step: step,
				Text: event.M("notice.backup-under-way", "name", name)}); err != nil {
				return err
			}
		}
	}
	return p.pruneBackups(step, backup.Prune(file, q.Keep, now))
}

// setOf is the set of a backup that is taken.
func setOf(q request.Backup) backup.Set {
	switch q.By {
	case "":
		return backup.CommandLine
	case request.Schedule:
		return backup.Schedule
	}
	return backup.SetOf(q.By, q.Recipients)
}

// pruneBackups tells what became of older backups. One that cannot be removed is no fault of the new one.
func (p *prepared) pruneBackups(step string, done backup.Pruned) error {
	var all []event.Msg
	for _, b := range done.Gone {
		all = append(all, event.M("notice.backup-pruned", "path", b.Path))
	}
	for _, b := range done.Future {
		all = append(all, event.M("notice.backup-future", "path", b.Path))
	}
	if done.Failed != nil {
		all = append(all, event.M("notice.backup-kept", "cause", event.Clean(done.Failed.Error())))
	}
	for _, m := range all {
		if err := p.emit(event.Notice{Step: step, Text: m}); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint is that of the CA of a cluster with this directory.
func fingerprint(dir string) (string, error) {
	file := filepath.Join(dir, backup.PKI, "ca.crt")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", event.NewFault(event.ClassFailed, "pki.read", err, "file", file)
	}
	c, err := pki.Describe(text)
	if err != nil {
		return "", event.NewFault(event.ClassFailed, "pki.damaged", err, "file", file)
	}
	return c.Fingerprint, nil
}

// kubernetes is the version of the cluster's bundles; "" if none can be read.
func (p *prepared) kubernetes() string { return kubernetesOf(p.cluster, p.file, p.deps.Bundles) }

// kubernetesOf is the version of the bundles that a deploy.yaml names; "" when none of them can be read.
func kubernetesOf(c *config.Cluster, file string, bundles Bundles) string {
	for _, b := range c.Bundles() {
		path := b.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		if m, _, err := bundles.Head(path); err == nil {
			if _, ok := parseVersion(m.Kubernetes); ok {
				return m.Kubernetes
			}
		}
	}
	return ""
}

// progress tells how far a step is, a few times a second.
func (p *prepared) progress(ctx context.Context, what string) func(done, total int64) {
	last, clock, step := time.Time{}, p.deps.clock(), engine.StepID(ctx)
	return func(done, total int64) {
		if now := clock.Now(); now.Sub(last) >= 250*time.Millisecond || done == total {
			last = now
			_ = p.emit(event.Progress{Step: step, What: what, Done: done, Total: total})
		}
	}
}

// Backups are those of a cluster, or of a directory, the newest first.
func Backups(ctx context.Context, st Store, q request.BackupList) ([]request.BackupInfo, error) {
	dir, cluster := q.Dir, q.Cluster
	if dir == "" {
		var err error
		if cluster, err = OnlyCluster(ctx, st, cluster); err != nil {
			return nil, err
		}
		files, err := st.Read(ctx, cluster)
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(files.Dir(), backupsDir)
		if err := files.Close(); err != nil {
			return nil, err
		}
	}
	list, err := backup.List(dir, cluster)
	if err != nil {
		return nil, err
	}
	var out []request.BackupInfo
	for _, b := range list {
		out = append(out, request.BackupInfo{Type: "backup", Path: b.Path, Cluster: b.Cluster, At: b.At,
			Kubernetes: b.Kubernetes, Size: b.Size, Scheduled: b.Set == backup.Schedule})
	}
	return out, nil
}
