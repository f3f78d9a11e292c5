// Package image reads and writes images.tar: a hybrid archive that is an OCI image layout and a docker archive over the
// same blobs, so that docker load, ctr images import, skopeo and isula load take it and the registry's manifest digests
// survive. It knows nothing of registries; package registry fetches.
//
// The formats: https://github.com/opencontainers/image-spec (image-layout.md, manifest.md) and docker's image
// specification v1.2 (manifest.json).
package image

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The members of the archive, in their order; blobs follow, sorted by name.
const (
	layoutName = "oci-layout"
	indexName  = "index.json"
	dockerName = "manifest.json"
	blobDir    = "blobs/sha256/"
)

const (
	layoutText = `{"imageLayoutVersion":"1.0.0"}`

	// AnnotationName is what containerd names an image by; AnnotationRef what other readers of an OCI layout look at.
	AnnotationName = "io.containerd.image.name"
	AnnotationRef  = "org.opencontainers.image.ref.name"

	mediaOCIIndex       = "application/vnd.oci.image.index.v1+json"
	mediaOCIManifest    = "application/vnd.oci.image.manifest.v1+json"
	mediaOCIConfig      = "application/vnd.oci.image.config.v1+json"
	mediaDockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	mediaDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	mediaDockerConfig   = "application/vnd.docker.container.image.v1+json"
	mediaDockerLayer    = "application/vnd.docker.image.rootfs.diff.tar"
	mediaChartConfig    = "application/vnd.cncf.helm.config.v1+json"

	// maxManifest bounds what is held in memory of one manifest; registries refuse larger ones too.
	maxManifest = 4 << 20
	// maxDocuments bounds index.json and docker's manifest.json (containerd reads no more than 20 MiB of it).
	maxDocuments = 16 << 20
	// maxLayers is more than any runtime stacks; maxBlob keeps sums of sizes far from overflowing.
	maxLayers = 1000
	maxBlob   = 1 << 43
)

// Descriptor points at a blob, as the OCI image specification writes it. Size is in bytes.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *Platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Platform of an image, in Go's terms.
type Platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

// String is os/architecture.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Image is one image of the archive. Names are what pods call it, with a tag or with a digest.
type Image struct {
	Names    []string
	Platform Platform
	Manifest Descriptor // of one platform, never of an index
	Config   Descriptor
	Layers   []Descriptor
}

// Size of the image's blobs with the manifest, in bytes; a blob that is there twice counts once.
func (i Image) Size() int64 {
	seen, n := map[string]bool{}, int64(0)
	for _, d := range append([]Descriptor{i.Manifest, i.Config}, i.Layers...) {
		if !seen[d.Digest] {
			seen[d.Digest], n = true, n+d.Size
		}
	}
	return n
}

// Document is an image manifest of one platform (OCI, or docker schema 2).
type Document struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        Descriptor   `json:"config"`
	Layers        []Descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []Descriptor `json:"manifests"`
}

type dockerEntry struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// parseManifest reads the manifest of one platform, whatever its layers are: schema 2, sha256 digests, sizes that can
// be. name is for the fault: "bundle.image-manifest" or "bundle.image-media-type".
func parseManifest(name string, raw []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fault("bundle.image-manifest", err, "image", name)
	}
	if d.SchemaVersion != 2 {
		return d, fault("bundle.image-manifest", fmt.Errorf("schema version %d", d.SchemaVersion), "image", name)
	}
	if d.MediaType != "" && d.MediaType != mediaOCIManifest && d.MediaType != mediaDockerManifest {
		return d, fault("bundle.image-media-type", nil, "image", name, "type", d.MediaType)
	}
	switch d.Config.MediaType {
	case mediaOCIConfig, mediaDockerConfig:
	case mediaChartConfig:
		return d, fault("image.chart", nil, "image", name)
	default:
		return d, fault("bundle.image-media-type", nil, "image", name, "type", d.Config.MediaType)
	}
	if len(d.Layers) > maxLayers {
		return d, fault("bundle.image-manifest", fmt.Errorf("%d layers", len(d.Layers)), "image", name)
	}
	sizes := map[string]int64{}
	for _, b := range append([]Descriptor{d.Config}, d.Layers...) {
		old, twice := sizes[b.Digest]
		if _, err := Hex(b.Digest); err != nil || b.Size < 0 || b.Size > maxBlob || twice && old != b.Size {
			return d, fault("bundle.image-manifest", fmt.Errorf("blob %q of %d bytes", b.Digest, b.Size), "image", name)
		}
		sizes[b.Digest] = b.Size
	}
	return d, nil
}

// loadable says whether docker 20.10, containerd 1.6 and iSulad can unpack a layer of this type.
func loadable(mediaType string) bool {
	switch mediaType {
	case "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip", mediaDockerLayer,
		mediaDockerLayer + ".gzip":
		return true
	}
	return false
}

// zstdLayer is loadable by containerd only.
func zstdLayer(mediaType string) bool {
	return mediaType == "application/vnd.oci.image.layer.v1.tar+zstd" || mediaType == mediaDockerLayer+".zstd"
}

// Hex returns the hexadecimal part of a digest, which must be a sha256 in lower case.
func Hex(digest string) (string, error) {
	h, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(h) != 64 || strings.Trim(h, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a sha256 digest", digest)
	}
	return h, nil
}

// IsDigestName says whether the name pins a digest (repo@sha256:…), which docker's RepoTags cannot hold.
func IsDigestName(name string) bool { return strings.Contains(name, "@") }

func fault(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassBundle, code, err, kv...)
}
