package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

// file is a member of an archive to make; kind is a regular file unless given.
type file struct {
	name, body, link string
	kind             byte
}

func tarOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if f.kind == 0 {
			f.kind = tar.TypeReg
		}
		if err := w.WriteHeader(&tar.Header{Name: f.name, Typeflag: f.kind, Linkname: f.link, Size: int64(len(f.body)),
			Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t testing.TB, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// layerOf is a layer's tar with one file.
func layerOf(t testing.TB, text string) []byte { return tarOf(t, file{name: "file", body: text}) }

// peer is an image as other tools write it.
type peer struct {
	layers [][]byte // plain tars
	config []byte
}

func newPeer(t testing.TB, arch string, layers ...[]byte) peer {
	t.Helper()
	var diffs []string
	for _, l := range layers {
		diffs = append(diffs, sumOf(l))
	}
	config, err := json.Marshal(map[string]any{"architecture": arch, "os": "linux", "created": "2025-01-02T03:04:05Z",
		"config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs}})
	if err != nil {
		t.Fatal(err)
	}
	return peer{layers, config}
}

func hexOf(data []byte) string { return strings.TrimPrefix(sumOf(data), "sha256:") }

// oci gives the blobs of the image with gzipped layers, and its manifest.
func (p peer) oci(t testing.TB) (blobs map[string][]byte, manifest Descriptor) {
	t.Helper()
	blobs = map[string][]byte{}
	put := func(mediaType string, data []byte) Descriptor {
		blobs[sumOf(data)] = data
		return Descriptor{MediaType: mediaType, Digest: sumOf(data), Size: int64(len(data))}
	}
	doc := Document{SchemaVersion: 2, MediaType: mediaOCIManifest, Config: put(mediaOCIConfig, p.config)}
	for _, l := range p.layers {
		doc.Layers = append(doc.Layers, put("application/vnd.oci.image.layer.v1.tar+gzip", []byte(gzipped(t, l))))
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return blobs, put(mediaOCIManifest, raw)
}

// layoutOf are the files of an OCI layout with those entries.
func layoutOf(t testing.TB, blobs map[string][]byte, entries ...Descriptor) []file {
	t.Helper()
	raw, err := json.Marshal(index{SchemaVersion: 2, Manifests: entries})
	if err != nil {
		t.Fatal(err)
	}
	out := []file{{name: layoutName, body: layoutText}, {name: indexName, body: string(raw)}}
	for d, b := range blobs {
		out = append(out, file{name: blobDir + d[7:], body: string(b)})
	}
	return out
}

func named(d Descriptor, key, name string) Descriptor {
	d.Annotations = map[string]string{key: name}
	return d
}

// dockerSave is what docker before 25 writes: a directory for each layer, a repeated one as a link to the first.
func dockerSave(t testing.TB, tags []string, images ...peer) []file {
	t.Helper()
	var out []file
	var entries []dockerEntry
	at := map[string]string{}
	for i, p := range images {
		name := hexOf(p.config) + ".json"
		e := dockerEntry{Config: name, RepoTags: []string{}}
		if i < len(tags) && tags[i] != "" {
			e.RepoTags = []string{tags[i]}
		}
		out = append(out, file{name: name, body: string(p.config)})
		for n, l := range p.layers {
			dir := fmt.Sprintf("%064x", i*100+n)
			out = append(out, file{name: dir + "/", kind: tar.TypeDir}, file{name: dir + "/VERSION", body: "1.0"},
				file{name: dir + "/json", body: "{}"})
			f := file{name: dir + "/layer.tar", body: string(l)}
			if old, ok := at[string(l)]; ok {
				f = file{name: dir + "/layer.tar", kind: tar.TypeSymlink, link: "../" + old}
			} else {
				at[string(l)] = dir + "/layer.tar"
			}
			out = append(out, f)
			e.Layers = append(e.Layers, dir+"/layer.tar")
		}
		entries = append(entries, e)
	}
	raw, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, file{name: dockerName, body: string(raw)}, file{name: "repositories", body: "{}"})
}
