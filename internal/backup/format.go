// Package backup is the file of a backup: what a cluster is made of on its control host and in etcd, as a tar that is
// compressed with zstd and encrypted with age, so that it can be opened without this program:
//
//	age -d FILE | zstd -d | tar -x
//
// The first member is the manifest, which has size and sha256 of all others. It may import event.
package backup

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
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
	return strings.HasPrefix(path, PKI+"/") && filepath.IsLocal(path) && filepath.Clean(path) == path
}

// Info is a backup by its name: nothing of it was decrypted.
type Info struct {
	Path       string    `json:"path"`
	Cluster    string    `json:"cluster"`
	At         time.Time `json:"at"`
	Kubernetes string    `json:"kubernetes,omitempty"`
	Size       int64     `json:"size_bytes"`
}

const (
	suffix    = ".tar.zst.age"
	timeInIt  = "20060102T150405Z"
	noVersion = "unknown"
)

// named is what Name gives.
var named = regexp.MustCompile(`^(.+)_(\d{8}T\d{6}Z)_(v\d[0-9A-Za-z.+-]*|unknown)\.tar\.zst\.age$`)

// Name of the file of a backup. It says what is told about a backup without the key: cluster, time, version.
func Name(cluster string, at time.Time, kubernetes string) string {
	return cluster + "_" + at.UTC().Format(timeInIt) + "_" + cmp.Or(kubernetes, noVersion) + suffix
}

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
		b := Info{Path: filepath.Join(dir, e.Name()), Cluster: m[1], At: at, Size: info.Size()}
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

// Prune removes the oldest backups of a cluster in a directory and keeps the newest ones. It gives those that are gone.
func Prune(dir, cluster string, keep int) ([]Info, error) {
	all, err := List(dir, cluster)
	if err != nil || len(all) <= keep || keep <= 0 {
		return nil, err
	}
	for i, b := range all[keep:] {
		if err := os.Remove(b.Path); err != nil {
			return all[keep : keep+i], event.NewFault(event.ClassFailed, "backup.directory", err, "path", dir)
		}
	}
	return all[keep:], nil
}
