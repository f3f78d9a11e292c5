package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Runtime is what will load the images.
type Runtime string

// The runtimes, in the words of deploy.yaml.
const (
	Containerd Runtime = "containerd"
	Docker     Runtime = "docker"
	ISulad     Runtime = "isulad"
)

// Want is what an image is held against: linux on Arch (amd64, arm64), loaded by Runtime.
type Want struct {
	Arch    string
	Runtime Runtime
}

// Platform that is wanted, without a variant.
func (w Want) Platform() Platform { return Platform{OS: "linux", Architecture: w.Arch} }

// accepts says whether every machine of the architecture runs an image of that platform: without a variant, or of the
// baseline one.
func (w Want) accepts(p Platform) bool {
	baseline := map[string]string{"arm64": "v8", "amd64": "v1"}[w.Arch]
	return p.OS == "linux" && p.Architecture == w.Arch && (p.Variant == "" || p.Variant == baseline)
}

// Resolved is an image of one platform of which all but the layers is here and checked.
type Resolved struct {
	Name        string // as it was asked for
	Ref         Ref
	Index       string // digest of the index that the manifest was chosen from, "" if there was none
	IndexRaw    []byte
	Manifest    Descriptor
	ManifestRaw []byte
	Config      Descriptor
	ConfigRaw   []byte
	Layers      []Descriptor
	Platform    Platform
	Names       []string // all that the archive must carry, see Ref.Names
	// Own says that the manifest was made here, from an archive that has none: its digest is not that of any registry.
	Own      bool
	Warnings []event.Msg
}

// Image is what Plan needs of it.
func (r *Resolved) Image() Image {
	return Image{Names: r.Names, Platform: r.Platform, Manifest: r.Manifest, Config: r.Config, Layers: r.Layers}
}

func failed(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err, kv...)
}

// asFailed returns err with its fault's class changed from bundle to failed: nothing that was made is damaged when a
// source is.
func asFailed(err error) error {
	f := (*event.Fault)(nil)
	if !errors.As(err, &f) || f.Class != event.ClassBundle {
		return err
	}
	c := *f
	c.Class = event.ClassFailed
	return &c
}

// Kind reads what sort of document a registry or a layout gave: the media type that it is to have, and whether it is an
// index. What the document says of itself counts, and contentType (may be "") must not contradict it. Faults, of class
// failed: "image.schema1", "bundle.image-manifest", "bundle.image-media-type".
func Kind(name string, raw []byte, contentType string) (mediaType string, isIndex bool, err error) {
	if len(raw) > maxManifest {
		return "", false, failed("bundle.image-manifest", fmt.Errorf("it has %d bytes", len(raw)), "image", name)
	}
	var d struct {
		SchemaVersion                       int
		MediaType                           string
		Config, Layers, Manifests, FSLayers json.RawMessage
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", false, failed("bundle.image-manifest", err, "image", name)
	}
	if d.SchemaVersion == 1 || d.FSLayers != nil {
		return "", false, failed("image.schema1", nil, "image", name)
	}
	if d.Manifests != nil && (d.Layers != nil || d.Config != nil) {
		return "", false, failed("bundle.image-manifest", errors.New("it is an index and a manifest at once"), "image",
			name)
	}
	contentType, _, _ = strings.Cut(contentType, ";")
	if !known(contentType) {
		contentType = ""
	}
	switch mediaType = d.MediaType; {
	case mediaType == "" && contentType != "":
		mediaType = contentType
	case mediaType == "" && d.Manifests != nil:
		mediaType = mediaOCIIndex
	case mediaType == "":
		mediaType = mediaOCIManifest
	case contentType != "" && contentType != mediaType:
		return "", false, failed("bundle.image-manifest",
			fmt.Errorf("it was sent as %s and says %s", contentType, mediaType), "image", name)
	}
	if !known(mediaType) {
		return "", false, failed("bundle.image-media-type", nil, "image", name, "type", mediaType)
	}
	isIndex = indexType(mediaType)
	if isIndex != (d.Manifests != nil) {
		return "", false, failed("bundle.image-manifest", fmt.Errorf("it says that it is %s and is not", mediaType),
			"image", name)
	}
	return mediaType, isIndex, nil
}

func known(mediaType string) bool {
	return indexType(mediaType) || mediaType == mediaOCIManifest || mediaType == mediaDockerManifest
}

func indexType(mediaType string) bool {
	return mediaType == mediaOCIIndex || mediaType == mediaDockerList
}

// Choose takes the entry of an index (OCI, or docker's manifest list) that is wanted. Attestations, which have the
// platform unknown/unknown, and artefacts are passed over. Of an entry without a platform, the configuration of the
// image counts, which platform reads (zero for what is no image); the only entry of an index is taken unasked. Faults,
// of class failed: "image.platform" with what there is, "image.nested-index", "bundle.image-manifest".
func Choose(name string, raw []byte, want Want, platform func(Descriptor) (Platform, error)) (Descriptor, error) {
	var x index
	if err := json.Unmarshal(raw, &x); err != nil {
		return Descriptor{}, failed("bundle.image-manifest", err, "image", name)
	}
	var has []string
	tell := func(p Platform) {
		if p := p.full(); !slices.Contains(has, p) && len(has) < 32 {
			has = append(has, p)
		}
	}
	var bare []Descriptor
	nested := false
	for _, m := range x.Manifests {
		switch {
		case m.aside():
			continue
		case indexType(m.MediaType):
			nested = true
			continue
		case m.MediaType != mediaOCIManifest && m.MediaType != mediaDockerManifest:
			continue
		case m.bare():
			bare = append(bare, m)
			continue
		}
		if want.accepts(*m.Platform) {
			return m, checkDescriptor(name, m, maxManifest)
		}
		tell(*m.Platform)
	}
	if len(has) == 0 && len(bare) == 1 {
		return bare[0], checkDescriptor(name, bare[0], maxManifest)
	}
	for _, m := range bare[:min(len(bare), maxBare)] {
		if err := checkDescriptor(name, m, maxManifest); err != nil {
			return m, err
		}
		p, err := platform(m)
		if err != nil || want.accepts(p) {
			return m, err
		}
		if p != (Platform{}) {
			tell(p)
		}
	}
	if len(has) == 0 && nested {
		return Descriptor{}, failed("image.nested-index", nil, "image", name)
	}
	return Descriptor{}, noPlatform(name, want, has...)
}

// maxBare is how many images of an index without platforms are asked for theirs.
const maxBare = 32

// aside reports whether an entry of an index is about an image, such as an attestation, and none itself.
func (d Descriptor) aside() bool {
	return d.Annotations["vnd.docker.reference.type"] != "" || d.Platform != nil && d.Platform.OS == "unknown"
}

// bare reports whether an entry of an index does not say its platform.
func (d Descriptor) bare() bool { return d.Platform == nil || *d.Platform == (Platform{}) }

// PlatformOf returns the platform of an image of one platform, by its configuration, which config reads. It is zero for
// what is no image.
func PlatformOf(name string, manifest []byte, config func(Descriptor) ([]byte, error)) (Platform, error) {
	doc, err := parseManifest(name, manifest)
	if err != nil || doc.Config.Size > MaxConfig {
		return Platform{}, nil
	}
	raw, err := config(doc.Config)
	if err != nil {
		return Platform{}, err
	}
	c, err := parseConfig(name, raw)
	if err != nil {
		return Platform{}, nil
	}
	return c.platform(), nil
}

func noPlatform(name string, want Want, has ...string) *event.Fault {
	list := strings.Join(has, ", ")
	if list == "" {
		list = "-"
	}
	return failed("image.platform", nil, "image", name, "want", want.Platform().String(), "has", list)
}

func (p Platform) full() string {
	if p.Variant != "" {
		return p.String() + "/" + p.Variant
	}
	return p.String()
}

func checkDescriptor(name string, d Descriptor, limit int64) error {
	if _, err := Hex(d.Digest); err != nil || d.Size < 0 || d.Size > limit {
		return failed("bundle.image-manifest", fmt.Errorf("%q of %d bytes", d.Digest, d.Size), "image", name)
	}
	return nil
}

// MaxConfig bounds an image's configuration, in bytes.
const MaxConfig = 8 << 20

// ReadManifest reads the manifest of one platform and holds it against what the runtime can load: plain and gzipped
// layers, and zstd ones for containerd alone (docker before 23 and iSulad have none). Foreign layers are refused: they
// are not in the registry. Faults, of class failed: "bundle.image-manifest", "bundle.image-media-type",
// "image.foreign-layer", "image.layer-runtime".
func ReadManifest(name string, raw []byte, runtime Runtime) (Document, error) {
	d, err := parseManifest(name, raw)
	if err != nil {
		return d, asFailed(err)
	}
	if d.Config.Size > MaxConfig {
		return d, failed("bundle.image-manifest", fmt.Errorf("a configuration of %d bytes", d.Config.Size), "image",
			name)
	}
	for _, l := range d.Layers {
		if err := CheckLayer(name, l.MediaType, runtime); err != nil {
			return d, err
		}
	}
	return d, nil
}

// CheckLayer says whether the runtime can load a layer of that type: the part of ReadManifest that depends on the
// runtime.
func CheckLayer(name, mediaType string, runtime Runtime) error {
	switch {
	case strings.Contains(mediaType, "foreign") || strings.Contains(mediaType, "nondistributable"):
		return failed("image.foreign-layer", nil, "image", name, "type", mediaType)
	case loadable(mediaType) || zstdLayer(mediaType) && runtime == Containerd:
		return nil
	case zstdLayer(mediaType):
		return failed("image.layer-runtime", nil, "image", name, "type", mediaType, "runtime", string(runtime))
	}
	return failed("bundle.image-media-type", nil, "image", name, "type", mediaType)
}

// config is what is read of an image's configuration.
type config struct {
	Architecture, OS, Variant string
	Created                   *string
	RootFS                    struct {
		DiffIDs []string `json:"diff_ids"`
	}
	History []struct{ Created *string }
}

func (c config) platform() Platform {
	return Platform{Architecture: c.Architecture, OS: c.OS, Variant: c.Variant}
}

func parseConfig(name string, raw []byte) (config, error) {
	var c config
	if len(raw) > MaxConfig {
		return c, failed("bundle.image-manifest", fmt.Errorf("a configuration of %d bytes", len(raw)), "image", name)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, failed("bundle.image-manifest", fmt.Errorf("configuration: %w", err), "image", name)
	}
	return c, nil
}

// check holds the configuration against what is wanted and against the manifest: an index, or a registry, may lie.
func (c config) check(name string, layers []Descriptor, want Want) ([]event.Msg, error) {
	if !want.accepts(c.platform()) {
		return nil, failed("bundle.image-arch", nil, "image", name, "got", c.platform().full(), "want",
			want.Platform().String())
	}
	if len(c.RootFS.DiffIDs) != len(layers) {
		err := fmt.Errorf("%d layers, and %d in its configuration", len(layers), len(c.RootFS.DiffIDs))
		return nil, failed("bundle.image-manifest", err, "image", name)
	}
	for i, l := range layers {
		// Of a layer that is not compressed both digests are of the same bytes.
		if strings.HasSuffix(l.MediaType, "tar") && l.Digest != c.RootFS.DiffIDs[i] {
			return nil, failed("image.blob-wrong", nil, "image", name, "blob", c.RootFS.DiffIDs[i], "got", l.Digest)
		}
	}
	return c.dates(name, want)
}

// dates: iSulad refuses an image without the time of its creation, or with a history entry without one. Its rule: RFC
// 3339, from 1970 to 2038, or the zero time of Go.
func (c config) dates(name string, want Want) (warnings []event.Msg, err error) {
	strict := want.Runtime == ISulad
	if !dated(c.Created, strict) {
		if strict {
			return nil, failed("image.created", nil, "image", name)
		}
		warnings = append(warnings, event.M("image.warn.created", "image", name))
	}
	for _, h := range c.History {
		if dated(h.Created, strict) {
			continue
		}
		if strict {
			return nil, failed("image.history", nil, "image", name)
		}
		return append(warnings, event.M("image.warn.history", "image", name)), nil
	}
	return warnings, nil
}

func dated(s *string, strict bool) bool {
	if s == nil {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, *s)
	if !strict {
		return err == nil
	}
	return err == nil && (t.IsZero() || t.Year() >= 1970 && t.Year() <= 2038)
}

// Parts are the documents of an image as a registry or an archive gives them.
type Parts struct {
	Index                  string // digest, "" if there was none
	IndexRaw               []byte
	ManifestType           string
	ManifestRaw, ConfigRaw []byte
}

// Assemble checks the documents of an image against each other and against what is wanted. The faults are those of
// ReadManifest and, of class failed too, "bundle.image-arch" (the configuration counts, not the index), "image.created"
// and "image.history" (iSulad), "image.blob-wrong"; "image.name" is of class usage.
func Assemble(name string, p Parts, want Want) (*Resolved, error) {
	ref, err := ParseName(name)
	if err != nil {
		return nil, nameFault(name, err)
	}
	doc, err := ReadManifest(name, p.ManifestRaw, want.Runtime)
	if err != nil {
		return nil, err
	}
	if got := sumOf(p.ConfigRaw); got != doc.Config.Digest || int64(len(p.ConfigRaw)) != doc.Config.Size {
		return nil, failed("image.blob-wrong", nil, "image", name, "blob", doc.Config.Digest, "got", got)
	}
	c, err := parseConfig(name, p.ConfigRaw)
	if err != nil {
		return nil, err
	}
	warnings, err := c.check(name, doc.Layers, want)
	if err != nil {
		return nil, err
	}
	digest := sumOf(p.ManifestRaw)
	r := &Resolved{Name: name, Ref: ref, Index: p.Index, IndexRaw: p.IndexRaw, ManifestRaw: p.ManifestRaw,
		ConfigRaw: p.ConfigRaw,
		Config:    bare(doc.Config), Manifest: Descriptor{MediaType: p.ManifestType, Digest: digest,
			Size: int64(len(p.ManifestRaw))},
		Platform: c.platform(), Names: ref.Names(p.Index, digest), Warnings: warnings}
	for _, l := range doc.Layers {
		r.Layers = append(r.Layers, bare(l))
	}
	if ref.Digest != "" && ref.Digest != p.Index && ref.Digest != digest {
		return nil, failed("image.blob-wrong", nil, "image", name, "blob", ref.Digest, "got", digest)
	}
	if ref.Latest {
		r.Warnings = append(r.Warnings, event.M("image.warn.latest", "image", name))
	}
	if ref.Digest != "" && want.Runtime != Containerd {
		r.Warnings = append(r.Warnings, event.M("image.warn.pinned", "image", name, "runtime", string(want.Runtime)))
	}
	return r, nil
}

func nameFault(name string, err error) *event.Fault {
	return event.NewFault(event.ClassUsage, "image.name", err, "image", name)
}
