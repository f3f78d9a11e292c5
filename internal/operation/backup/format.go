// Package backup is the file of a backup: what a cluster is made of on its control host and in etcd, as a tar that is
// compressed with zstd and encrypted with age, so that it can be opened without this program:
//
//	age -d FILE | zstd -d | tar -x
//
// The first member is the manifest, which has size and sha256 of all others. It may import event.
package backup

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Format is the version of the format that this program writes. It reads that and older ones.
const Format = 1

// Names of the members.
const (
	ManifestName = "manifest.json"
	Snapshot     = "etcd.db"     // of etcd
	Config       = "deploy.yaml" // the cluster's own, with absolute paths
	AdminConf    = "admin.conf"
	KnownHosts   = "known_hosts"
	PKI          = "pki" // a directory: CAs, certificates, keys, the configuration for encrypted Secrets
)

// Manifest is the first member.
type Manifest struct {
	Format     int       `json:"format"`
	Cluster    string    `json:"cluster"`
	At         time.Time `json:"at"`
	Program    string    `json:"program"`              // version of Eggo
	Kubernetes string    `json:"kubernetes,omitempty"` // version; "" if the control host did not know it
	Revision   int64     `json:"revision"`             // of etcd
	Files      []File    `json:"files"`
	// Owner is the owner of the cluster and the number of its last run; nil if it had none yet.
	Owner json.RawMessage `json:"owner,omitempty"`
}

// File is a member.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// size is that of all members.
func (m *Manifest) size() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// belongs says whether a backup may have a member of this name.
func belongs(path string) bool {
	switch path {
	case Snapshot, Config, AdminConf, KnownHosts:
		return true
	}
	return ours.MatchString(path)
}

// ours are the files below pki/ that Eggo makes. A forged backup puts no other file on the control host.
var ours = regexp.MustCompile(`^pki/(?:(?:ca|front-proxy-ca|etcd/ca|admin|controller-manager|scheduler|kube-proxy|` +
	`coredns|apiserver-kubelet-client|apiserver-etcd-client|front-proxy-client|etcd/healthcheck-client|` +
	`nodes/[A-Za-z0-9][A-Za-z0-9._-]*/(?:apiserver|etcd-server|etcd-peer|kubelet))\.(?:crt|key)|` +
	`sa\.key|encryption-config\.yaml|bootstrap-token)$`)

// needed are the members without which a backup brings no cluster back.
func needed() []string {
	return []string{Snapshot, Config, PKI + "/ca.crt", PKI + "/ca.key", PKI + "/front-proxy-ca.crt",
		PKI + "/front-proxy-ca.key", PKI + "/etcd/ca.crt", PKI + "/etcd/ca.key", PKI + "/sa.key",
		PKI + "/encryption-config.yaml"}
}

// lacking is a member that is needed and not there; "": none.
func lacking(files []File) string {
	for _, name := range needed() {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Path == name }) {
			return name
		}
	}
	return ""
}

// Info is a backup by its name: nothing of it was decrypted.
type Info struct {
	Path       string    `json:"path"`
	Cluster    string    `json:"cluster"`
	At         time.Time `json:"at"`
	Kubernetes string    `json:"kubernetes,omitempty"`
	CA         string    `json:"ca,omitempty"` // the first digits of the fingerprint of the cluster's CA
	Set        Set       `json:"set,omitempty"`
	Size       int64     `json:"size_bytes"`
}

const (
	suffix    = ".tar.zst.age"
	timeInIt  = "20060102T150405Z"
	noVersion = "unknown"
)

// Set is which backups of a cluster count together when old ones are removed: who takes a backup removes only those of
// its own set. Else who may take backups could have all others removed for ones that nobody but himself can open.
type Set string

// The sets that are no user's.
const (
	CommandLine Set = "" // also what earlier versions took, whoever asked for it
	Schedule    Set = "schedule"
)

// SetOf is the set of what a user of a server takes: his own backups for the same recipients, or with passphrases. The
// name is not readable in it, and so has no letters that the name of a file cannot have.
func SetOf(user string, recipients []string) Set {
	text := strings.Join(append([]string{user}, slices.Sorted(slices.Values(recipients))...), "\n")
	return Set(fmt.Sprintf("user-%x", sha256.Sum256([]byte(text)))[:len("user-")+setDigits])
}

// setDigits are so many that nobody finds a name that has the set of another.
const setDigits = 16

// named is what Name gives.
var named = regexp.MustCompile(`^(.+)_(\d{8}T\d{6}Z)_(v\d[0-9A-Za-z.+-]*|unknown)` +
	`(?:_([0-9a-f]{8})(?:_(schedule|user-[0-9a-f]{16}))?)?\.tar\.zst\.age$`)

// Name of the file of a backup. It says what is told about a backup without the key: cluster, time, version, by the
// fingerprint of the CA which of several clusters of that name it is of, and its set.
func Name(cluster string, at time.Time, kubernetes, fingerprint string, set Set) string {
	name := cluster + "_" + at.UTC().Format(timeInIt) + "_" + cmp.Or(kubernetes, noVersion) + "_" + short(fingerprint)
	if set != CommandLine {
		name += "_" + string(set)
	}
	return name + suffix
}

// short is how much of a fingerprint a name has.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 8)] }

// List gives the backups of a directory that have the name of one, the newest first; of one cluster, if that is named.
// No directory is no backup.
func List(dir, cluster string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "backup.directory", err, "path", dir)
	}
	var out []Info
	for _, e := range entries {
		m := named.FindStringSubmatch(e.Name())
		if m == nil || cluster != "" && m[1] != cluster {
			continue
		}
		at, err := time.Parse(timeInIt, m[2])
		info, err2 := e.Info()
		if err != nil || err2 != nil || !info.Mode().IsRegular() {
			continue
		}
		b := Info{Path: filepath.Join(dir, e.Name()), Cluster: m[1], At: at, CA: m[4], Set: Set(m[5]),
			Size: info.Size()}
		if m[3] != noVersion {
			b.Kubernetes = m[3]
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b Info) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Path, b.Path))
	})
	return out, nil
}

// Pruned is what became of older backups.
type Pruned struct {
	Gone   []Info
	Future []Info // dated after now: they neither count nor go
	Failed error  // why others are still there
}

// Prune removes the oldest backups in the directory of the one that was just written, which stays, as the first of the
// newest that are kept. By their names they are of the same cluster and of the same set: those of another cluster of
// that name, by its CA, and of other sets neither count nor go, nor do those whose name does not say whose they are.
func Prune(just string, keep int, now time.Time) (out Pruned) {
	own := named.FindStringSubmatch(filepath.Base(just))
	if keep <= 0 || own == nil || own[4] == "" {
		return out
	}
	all, err := List(filepath.Dir(just), own[1])
	if err != nil {
		return Pruned{Failed: err}
	}
	var failed []error
	kept := 1
	for _, b := range all {
		switch {
		case b.CA != own[4] || b.Set != Set(own[5]) || b.Path == just:
		case b.At.After(now):
			out.Future = append(out.Future, b)
		case kept < keep:
			kept++
		default:
			if err := os.Remove(b.Path); err == nil {
				out.Gone = append(out.Gone, b)
			} else if !os.IsNotExist(err) {
				failed = append(failed, err)
			}
		}
	}
	out.Failed = errors.Join(failed...)
	return out
}
