// Package lock is bundle.lock: what a build took, by digest, so that the same spec gives the same bundle tomorrow. A
// build takes what the lock pins without asking any index again, and resolves only what it does not pin yet or what the
// spec now says otherwise.
package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Name of the file beside the bundles.
const Name = "bundle.lock"

// Version of the format. A lock of another version is refused: eggo-bundle update writes it again.
const Version = 2

// MaxSize of a lock in bytes: it holds the metadata of every package.
const MaxSize = 64 << 20

const maxThing = 64 << 30 // bytes of anything that is pinned: no bundle takes more

// Lock pins what a build took.
type Lock struct {
	Version    int             `json:"version"`
	Name       string          `json:"name"`
	Kubernetes string          `json:"kubernetes"`
	Arches     map[string]*Set `json:"architectures"`
}

// Set is what one architecture's bundle took.
type Set struct {
	Packages *Packages `json:"packages,omitempty"`
	Files    []File    `json:"files,omitempty"`
	Addons   []Addon   `json:"addons,omitempty"`
	Images   []Image   `json:"images,omitempty"`
}

// Packages is the answer to one question to package repositories. Inputs is the sum of the question: another one is
// asked again.
type Packages struct {
	Inputs       string       `json:"inputs_sha256"`
	Repositories []Repository `json:"repositories"`
	Packages     []Package    `json:"packages"`
}

// Repository in the state that was read: SHA256 is that of its signed index (InRelease, repomd.xml).
type Repository struct {
	URL    string `json:"url"`
	Suite  string `json:"suite,omitempty"`
	SHA256 string `json:"index_sha256"`
}

// Package is one chosen package. Meta is its entry of the repository's metadata as it stands in the bundle: a stanza of
// Packages, or an element of primary.xml.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"` // as the family writes it: [epoch:]version[-release]
	Arch    string `json:"arch"`    // in the family's words: amd64, all, x86_64, noarch
	URL     string `json:"url"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
	// metadata: signed repository; local: a directory; trusted: the spec vouches
	Trust   string `json:"trust"`
	Keyring string `json:"keyring,omitempty"` // that its own signature was held against, for rpm
	Meta    string `json:"meta"`
}

// File is one download of programs or files; Picked are the members taken from an archive.
type File struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	URL     string `json:"url"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
	// checksum: upstream's file; spec: given there; local: beside the spec
	Trust    string   `json:"trust"`
	Checksum string   `json:"checksum,omitempty"` // the address of upstream's file
	Picked   []Picked `json:"picked,omitempty"`
}

// Picked is a member taken from an archive under a name of its own.
type Picked struct {
	Member string `json:"member"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Addon is the source of one or more files of addons/. Inputs is the sum of what the spec says of it.
type Addon struct {
	Name   string      `json:"name"`
	Inputs string      `json:"inputs_sha256"`
	URL    string      `json:"url,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // of the download: a manifest or a chart
	Size   int64       `json:"size,omitempty"`
	Trust  string      `json:"trust"`
	Files  []AddonFile `json:"files"`
	Images []string    `json:"images,omitempty"` // that its files name, as they write them
	// Guesses are what looks like the name of an image where no API promises one.
	Guesses []string `json:"guesses,omitempty"`
	// Rendering is the generation of the rules that made the files of a chart, and Scopes are kinds (group/kind) that
	// other addons define, and whether they are in a namespace: the chart's objects were given it.
	Rendering int             `json:"rendering,omitempty"`
	Scopes    map[string]bool `json:"scopes,omitempty"`
}

// AddonFile is one file of addons/.
type AddonFile struct {
	Path   string `json:"path"` // below addons/
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Image is one image of the platform.
type Image struct {
	Name     string   `json:"name"`             // as the spec or an addon names it
	Names    []string `json:"names"`            // under which it stands in images.tar
	Source   string   `json:"source,omitempty"` // the archive it came from, "" for its registry
	Index    string   `json:"index,omitempty"`  // digest of the upstream index that it was chosen from
	Manifest Blob     `json:"manifest"`
	Config   Blob     `json:"config"`
	Layers   []Blob   `json:"layers"`
	Variant  string   `json:"variant,omitempty"` // of the platform: v8
}

// Blob of a registry.
type Blob struct {
	MediaType string `json:"media_type"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// New is a lock that pins nothing yet.
func New(name, kubernetes string) *Lock {
	return &Lock{Version: Version, Name: name, Kubernetes: kubernetes, Arches: map[string]*Set{}}
}

// Read reads a lock; nil if there is none. The fault is "lock.read" of class usage.
func Read(path string) (*Lock, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, readFault(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, readFault(path, err)
	}
	l, err := Parse(data)
	if err != nil {
		return nil, readFault(path, err)
	}
	return l, nil
}

func readFault(path string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassUsage, "lock.read", err, "file", path)
}

// Parse reads a lock's text and checks all that its users rely on: versions, sums, digests, sizes, paths without
// control characters.
func Parse(data []byte) (*Lock, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("more than %d bytes", MaxSize)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Version != Version {
		return nil, fmt.Errorf("version %d, this program writes %d", head.Version, Version)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var l Lock
	if err := dec.Decode(&l); err != nil {
		return nil, err
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	return &l, nil
}

func (l *Lock) validate() error {
	if l.Arches == nil {
		l.Arches = map[string]*Set{}
	}
	for a, s := range l.Arches {
		if a != "amd64" && a != "arm64" {
			return fmt.Errorf("architecture %q", a)
		}
		if s == nil {
			return fmt.Errorf("the architecture %s is null", a)
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	return nil
}

func (s *Set) validate() error {
	var bad []error
	sum := func(what, sum string, size int64) {
		if !isSum(sum) || size < 0 || size > maxThing {
			bad = append(bad, fmt.Errorf("%s: sha256 %q, %d bytes", what, sum, size))
		}
	}
	text := func(v ...string) {
		for _, x := range v {
			if event.Clean(x) != x {
				bad = append(bad, fmt.Errorf("control characters in %q", x))
			}
		}
	}
	address := func(what, u string) {
		// What stands here is in the bundle and its bill of materials, too, for everybody to see.
		if x, err := url.Parse(u); err == nil && x.User != nil {
			bad = append(bad, fmt.Errorf("%s: credentials in its address", what))
		}
	}
	if s.Packages != nil {
		for _, r := range s.Packages.Repositories {
			text(r.URL, r.Suite)
			if r.SHA256 != "" || r.Suite == "" { // a suite may be a directory that has no index of its own
				sum(r.URL, r.SHA256, 0)
			}
		}
		for _, p := range s.Packages.Packages {
			sum(p.Name, p.SHA256, p.Size)
			text(p.Name, p.Version, p.Arch, p.URL)
			address(p.Name, p.URL)
			if !utf8.ValidString(p.Meta) { // JSON would give back another text
				bad = append(bad, fmt.Errorf("%s: its metadata is not UTF-8", p.Name))
			}
		}
	}
	for _, f := range s.Files {
		sum(f.Name, f.SHA256, f.Size)
		text(f.Name, f.Version, f.URL, f.Checksum)
		address(f.Name, f.URL)
		for _, p := range f.Picked {
			sum(p.Name, p.SHA256, p.Size)
			text(p.Name, p.Member)
		}
	}
	for _, a := range s.Addons {
		if a.URL != "" {
			sum(a.Name, a.SHA256, a.Size)
			address(a.Name, a.URL)
		}
		text(append([]string{a.Name, a.URL}, append(slices.Clone(a.Images), a.Guesses...)...)...)
		for _, f := range a.Files {
			sum(f.Path, f.SHA256, f.Size)
			text(f.Path)
		}
		text(slices.Collect(maps.Keys(a.Scopes))...)
	}
	for _, im := range s.Images {
		text(append([]string{im.Name, im.Source}, im.Names...)...)
		for _, b := range append([]Blob{im.Manifest, im.Config}, im.Layers...) {
			h, _ := strings.CutPrefix(b.Digest, "sha256:")
			sum(im.Name, h, b.Size)
		}
		if len(im.Names) == 0 {
			bad = append(bad, fmt.Errorf("%s: no names", im.Name))
		}
	}
	return errors.Join(bad...)
}

func isSum(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// Write replaces the lock at path; it is whole or not there. The same lock gives the same bytes. What Read would refuse
// (a repository may answer with anything) is not written: the next build could not go on.
func (l *Lock) Write(path string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := l.validate()
	if err == nil {
		err = enc.Encode(l)
	}
	if err == nil && b.Len() > MaxSize {
		err = fmt.Errorf("more than %d bytes", MaxSize)
	}
	if err == nil {
		if old, rerr := os.ReadFile(path); rerr == nil && bytes.Equal(old, b.Bytes()) {
			return nil // its time says when the lock last moved
		}
		err = renameio.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return event.NewFault(event.ClassFailed, "lock.write", err, "file", path)
	}
	return nil
}

// Set of the architecture, empty if the lock has none; l may be nil.
func (l *Lock) Set(arch string) *Set {
	if l == nil || l.Arches[arch] == nil {
		return &Set{}
	}
	return l.Arches[arch]
}

// Inputs is the sum of a question: of the values that decide the answer, in their JSON form.
func Inputs(values ...any) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(values); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// File finds a download by its name and address.
func (s *Set) File(name, url string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name && f.URL == url })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// Addon finds an addon by its name and inputs.
func (s *Set) Addon(name, inputs string) (Addon, bool) {
	i := slices.IndexFunc(s.Addons, func(a Addon) bool { return a.Name == name && a.Inputs == inputs })
	if i < 0 {
		return Addon{}, false
	}
	return s.Addons[i], true
}

// Image finds an image by its name and source.
func (s *Set) Image(name, source string) (Image, bool) {
	i := slices.IndexFunc(s.Images, func(x Image) bool { return x.Name == name && x.Source == source })
	if i < 0 {
		return Image{}, false
	}
	return s.Images[i], true
}
