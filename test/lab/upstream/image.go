package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/gzip"
)

// platformImage is an image for one architecture.
type platformImage struct {
	arch    string
	created time.Time
	layers  []imageLayer
	config  v1.Config
}

// imageLayer is one layer with the line of the history that it is shown by.
type imageLayer struct {
	by      string
	members []member
}

// mediaTypes are the two families that registries serve.
type mediaTypes struct{ index, manifest, config, layer types.MediaType }

var (
	dockerTypes = mediaTypes{types.DockerManifestList, types.DockerManifestSchema2, types.DockerConfigJSON,
		types.DockerLayer}
	ociTypes = mediaTypes{types.OCIImageIndex, types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer}
)

// store writes blobs into the registry of a cache directory and remembers what it wrote.
type store struct {
	dir   string
	files map[string]bool // relative to dir
}

func newStore(dir string) *store { return &store{dir: dir, files: map[string]bool{}} }

func (s *store) made() made {
	var m made
	for f := range s.files {
		m.files = append(m.files, f)
	}
	sort.Strings(m.files)
	return m
}

// blob stores bytes and returns their descriptor.
func (s *store) blob(b []byte, t types.MediaType) (v1.Descriptor, error) {
	sum := sha256.Sum256(b)
	d := v1.Descriptor{MediaType: t, Size: int64(len(b)),
		Digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}}
	rel := filepath.Join(blobsDir, d.Digest.Hex)
	s.files[rel] = true
	return d, writeFile(filepath.Join(s.dir, rel), b)
}

// layer writes members as a gzip'd tar and returns its descriptor and the digest of the tar itself.
func (s *store) layer(members []member, at time.Time, t types.MediaType) (d v1.Descriptor, diff v1.Hash, err error) {
	blobs := filepath.Join(s.dir, blobsDir)
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return d, diff, err
	}
	f, err := renameio.NewPendingFile(filepath.Join(blobs, "layer"), renameio.WithPermissions(0o644))
	if err != nil {
		return d, diff, err
	}
	defer func() { _ = f.Cleanup() }()
	packed, plain := sha256.New(), sha256.New()
	z := gzip.NewWriter(io.MultiWriter(f, packed))
	if err := writeTar(io.MultiWriter(z, plain), members, at); err != nil {
		return d, diff, err
	}
	if err := z.Close(); err != nil {
		return d, diff, err
	}
	st, err := f.Stat()
	if err != nil {
		return d, diff, err
	}
	d = v1.Descriptor{MediaType: t, Size: st.Size(),
		Digest: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(packed.Sum(nil))}}
	diff = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(plain.Sum(nil))}
	if err := f.Chmod(0o644); err != nil {
		return d, diff, err
	}
	// The name is known only now; the pending file replaces a name that no reader asks for, and is then moved to its
	// own.
	if err := f.CloseAtomicallyReplace(); err != nil {
		return d, diff, err
	}
	rel := filepath.Join(blobsDir, d.Digest.Hex)
	s.files[rel] = true
	return d, diff, os.Rename(filepath.Join(blobs, "layer"), filepath.Join(s.dir, rel))
}

// image stores one architecture's image and returns the descriptor of its manifest, with the platform.
func (s *store) image(p platformImage, t mediaTypes) (v1.Descriptor, error) {
	cfg := v1.ConfigFile{
		Architecture: p.arch, OS: "linux", Created: v1.Time{Time: p.created}, Config: p.config,
		RootFS: v1.RootFS{Type: "layers"}, Variant: variant(p.arch),
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: t.manifest}
	for _, l := range p.layers {
		d, diff, err := s.layer(withParents(l.members), p.created, t.layer)
		if err != nil {
			return v1.Descriptor{}, err
		}
		m.Layers = append(m.Layers, d)
		cfg.RootFS.DiffIDs = append(cfg.RootFS.DiffIDs, diff)
		cfg.History = append(cfg.History, v1.History{Created: cfg.Created, CreatedBy: l.by})
	}
	cfg.History = append(cfg.History, v1.History{Created: cfg.Created,
		CreatedBy: fmt.Sprintf("ENTRYPOINT %q", p.config.Entrypoint), EmptyLayer: true})
	d, err := s.json(cfg, t.config)
	if err != nil {
		return d, err
	}
	m.Config = d
	if d, err = s.json(m, t.manifest); err != nil {
		return d, err
	}
	d.Platform = &v1.Platform{OS: "linux", Architecture: p.arch, Variant: variant(p.arch)}
	return d, nil
}

// variant is what registries say of arm64.
func variant(arch string) string {
	if arch == "arm64" {
		return "v8"
	}
	return ""
}

func (s *store) json(v any, t types.MediaType) (v1.Descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return s.blob(b, t)
}

// index stores the index of an image for several architectures and points the tag at it, last of all.
func (s *store) index(image string, platforms []platformImage, t mediaTypes) error {
	idx := v1.IndexManifest{SchemaVersion: 2, MediaType: t.index}
	for _, p := range platforms {
		d, err := s.image(p, t)
		if err != nil {
			return err
		}
		idx.Manifests = append(idx.Manifests, d)
	}
	d, err := s.json(idx, t.index)
	if err != nil {
		return err
	}
	ref, err := refPath(s.dir, image)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(s.dir, ref)
	if err != nil {
		return err
	}
	s.files[rel] = true
	return writeFile(ref, []byte(d.Digest.String()))
}

// refPath is the file that holds the digest of a tagged image.
func refPath(dir, image string) (string, error) {
	t, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, refsDir, t.RegistryStr(), t.RepositoryStr(), t.TagStr()), nil
}

// imageSize sums up the blobs of an image, -1 if it or a part of it is not there.
func imageSize(dir, image string) int64 {
	ref, err := refPath(dir, image)
	if err != nil {
		return -1
	}
	digest, err := os.ReadFile(ref)
	if err != nil {
		return -1
	}
	total := int64(0)
	seen := map[string]bool{}
	if walkImage(dir, string(digest), func(d v1.Descriptor) error {
		st, err := os.Stat(filepath.Join(dir, blobsDir, d.Digest.Hex))
		if err == nil && st.Size() != d.Size {
			err = fmt.Errorf("%s has a wrong size", d.Digest)
		}
		if err == nil && !seen[d.Digest.Hex] {
			total += d.Size
		}
		seen[d.Digest.Hex] = true
		return err
	}) != nil {
		return -1
	}
	return total
}

// walkImage calls f for everything that an index or manifest leads to.
func walkImage(dir, digest string, f func(v1.Descriptor) error) error {
	b, err := os.ReadFile(filepath.Join(dir, blobsDir, strings.TrimPrefix(digest, "sha256:")))
	if err != nil {
		return err
	}
	var m struct {
		Manifests []v1.Descriptor `json:"manifests"`
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	if len(m.Manifests) == 0 && m.Config == nil {
		return errors.New("neither an index nor a manifest")
	}
	for _, d := range m.Manifests {
		if err := errors.Join(f(d), walkImage(dir, d.Digest.String(), f)); err != nil {
			return err
		}
	}
	if m.Config != nil {
		m.Layers = append(m.Layers, *m.Config)
	}
	for _, d := range m.Layers {
		if err := f(d); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the blobs that no tag leads to any more, because an image was rebuilt; the lock must be held.
func prune(dir string) error {
	used := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(dir, refsDir), func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		digest, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		used[strings.TrimPrefix(string(digest), "sha256:")] = true
		return walkImage(dir, string(digest), func(d v1.Descriptor) error {
			used[d.Digest.Hex] = true
			return nil
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no images, or one that is not whole: its job will see that, and nothing is removed until then
	}
	if err != nil {
		return err
	}
	blobs, err := os.ReadDir(filepath.Join(dir, blobsDir))
	for _, b := range blobs {
		if !used[b.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, blobsDir, b.Name())))
		}
	}
	return err
}

// withParents sorts the members of a layer and adds the directories that they are in. Of members with the same name the
// last one is taken.
func withParents(members []member) []member {
	all := map[string]member{}
	for _, m := range members {
		m.name = strings.Trim(m.name, "/")
		all[m.name] = m
	}
	for n := range all {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			if _, ok := all[d]; !ok {
				all[d] = member{name: d, dir: true}
			}
		}
	}
	out := make([]member, 0, len(all))
	for _, m := range all {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	for i := range out {
		if out[i].dir {
			out[i].name += "/"
		}
	}
	return out
}
