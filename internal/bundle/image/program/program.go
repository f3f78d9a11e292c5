// Package program makes images that hold one static program and nothing else, without a container engine: the image of
// the operator is made with it. The same inputs give the same digests on every machine.
package program

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
)

// User is the numeric user and group that programs run as, without rights on a node.
const User = 65532

// rootsPath is the first place in which Go's crypto/x509 looks for CA certificates.
const rootsPath = "etc/ssl/certs/ca-certificates.crt"

// maxBinary bounds a program, in bytes: it is held in memory.
const maxBinary = 512 << 20

// Program describes the image of one program.
type Program struct {
	Name   string // of the image, with its tag: registry.example.com/eggo/eggops:v1.0.0
	Arch   string // in Go's terms: amd64, arm64
	Binary []byte // statically linked, for Linux on Arch
	Path   string // of the binary in the image, which is its entry point: /eggops
	Roots  []byte // CA certificates, PEM; nil: the program trusts none
	// Labels are those of the image, such as org.opencontainers.image.version.
	Labels map[string]string
}

// Image is an image that is ready to be written.
type Image struct {
	image.Image
	blobs map[string][]byte // by digest
}

// Make returns the image of a program. It refuses a binary that cannot run in it: one for another system or
// architecture, and one that needs a dynamic linker.
func Make(p Program) (*Image, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("image %s: %w", p.Name, err)
	}
	name, err := image.Normalize(p.Name)
	if err != nil {
		return nil, err
	}
	plain, packed, err := p.layer()
	if err != nil {
		return nil, err
	}
	out := &Image{blobs: map[string][]byte{}}
	layer := out.add(packed, types.OCILayer)
	epoch := v1.Time{Time: time.Unix(0, 0).UTC()}
	diff := sha256.Sum256(plain)
	config, err := out.json(v1.ConfigFile{Architecture: p.Arch, OS: "linux", Created: epoch,
		Config: v1.Config{Entrypoint: []string{p.Path}, User: fmt.Sprintf("%d:%d", User, User), WorkingDir: "/",
			Env: []string{"PATH=/"}, Labels: p.Labels},
		RootFS:  v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{{Algorithm: "sha256", Hex: hex.EncodeToString(diff[:])}}},
		History: []v1.History{{Created: epoch, CreatedBy: "COPY " + p.Path}},
	}, types.OCIConfigJSON)
	if err != nil {
		return nil, err
	}
	manifest, err := out.json(image.Document{SchemaVersion: 2, MediaType: string(types.OCIManifestSchema1),
		Config: config, Layers: []image.Descriptor{layer}}, types.OCIManifestSchema1)
	if err != nil {
		return nil, err
	}
	out.Image = image.Image{Names: []string{name}, Platform: image.Platform{OS: "linux", Architecture: p.Arch},
		Manifest: manifest, Config: config, Layers: []image.Descriptor{layer}}
	return out, nil
}

// Write writes an archive with images of one architecture, which eggo-bundle, docker load and ctr images import read.
func Write(ctx context.Context, w io.Writer, images ...*Image) error {
	var all []image.Image
	blobs := map[string][]byte{}
	for _, im := range images {
		all = append(all, im.Image)
		for digest, data := range im.blobs {
			blobs[digest] = data
		}
	}
	layout, err := image.Plan(all)
	if err != nil {
		return err
	}
	return layout.Write(ctx, w, func(digest string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[digest])), nil
	})
}

// machines are the ELF machines of Go's architectures.
func machines() map[string]elf.Machine {
	return map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
}

func (p Program) check() error {
	want, known := machines()[p.Arch]
	switch {
	case !known:
		return fmt.Errorf("unknown architecture %q", p.Arch)
	case len(p.Path) < 2 || p.Path[0] != '/':
		return fmt.Errorf("the path %q is not absolute", p.Path)
	case len(p.Binary) > maxBinary:
		return fmt.Errorf("the program has %d bytes, at most %d are allowed", len(p.Binary), maxBinary)
	}
	f, err := elf.NewFile(bytes.NewReader(p.Binary))
	if err != nil {
		return fmt.Errorf("the program is not an ELF file: %w", err)
	}
	if f.Machine != want {
		return fmt.Errorf("the program is for %s, not for %s", f.Machine, p.Arch)
	}
	for _, s := range f.Progs {
		if s.Type == elf.PT_INTERP {
			return errors.New("the program is dynamically linked; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// layer returns the tar of the only layer, as it is and compressed.
func (p Program) layer() (plain, packed []byte, err error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name string, mode int64, kind byte, data []byte) error {
		h := &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: int64(len(data)), ModTime: time.Unix(0, 0).UTC(),
			Format: tar.FormatUSTAR}
		if kind == tar.TypeDir && name == "tmp/" {
			h.Uid, h.Gid = User, User
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	users := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", User, User)
	groups := fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", User)
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/"} {
		err = errors.Join(err, add(dir, 0o755, tar.TypeDir, nil))
	}
	err = errors.Join(err, add("tmp/", 0o700, tar.TypeDir, nil),
		add("etc/passwd", 0o644, tar.TypeReg, []byte(users)), add("etc/group", 0o644, tar.TypeReg, []byte(groups)))
	if p.Roots != nil {
		err = errors.Join(err, add(rootsPath, 0o644, tar.TypeReg, p.Roots))
	}
	err = errors.Join(err, add(p.Path[1:], 0o755, tar.TypeReg, p.Binary), w.Close())
	if err != nil {
		return nil, nil, err
	}
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	if _, err := zw.Write(out.Bytes()); err != nil {
		return nil, nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), z.Bytes(), nil
}

// add keeps a blob and returns its descriptor.
func (im *Image) add(data []byte, t types.MediaType) image.Descriptor {
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	im.blobs[digest] = data
	return image.Descriptor{MediaType: string(t), Digest: digest, Size: int64(len(data))}
}

func (im *Image) json(v any, t types.MediaType) (image.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return image.Descriptor{}, err
	}
	return im.add(data, t), nil
}
