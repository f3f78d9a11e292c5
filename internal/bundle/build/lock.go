package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/event"
)

// LockName is the file beside the bundles.
const LockName = "bundle.lock"

// Lock pins what a build took, by digest. It is JSON.
type Lock struct {
	Version    int                 `json:"version"`
	Name       string              `json:"name"`
	Kubernetes string              `json:"kubernetes"`
	Spec       string              `json:"spec_sha256"`
	Arches     map[string]*LockSet `json:"architectures"`
}

// LockSet is what one architecture's bundle took.
type LockSet struct {
	Repositories []LockRepository `json:"repositories,omitempty"`
	Packages     []LockFile       `json:"packages,omitempty"`
	Files        []LockFile       `json:"files,omitempty"`
	Images       []LockImage      `json:"images,omitempty"`
}

// LockRepository is the state of a suite. Date is the InRelease file's, in its own words.
type LockRepository struct {
	URL    string `json:"url"`
	Suite  string `json:"suite"`
	SHA256 string `json:"in_release_sha256"`
}

// LockFile is one download; Picked are the members taken from it.
type LockFile struct {
	Name    string     `json:"name"`
	Version string     `json:"version,omitempty"`
	URL     string     `json:"url"`
	SHA256  string     `json:"sha256"`
	Size    int64      `json:"size"`
	Trust   string     `json:"trust"` // metadata: signed repository; checksum: upstream's file; spec: given there; first-use
	Picked  []LockFile `json:"picked,omitempty"`
}

// LockImage is one image's platform.
type LockImage struct {
	Name   string     `json:"name"`
	Index  string     `json:"index,omitempty"`
	Digest string     `json:"digest"`
	Config string     `json:"config"`
	Layers []LockBlob `json:"layers"`
}

// LockBlob is a layer.
type LockBlob struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

const lockVersion = 1

// ReadLock reads a lock; one that is not there is empty. The fault is "build.lock".
func ReadLock(path string) (*Lock, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: lockVersion, Arches: map[string]*LockSet{}}, nil
	}
	var l Lock
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && l.Version != lockVersion {
		err = fmt.Errorf("version %d", l.Version)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "build.lock", err, "file", path)
	}
	if l.Arches == nil {
		l.Arches = map[string]*LockSet{}
	}
	for _, s := range l.Arches {
		if s == nil {
			return nil, event.NewFault(event.ClassUsage, "build.lock", errors.New("an architecture is null"), "file", path)
		}
	}
	return &l, nil
}

func (l *Lock) write(path string) error {
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return writeFault(err, path)
	}
	return nil
}

// firstUse is the sum that an earlier build pinned for a file that nothing else vouches for.
func (l *Lock) firstUse(arch, url string) (string, bool) {
	s := l.Arches[arch]
	if s == nil {
		return "", false
	}
	for _, f := range s.Files {
		if f.URL == url && f.Trust == "first-use" {
			return f.SHA256, true
		}
	}
	return "", false
}

// image is what an earlier build took under that name.
func (l *Lock) image(arch, name string) (string, bool) {
	s := l.Arches[arch]
	if s == nil {
		return "", false
	}
	for _, f := range s.Images {
		if f.Name == name {
			return f.Digest, true
		}
	}
	return "", false
}
