package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"
)

// Arches that the workload is made for.
var arches = [...]string{"amd64", "arm64"}

const mega = 1e6 // sizes here are decimal, as in the tables

// layers are the unique layers of an architecture with their compressed sizes in megabytes: 382 MB in 16 layers.
var layers = [...]struct {
	name string
	mb   float64
}{
	{"pause", 0.3}, {"base-1", 0.1}, {"base-2", 0.7}, {"runner", 1.5}, {"apiserver", 28}, {"controller-manager", 24},
	{"proxy-base", 15}, {"proxy", 13},
	{"etcd-1", 40}, {"etcd-2", 21}, {"coredns", 20}, {"calico", 2}, {"node-1", 67}, {"node-2", 55}, {"cni-1", 60},
	{"cni-2", 34.4},
}

// images have 24 references to the 16 layers.
var images = [...]struct {
	host, path, tag string
	layers          []string
	oci             bool // an OCI index; else a list of docker's schema 2
	attestation     bool // with an entry for unknown/unknown
}{
	{"registry.k8s.io", "pause", "3.10.1", []string{"pause"}, false, false},
	{"registry.k8s.io", "kube-apiserver", "v1.34.2", []string{"base-1", "base-2", "runner", "apiserver"}, false, false},
	{"registry.k8s.io", "kube-controller-manager", "v1.34.2",
		[]string{"base-1", "base-2", "runner", "controller-manager"}, false, false},
	{"registry.k8s.io", "kube-proxy", "v1.34.2", []string{"proxy-base", "runner", "proxy"}, false, false},
	{"registry.k8s.io", "etcd", "3.6.4-0", []string{"base-1", "base-2", "etcd-1", "etcd-2"}, false, false},
	{"registry.k8s.io", "coredns/coredns", "v1.12.1", []string{"base-1", "coredns"}, true, true},
	{"quay.io", "calico/node", "v3.30.3", []string{"calico", "node-1", "node-2"}, true, false},
	{"quay.io", "calico/cni", "v3.30.3", []string{"calico", "cni-1", "cni-2"}, true, false},
}

// Document is a manifest or an index in the registry.
type Document struct {
	Blob
	MediaType string
}

// Image of the workload by upstream's name, with its blobs.
type Image struct {
	Host, Path, Tag string
	Layers          map[string][]Blob // by architecture
	Configs         map[string]Blob
}

// Name as pods say it.
func (i Image) Name() string { return i.Host + "/" + i.Path + ":" + i.Tag }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// made is a layer that was made.
type made struct {
	Blob
	diffID string
}

// makeImages writes all blobs and documents. Layers are made side by side; each has its own generator, so that the
// order does not matter.
func (w *Workload) makeImages(p pieces) error {
	have := map[string][]made{}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for a, arch := range arches {
		its := make([]made, len(layers))
		have[arch] = its
		for i, l := range layers {
			g.Go(func() error {
				b, diffID, err := p.layer(w.blobs(), int64(l.mb*mega*w.Scale), seeded(1, a, i))
				its[i] = made{b, diffID}
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.Documents = map[string]Document{}
	for _, im := range images {
		out := Image{Host: im.host, Path: im.path, Tag: im.tag, Layers: map[string][]Blob{}, Configs: map[string]Blob{}}
		list := v1.IndexManifest{SchemaVersion: 2, MediaType: types.DockerManifestList}
		if im.oci {
			list.MediaType = types.OCIImageIndex
		}
		for _, arch := range arches {
			var its []made
			for _, name := range im.layers {
				for i, l := range layers {
					if l.name == name {
						its = append(its, have[arch][i])
						out.Layers[arch] = append(out.Layers[arch], have[arch][i].Blob)
					}
				}
			}
			d, config, err := w.makeManifest(out, arch, im.oci, its)
			if err != nil {
				return err
			}
			out.Configs[arch] = config
			list.Manifests = append(list.Manifests, d)
		}
		if im.attestation {
			d, err := w.attestation(out, list.Manifests[0].Digest.String())
			if err != nil {
				return err
			}
			list.Manifests = append(list.Manifests, d)
		}
		if _, err := w.document(out.Host+"/"+out.Path, out.Tag, list.MediaType, list); err != nil {
			return err
		}
		w.Images = append(w.Images, out)
	}
	return nil
}

func variant(arch string) string { return map[string]string{"arm64": "v8"}[arch] }

func (w *Workload) makeManifest(im Image, arch string, oci bool, its []made) (v1.Descriptor, Blob, error) {
	manifest, config, layer := types.DockerManifestSchema2, types.DockerConfigJSON, types.DockerLayer
	if oci {
		manifest, config, layer = types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer
	}
	c := v1.ConfigFile{Architecture: arch, OS: "linux", Variant: variant(arch), Created: v1.Time{Time: epoch},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: []string{"/usr/lib/part-0000"}}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: manifest}
	for _, l := range its {
		diffID, err := v1.NewHash(l.diffID)
		if err != nil {
			return v1.Descriptor{}, Blob{}, err
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, diffID)
		c.History = append(c.History, v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "a benchmark"})
		m.Layers = append(m.Layers, descriptor(l.Blob, layer))
	}
	text, err := json.Marshal(c)
	if err != nil {
		return v1.Descriptor{}, Blob{}, err
	}
	blob, err := w.small(text)
	if err != nil {
		return v1.Descriptor{}, Blob{}, err
	}
	m.Config = descriptor(blob, config)
	d, err := w.document(im.Host+"/"+im.Path, "", manifest, m)
	d.Platform = &v1.Platform{OS: "linux", Architecture: arch, Variant: variant(arch)}
	return d, blob, err
}

// attestation is an entry as docker's buildx adds to an index.
func (w *Workload) attestation(im Image, of string) (v1.Descriptor, error) {
	statement, err := w.small([]byte(`{"_type":"https://in-toto.io/Statement/v0.1"}`))
	if err != nil {
		return v1.Descriptor{}, err
	}
	config, err := w.small(
		[]byte(`{"architecture":"unknown","os":"unknown","config":{},"rootfs":{"type":"layers","diff_ids":[]}}`))
	if err != nil {
		return v1.Descriptor{}, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: descriptor(config, types.OCIConfigJSON),
		Layers: []v1.Descriptor{descriptor(statement, "application/vnd.in-toto+json")}}
	d, err := w.document(im.Host+"/"+im.Path, "", types.OCIManifestSchema1, m)
	d.Platform = &v1.Platform{OS: "unknown", Architecture: "unknown"}
	d.Annotations = map[string]string{"vnd.docker.reference.digest": of,
		"vnd.docker.reference.type": "attestation-manifest"}
	return d, err
}

func descriptor(b Blob, t types.MediaType) v1.Descriptor {
	return v1.Descriptor{MediaType: t, Size: b.Size, Digest: v1.Hash{Algorithm: "sha256", Hex: b.SHA256}}
}

// document keeps a manifest or an index under its digest, and under a tag if there is one.
func (w *Workload) document(repository, tag string, t types.MediaType, v any) (v1.Descriptor, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return v1.Descriptor{}, err
	}
	b, err := w.small(text)
	d := Document{b, string(t)}
	w.Documents[repository+"@"+b.Digest()] = d
	if tag != "" {
		w.Documents[repository+":"+tag] = d
	}
	return descriptor(b, t), err
}

// small keeps a short text among the blobs.
func (w *Workload) small(text []byte) (Blob, error) {
	b, err := newBlob(w.blobs())
	if err != nil {
		return Blob{}, err
	}
	defer b.drop()
	if _, err := bytes.NewReader(text).WriteTo(b); err != nil {
		return Blob{}, err
	}
	return b.done("")
}

func (w *Workload) blobs() string { return filepath.Join(w.Dir, "blobs") }

func writeText(name, format string, args ...any) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(fmt.Sprintf(format, args...)), 0o644)
}
