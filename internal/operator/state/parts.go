package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

// part of a cluster's directory, which one Secret holds.
type part struct {
	name  v1.StatePart // ends the name of the Secret
	files []string     // in the directory; each has a key of its own
	tree  string       // a directory in it, kept as one archive; "": none
	kept  []input.Kept
}

// parts lists the Secrets of a cluster. What else is in its directory is not needed by a later run: the lock, the
// logs of runs, the list of unpacked bundles. Snapshots and backups fit no Secret, see Options.Snapshots.
func parts() []part {
	return []part{
		{name: v1.StatePKI, tree: "pki", kept: []input.Kept{input.KeptPKI}},
		{name: v1.StateConfig, files: []string{store.ConfigName}, kept: []input.Kept{input.KeptConfig}},
		{name: v1.StateAccess, files: []string{"admin.conf", "known_hosts"},
			kept: []input.Kept{input.KeptAdminConf, input.KeptKnownHosts}},
		{name: v1.StateProgress,
			files: []string{input.OwnerName, input.UpgradeName, input.FormerName, input.FormerDNSName, input.SeedName,
				input.RestoreName},
			kept: []input.Kept{input.KeptOwner, input.KeptUpgrade, input.KeptFormer, input.KeptDNS, input.KeptSeed,
				input.KeptRestore}},
	}
}

// partOf returns the part that holds what is to be persisted.
func partOf(what input.Kept) (part, bool) {
	all := parts()
	i := slices.IndexFunc(all, func(p part) bool { return slices.Contains(p.kept, what) })
	if i < 0 {
		return part{}, false
	}
	return all[i], true
}

// archive is the key of a tree.
func (p part) archive() string { return p.tree + ".tgz" }

// keys are those that the part owns in its Secret. Others are left as they are.
func (p part) keys() []string {
	if p.tree != "" {
		return []string{p.archive()}
	}
	return p.files
}

// read returns the files of the part that a directory has, by their path in it (or in the tree).
func (p part) read(dir string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if p.tree != "" {
		return out, readTree(filepath.Join(dir, p.tree), out)
	}
	for _, name := range p.files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = data
	}
	return out, nil
}

// readTree reads the regular files below a directory; it refuses all else.
func readTree(root string, into map[string][]byte) error {
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == root:
			return fs.SkipAll
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", at)
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		into[filepath.ToSlash(rel)], err = os.ReadFile(at)
		return err
	})
}

// write makes a directory have these files of the part and no others of it. Files have mode 0600, directories 0700.
func (p part) write(dir string, files map[string][]byte) error {
	if p.tree != "" {
		return writeTree(dir, p.tree, files)
	}
	for _, name := range p.files {
		at := filepath.Join(dir, name)
		if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if data, has := files[name]; has {
			if err := os.WriteFile(at, data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTree replaces a tree in a directory: it is written beside it first.
func writeTree(dir, tree string, files map[string][]byte) error {
	beside, err := os.MkdirTemp(dir, ".fill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside) // nothing is left of it when it was renamed
	for name, data := range files {
		at := filepath.Join(beside, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o600); err != nil {
			return err
		}
	}
	to := filepath.Join(dir, tree)
	if err := os.RemoveAll(to); err != nil || len(files) == 0 {
		return err
	}
	return os.Rename(beside, to)
}

// pack returns the keys of the part with their values.
func (p part) pack(files map[string][]byte) (map[string][]byte, error) {
	if p.tree == "" {
		return maps.Clone(files), nil
	}
	if len(files) == 0 {
		return nil, nil
	}
	data, err := pack(files)
	return map[string][]byte{p.archive(): data}, err
}

// unpack returns the files that a Secret holds.
func (p part) unpack(data map[string][]byte) (map[string][]byte, error) {
	if p.tree != "" {
		if len(data[p.archive()]) == 0 {
			return map[string][]byte{}, nil
		}
		return unpack(data[p.archive()])
	}
	out := map[string][]byte{}
	for _, name := range p.files {
		if d, has := data[name]; has {
			out[name] = d
		}
	}
	return out, nil
}

// digestOf is the digest of files by name and content, whatever archive they are in.
func digestOf(files map[string][]byte) [sha256.Size]byte {
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		all.WriteString(name)
		all.WriteByte(0)
		all.Write(sum[:])
	}
	return sha256.Sum256(all.Bytes())
}

// plain reports whether the name of an archive's member is a path within the archive, written in the one way.
func plain(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00") &&
		filepath.IsLocal(filepath.FromSlash(name))
}
