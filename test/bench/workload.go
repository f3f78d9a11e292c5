package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// format of a workload on the disk; another one is made again.
const format = 1

// Workload is everything that a bundle of both architectures is made of: 382 MB of images, 246 MB of programs and 84 MB
// of packages for each at scale 1. The contents follow from the Go toolchain and the scale alone; only the key that
// signs the repository is a new one.
type Workload struct {
	Dir       string `json:"-"`
	Format    int
	Scale     float64
	Images    []Image
	Documents map[string]Document // by repository:tag and repository@digest
	Programs  map[string][]File   // by architecture
	Packages  map[string][]File
}

// seeded gives a generator of its own to each thing that is made.
func seeded(kind, arch, i int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(kind)<<32|uint64(arch), uint64(i))) //nolint:gosec // nothing secret
}

// Make makes the workload in dir unless it is there already.
func Make(dir string, scale float64) (*Workload, error) {
	if w, err := Load(dir); err == nil && w.Scale == scale {
		return w, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	w := &Workload{Dir: dir, Format: format, Scale: scale}
	if err := os.MkdirAll(w.blobs(), 0o755); err != nil {
		return nil, err
	}
	p, err := toolchain()
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{func() error { return w.makeImages(p) },
		func() error { return w.makePrograms(p) }, w.makePackages, w.makeSpecs} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(w.index(), text, 0o644) // last: what has it is whole
}

// Load reads a workload that was made. fs.ErrNotExist: there is none of this form.
func Load(dir string) (*Workload, error) {
	w := &Workload{Dir: dir}
	text, err := os.ReadFile(w.index())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, w); err != nil {
		return nil, err
	}
	if w.Format != format {
		return nil, fs.ErrNotExist
	}
	return w, nil
}

func (w *Workload) index() string { return filepath.Join(w.Dir, "workload.json") }

func (w *Workload) file(path string) string {
	return filepath.Join(w.Dir, "files", filepath.FromSlash(path))
}

// Specs that the builder is given: of everything, and of the images alone.
const (
	wholeSpec  = "whole.yaml"
	imagesSpec = "images.yaml"
)

// makeSpecs writes the addon and the specs.
func (w *Workload) makeSpecs() error {
	node, cni := w.Images[6].Name(), w.Images[7].Name()
	err := writeText(w.file("dl/net.yaml"), `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: net, namespace: kube-system}
spec:
  selector: {matchLabels: {app: net}}
  template:
    metadata: {labels: {app: net}}
    spec:
      initContainers:
        - {name: cni, image: "%s"}
      containers:
        - {name: node, image: "%s"}
`, cni, node)
	head := "version: 1\nname: bench\nkubernetes: v1.34.2\nos: {family: debian, id: debian, release: \"12\", " +
		"codename: bookworm}\n"
	var list, files strings.Builder
	for _, im := range w.Images {
		fmt.Fprintf(&list, "  - {name: %q, roles: [worker], why: a benchmark}\n", im.Name())
	}
	for i, p := range programs {
		checksum := "SHA256SUMS"
		if i < 2 {
			checksum = p.name + "-{arch}.sha256"
		}
		fmt.Fprintf(&files,
			"  - {name: %s, version: v1.34.2, url: \"https://dl.test/%s-{arch}\", checksum: \"https://dl.test/%s\", "+
				"dst: /usr/local/bin, roles: [worker]}\n",
			p.name, p.name, checksum)
	}
	repository := "packages:\n  repositories:\n    - {type: deb, url: http://deb.test/debian, suites: [bookworm], " +
		"components: [main], keyring: keys.gpg}\n  install:\n" +
		"    - {name: " + packageName(packages-1) + ", roles: [worker]}\n"
	return errors.Join(err,
		writeText(filepath.Join(w.Dir, imagesSpec), "%simages:\n%s", head, list.String()),
		writeText(filepath.Join(w.Dir, wholeSpec),
			"%s%sbinaries:\n%saddons:\n  - {name: net.yaml, url: https://dl.test/net.yaml}\nimages:\n%s",
			head, repository, files.String(), list.String()))
}

// Item is a blob and the path that the server has it under.
type Item struct {
	Blob
	Path string
}

// Set of blobs.
type Set string

// The sets.
const (
	ImagesOnly Set = "images"
	Whole      Set = "whole"   // with programs and packages
	Largest    Set = "largest" // the largest layer alone
)

// Items are the blobs of a set, each once.
func (w *Workload) Items(arch string, set Set) []Item {
	var out []Item
	seen := map[string]bool{}
	for _, im := range w.Images {
		for _, b := range append(slices.Clone(im.Layers[arch]), im.Configs[arch]) {
			if !seen[b.SHA256] {
				seen[b.SHA256] = true
				out = append(out, Item{b, "/v2/" + im.Host + "/" + im.Path + "/blobs/" + b.Digest()})
			}
		}
	}
	switch set {
	case Whole:
		for _, f := range append(slices.Clone(w.Programs[arch]), w.Packages[arch]...) {
			out = append(out, Item{f.Blob, "/files/" + f.Path})
		}
	case Largest:
		out = []Item{slices.MaxFunc(out, func(a, b Item) int { return cmp.Compare(a.Size, b.Size) })}
	}
	return out
}
