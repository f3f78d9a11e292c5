package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Source is an archive or directory of images that another tool wrote: docker save, podman save, skopeo
// (docker-archive:, oci:, oci-archive:, dir:), an OCI image layout, or an images.tar of ours; a tar may be compressed.
// It is safe for several goroutines.
type Source struct {
	path  string
	store store

	mu      sync.Mutex
	entries []entry
	blobs   map[string]span // by digest, of the images that were resolved
	hashed  map[span]layer  // of docker archives
	blob    func(hex string) []string
}

// entry is one thing that the source's index names.
type entry struct {
	names  []string // full ones, normalized
	tags   []string // bare ones, such as oci: layouts have
	desc   Descriptor
	docker *dockerEntry // of a docker archive, which has no descriptor
}

// SourceImage is what a source says of an image; nothing of it is verified but the documents' digests.
type SourceImage struct {
	Names     []string // normalized; empty when the source gives none
	Digest    string   // of the manifest or index, "" in docker archives, which keep none
	Platforms []string // os/architecture[/variant]
}

// OpenSource opens a file or directory. A compressed archive is unpacked to a temporary file in temp ("" is the
// system's directory) that Close removes. What the archive may do to us is bounded: names and links that lead out of
// it, duplicates, devices, and what unpacks to more than 200 times its size are refused. The fault, of class failed, is
// "image.source".
func OpenSource(ctx context.Context, path, temp string) (*Source, error) {
	s := &Source{path: path, blobs: map[string]span{}, hashed: map[span]layer{}}
	st, err := os.Stat(path)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	if st.IsDir() {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, s.fault(ctx, err)
		}
		s.store = dirStore{root}
	} else {
		t, err := openTar(ctx, path, temp)
		if err != nil {
			return nil, s.fault(ctx, err)
		}
		s.store = t
	}
	if err := s.recognise(); err != nil {
		return nil, errors.Join(s.fault(ctx, err), s.Close())
	}
	return s, nil
}

// Close removes what was unpacked.
func (s *Source) Close() error { return s.store.close() }

func (s *Source) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && pe.Path == s.path {
		err = pe.Err
	}
	return failed("image.source", err, "file", s.path)
}

// recognise finds out what wrote the source. An OCI layout goes before a docker archive over the same blobs: it keeps
// the manifests. What it lacks is taken from the docker archive.
func (s *Source) recognise() error {
	idx, err := s.document(indexName)
	if err != nil {
		return err
	}
	layoutFile, err := s.document(layoutName)
	if err != nil {
		return err
	}
	manifest, err := s.document(dockerName)
	if err != nil {
		return err
	}
	switch {
	case idx != nil && layoutFile != nil:
		s.blob = func(h string) []string { return []string{blobDir + h} }
		if err := s.ociEntries(idx); err != nil || !isList(manifest) {
			return err
		}
		return s.complete(manifest)
	case isList(manifest):
		return s.dockerEntries(manifest)
	case manifest != nil:
		s.blob = func(h string) []string { return []string{h, h + ".manifest.json"} }
		mediaType, _, err := Kind(s.path, manifest, "")
		if err != nil {
			return err
		}
		// skopeo's dir: form has the image's own manifest under this name.
		d := Descriptor{MediaType: mediaType, Digest: sumOf(manifest), Size: int64(len(manifest))}
		s.blobs[d.Digest], err = s.store.find(dockerName)
		s.entries = []entry{{desc: d}}
		return err
	}
	if _, err := s.store.find("repositories"); err == nil {
		return errors.New("docker before 1.10 wrote it; load it and save it with a newer one")
	}
	return errors.New("it has neither oci-layout with index.json nor manifest.json")
}

// isList reports whether manifest.json is that of a docker archive.
func isList(manifest []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(manifest), []byte("[")) }

// document reads a small file, nil if it is not there.
func (s *Source) document(name string) ([]byte, error) {
	p, err := s.store.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.read(name, maxDocuments)
}

// read reads the bytes of the place, if they are not more than limit.
func (p span) read(what string, limit int64) ([]byte, error) {
	if p.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes", what, p.Size)
	}
	r, err := p.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (s *Source) ociEntries(raw []byte) error {
	var x index
	if err := json.Unmarshal(raw, &x); err != nil {
		return fmt.Errorf("%s: %w", indexName, err)
	}
	at := map[string]int{}
	for _, d := range x.Manifests {
		if d.Annotations["vnd.docker.reference.type"] != "" || !known(d.MediaType) {
			continue
		}
		if err := checkDescriptor(s.path, d, maxManifest); err != nil {
			return err
		}
		i, ok := at[d.Digest]
		if !ok {
			i = len(s.entries)
			at[d.Digest] = i
			s.entries = append(s.entries, entry{desc: d})
		}
		name := d.Annotations[AnnotationName]
		if name == "" {
			name = d.Annotations[AnnotationRef]
		}
		s.entries[i].name(name)
	}
	return nil
}

// name adds a name, full or bare; one that no runtime would accept is passed over.
func (e *entry) name(name string) {
	if name == "" {
		return
	}
	if !strings.ContainsAny(name, "/:@") {
		e.tags = append(e.tags, name)
		return
	}
	if full, err := Normalize(name); err == nil && !slices.Contains(e.names, full) {
		e.names = append(e.names, full)
	}
}

func (s *Source) dockerEntries(raw []byte) error {
	var entries []dockerEntry
	if err := json.Unmarshal(raw, &entries); err != nil {
		return fmt.Errorf("%s: %w", dockerName, err)
	}
	for _, d := range entries {
		if len(d.Layers) > maxLayers {
			return fmt.Errorf("%s: an image of %d layers", dockerName, len(d.Layers))
		}
		e := entry{docker: &d}
		for _, t := range d.RepoTags {
			e.name(t)
		}
		s.entries = append(s.entries, e)
	}
	return nil
}

// bytesOf reads a manifest, index or configuration and verifies it.
func (s *Source) bytesOf(name string, d Descriptor) ([]byte, error) {
	p, err := s.place(d.Digest)
	if err != nil {
		return nil, err
	}
	raw, err := p.read(d.Digest, MaxConfig)
	if err != nil {
		return nil, err
	}
	if got := sumOf(raw); got != d.Digest {
		return nil, failed("image.blob-wrong", nil, "image", name, "blob", d.Digest, "got", got)
	}
	if int64(len(raw)) != d.Size {
		return nil, fmt.Errorf("%s has %d bytes and should have %d", d.Digest, len(raw), d.Size)
	}
	return raw, nil
}

// place finds a blob by its digest.
func (s *Source) place(digest string) (span, error) {
	if p, ok := s.blobs[digest]; ok {
		return p, nil
	}
	h, err := Hex(digest)
	if err != nil {
		return span{}, err
	}
	if s.blob != nil {
		for _, name := range s.blob(h) {
			p, err := s.store.find(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return p, err
		}
	}
	return span{}, &fs.PathError{Op: "find", Path: digest, Err: fs.ErrNotExist}
}

// Local reads a blob of an image that was resolved from any offset on, as fetch.Source.Local wants it; nil if it is not
// there. The bytes are verified when they are fetched by digest; only those of docker archives have been already.
func (s *Source) Local(digest string) func(offset int64) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.place(digest)
	if err != nil {
		return nil
	}
	return func(offset int64) (io.ReadCloser, error) {
		if offset < 0 || offset > p.Size {
			return nil, fmt.Errorf("no byte %d in a blob of %d", offset, p.Size)
		}
		return span{p.Path, p.Offset + offset, p.Size - offset}.open()
	}
}

// Images lists what the source has.
func (s *Source) Images(ctx context.Context) ([]SourceImage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]SourceImage, 0, len(s.entries))
	for _, e := range s.entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		im := SourceImage{Names: slices.Clone(e.names), Digest: e.desc.Digest}
		platforms, err := s.platforms(e)
		if err != nil {
			return nil, s.fault(ctx, err)
		}
		for _, p := range platforms {
			im.Platforms = append(im.Platforms, p.full())
		}
		out = append(out, im)
	}
	return out, nil
}

func (s *Source) platforms(e entry) ([]Platform, error) {
	if e.docker != nil {
		_, c, err := s.dockerConfig(s.path, e.docker)
		return []Platform{c.platform()}, err
	}
	raw, err := s.bytesOf(s.path, e.desc)
	if err != nil {
		return nil, err
	}
	_, isIndex, err := Kind(s.path, raw, e.desc.MediaType)
	if err != nil {
		return nil, err
	}
	if isIndex {
		return s.indexPlatforms(s.path, raw)
	}
	doc, err := parseManifest(s.path, raw)
	if err != nil {
		return nil, asFailed(err)
	}
	raw, err = s.bytesOf(s.path, doc.Config)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(s.path, raw)
	return []Platform{c.platform()}, err
}
