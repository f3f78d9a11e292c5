package registry

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The media types of the layers of a bundle that is kept in a registry.
const (
	BundleType          = "application/vnd.eggo.bundle.v1.tar+gzip"
	BundleSignatureType = "application/vnd.eggo.bundle.signature.v1" // of its checksums; may be missing
)

// Artifact finds the layer of that media type in something that is kept in a registry and is no image, such as a chart.
// Faults beside those of Resolve, of class failed: "registry.artifact", when it has no such layer.
func (c *Client) Artifact(ctx context.Context, name, mediaType string) (image.Descriptor, error) {
	ref, repo, err := c.parse(name)
	if err != nil {
		return image.Descriptor{}, err
	}
	id := ref.Digest
	if id == "" { // what a tag means is asked of the source, not of a mirror
		id = ref.Tag
		if repo, err = c.locate(ref, false); err != nil {
			return image.Descriptor{}, event.NewFault(event.ClassUsage, "image.name", err, "image", name)
		}
	}
	doc, err := c.document(ctx, name, repo, id)
	if err != nil {
		return image.Descriptor{}, err
	}
	var m image.Document
	err = json.Unmarshal(doc.raw, &m)
	var has []string
	for _, l := range m.Layers {
		if _, herr := image.Hex(l.Digest); l.MediaType == mediaType && herr == nil && l.Size >= 0 {
			return l, nil
		}
		has = append(has, l.MediaType)
	}
	list := strings.Join(has, ", ")
	return image.Descriptor{}, event.NewFault(event.ClassFailed, "registry.artifact", err, "image", name, "want",
		mediaType, "has", list)
}
