package request

import (
	"slices"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Backup takes a backup of the cluster: of its files on the control host and of etcd.
type Backup struct {
	Common
	Dir  string    `json:"dir,omitempty"`  // absolute; "": backups/ in the cluster's directory
	Keep int       `json:"keep,omitempty"` // the newest of the cluster and of By that stay there; 0: all
	Key  BackupKey `json:"key,omitzero"`
	// Recipients are public keys of age. With them there is no passphrase.
	Recipients []string `json:"recipients,omitempty"`
	// By is who asked a server for it, a user or Schedule; "": it is taken on the command line. Only backups that the
	// same one took are removed for it.
	By string `json:"by,omitempty"`
}

// Schedule is who asks for what a server does by itself. No user has this name.
const Schedule = "schedule"

// BackupKey says where the key of a backup is. It holds no secret.
type BackupKey struct {
	Passphrase string `json:"passphrase_from,omitempty"` // prompt, env:NAME, file:PATH
	Identity   string `json:"identity,omitempty"`        // a file of private keys of age, absolute; not to encrypt
}

// Verb implements Request.
func (Backup) Verb() Verb { return VerbBackup }

// LeavesStateAlone reports whether the verb leaves the cluster unchanged.
func (v Verb) LeavesStateAlone() bool { return slices.Contains(QuietVerbs(), string(v)) }

// QuietVerbs are those verbs.
func QuietVerbs() []string { return []string{string(VerbBackup), string(VerbSnapshot)} }

// Call implements Request.
func (b Backup) Call() event.Call {
	c := b.call("backup run")
	c.Dir, c.Passphrase, c.Recipients = b.Dir, b.Key.Passphrase, b.Recipients
	if b.Keep > 0 {
		c.Keep = strconv.Itoa(b.Keep)
	}
	return c
}

// Validate implements Request.
func (b Backup) Validate() error {
	switch {
	case b.Keep < 0:
		return event.NewFault(event.ClassUsage, "backup.keep", nil, "value", strconv.Itoa(b.Keep))
	case len(b.Recipients) == 0 && b.Key.Passphrase == "", len(b.Recipients) > 0 && b.Key.Passphrase != "":
		return event.NewFault(event.ClassUsage, "backup.no-key", nil)
	}
	return nil
}

// BackupList asks for the backups of a directory.
type BackupList struct {
	Cluster string // "": in a directory all; else the one that the store has
	Dir     string // "": backups/ in the cluster's directory
}

// BackupVerify has a backup proven.
type BackupVerify struct {
	File   string // absolute
	Key    BackupKey
	Bundle string // whose etcd and etcdutl are used, absolute; "": that of this host's own deploy.yaml, or the PATH's
	// SignedOnly: programs of the bundle that deploy.yaml names are executed only if a known signer signed it, for
	// callers that do not decide what this host executes.
	SignedOnly bool
}

// BackupRestore asks for what a backup has. Common is that of the run that follows; its file, if it names one, is the
// deploy.yaml of new machines.
type BackupRestore struct {
	Common
	File string
	Key  BackupKey
	// FilesOnly: only the files of the control host come back, and no node is touched.
	FilesOnly bool
}

// BackupInfo is a backup of a directory, by its name.
type BackupInfo struct {
	Type       string    `json:"type"` // backup
	Path       string    `json:"path"`
	Cluster    string    `json:"cluster"`
	At         time.Time `json:"at"`
	Kubernetes string    `json:"kubernetes,omitempty"`
	Size       int64     `json:"size_bytes"`
	Scheduled  bool      `json:"scheduled,omitempty"` // the schedule of a server took it
}

// BackupProof is what is proven about a backup.
type BackupProof struct {
	BackupInfo        // its type is verified
	Program    string `json:"program"`  // version of Eggo that took it
	Revision   int64  `json:"revision"` // of etcd
	Files      int    `json:"files"`    // all with the right checksum
	Keys       int64  `json:"keys"`     // in the snapshot: objects with etcd, revisions of them without
	// Etcd: a scratch etcd on this host served the snapshot. Else the snapshot's own checksum and its database were
	// verified, and NoEtcd says why there was no more.
	Etcd   bool         `json:"etcd"`
	NoEtcd *event.Fault `json:"no_etcd,omitempty"`
}
