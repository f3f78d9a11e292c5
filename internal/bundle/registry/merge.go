package registry

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// merge takes over what the target has under a tag already for platforms that are not pushed now: bundles of two
// architectures often arrive one after the other. What is there and is no image or index is replaced.
func (p *pusher) merge(ctx context.Context, r *repository, t *tag, id string) error {
	raw, contentType, err := p.tagged(ctx, r, t.name, id)
	if raw == nil || err != nil {
		return err
	}
	mediaType, isIndex, err := image.Kind(t.name, raw, contentType)
	if err != nil {
		return nil //nolint:nilerr // something else has that tag
	}
	var there []image.Descriptor
	if isIndex {
		var l manifestList
		if json.Unmarshal(raw, &l) == nil {
			there = l.Manifests
		}
	} else if d, ok := p.described(ctx, r, t.name, mediaType, raw); ok {
		there = []image.Descriptor{d}
	}
	for _, d := range there {
		_, digestErr := image.Hex(d.Digest)
		if d.Platform == nil || d.Platform.OS != "linux" || digestErr != nil || d.Size < 0 {
			continue // an attestation
		}
		if _, pushed := t.platforms[d.Platform.String()]; !pushed {
			t.platforms[d.Platform.String()] = image.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size,
				Platform: d.Platform}
		}
	}
	return nil
}

// tagged is what a tag points to; nil if there is no such tag.
func (p *pusher) tagged(ctx context.Context, r *repository, name, id string) (raw []byte, contentType string,
	err error) {
	err = p.c.try(ctx, name, r.name.RegistryStr(), func(ctx context.Context) error {
		body, resp, err := p.c.get(ctx, r.name, "manifests", id, maxDocument)
		if err != nil {
			return err
		}
		raw, contentType = body, resp.Header.Get("Content-Type")
		return nil
	})
	// Not found, and what some registries say of a repository that is not there yet: pushing to it will tell the rest.
	if f := event.AsFault(err); err != nil && ctx.Err() == nil && strings.HasPrefix(f.Code, "registry.") &&
		(f.Code == "registry.not-found" || f.Code == "registry.denied") {
		return nil, "", nil
	}
	return raw, contentType, err
}

// described is the descriptor of a single manifest, whose configuration says what it is for.
func (p *pusher) described(ctx context.Context, r *repository, name, mediaType string, raw []byte) (image.Descriptor,
	bool) {
	m, err := image.ReadManifest(name, raw, image.Containerd)
	if err != nil {
		return image.Descriptor{}, false
	}
	text, err := p.c.config(ctx, name, r.name, m.Config)
	var platform image.Platform
	if err != nil || json.Unmarshal(text, &platform) != nil {
		return image.Descriptor{}, false
	}
	return image.Descriptor{MediaType: mediaType, Digest: sum(raw), Size: int64(len(raw)), Platform: &platform}, true
}
