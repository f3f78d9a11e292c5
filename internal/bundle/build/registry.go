package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/event"
)

// registries pulls images of one architecture into the cache.
type registries struct {
	arch    string
	fetch   *fetch.Client
	rt      http.RoundTripper
	clients map[string]*http.Client // by repository
	warn    func(event.Msg)
}

// pulled is an image whose blobs are in the cache.
type pulled struct {
	image.Image
	index string // digest of the upstream index, "" if there was none
}

// pull resolves a name as pods write it to the manifest of the architecture and fetches its blobs. Only the way there is mapped by
// mirrors: the name stays.
func (r *registries) pull(ctx context.Context, podName string) (*pulled, error) {
	ref, err := r.reference(podName)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "build.image-name", err, "image", podName)
	}
	opts := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(r.rt)}
	d, err := remote.Get(ref, opts...)
	if err != nil {
		return nil, r.fault(ctx, podName, ref, err)
	}
	p := &pulled{}
	platform := image.Platform{OS: "linux", Architecture: r.arch}
	switch {
	case d.MediaType.IsIndex():
		p.index = d.Digest.String()
		child, err := r.choose(podName, d)
		if err != nil {
			return nil, err
		}
		platform.Variant = child.Platform.Variant
		if d, err = remote.Get(ref.Context().Digest(child.Digest.String()), opts...); err != nil {
			return nil, r.fault(ctx, podName, ref, err)
		}
	case d.MediaType == types.DockerManifestSchema1 || d.MediaType == types.DockerManifestSchema1Signed:
		return nil, event.NewFault(event.ClassFailed, "bundle.image-media-type", nil, "image", podName, "type", string(d.MediaType))
	}
	doc, err := image.ParseManifest(podName, d.Manifest)
	if err != nil {
		return nil, failed(err)
	}
	p.Image = image.Image{Names: names(podName), Platform: platform, Config: descriptor(doc.Config),
		Manifest: image.Descriptor{MediaType: string(d.MediaType), Digest: d.Digest.String(), Size: int64(len(d.Manifest))}}
	for _, l := range doc.Layers {
		p.Layers = append(p.Layers, descriptor(l))
	}
	if b, err := r.fetch.Cache.Put(bytes.NewReader(d.Manifest), int64(len(d.Manifest))); err != nil {
		return nil, err
	} else if "sha256:"+b.SHA256 != p.Manifest.Digest {
		return nil, event.NewFault(event.ClassFailed, "bundle.blob-mismatch", nil, "file", podName, "blob", p.Manifest.Digest, "got", "sha256:"+b.SHA256, "image", podName)
	}
	return p, r.blobs(ctx, podName, ref.Context(), p)
}

// failed turns a fault of reading a bundle into one of building: nothing is damaged on this machine.
func failed(err error) error {
	f := event.AsFault(err)
	f.Class = event.ClassFailed
	return f
}

func descriptor(d image.Descriptor) image.Descriptor {
	return image.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}

// names are those that runtimes look the image up by: one with tag and digest is found by containerd without its tag.
func names(podName string) []string {
	base, digest, ok := strings.Cut(podName, "@")
	if !ok {
		return []string{podName}
	}
	if i := strings.LastIndex(base, ":"); i > strings.LastIndex(base, "/") {
		return []string{base, base[:i] + "@" + digest}
	}
	return []string{podName}
}

func (r *registries) reference(podName string) (name.Reference, error) {
	host, rest, _ := strings.Cut(podName, "/")
	to, prefix := r.fetch.Mirrors.Registry(host)
	if base, digest, ok := strings.Cut(rest, "@"); ok {
		if i := strings.LastIndex(base, ":"); i >= 0 {
			base = base[:i]
		}
		rest = base + "@" + digest
	}
	var opts []name.Option
	if h, _, _ := strings.Cut(to, ":"); fetch.Loopback(h) {
		opts = append(opts, name.Insecure)
	}
	return name.ParseReference(to+"/"+prefix+rest, opts...)
}

// choose takes the index's entry for linux and the architecture; attestations have the platform unknown/unknown.
func (r *registries) choose(podName string, d *remote.Descriptor) (v1.Descriptor, error) {
	idx, err := v1.ParseIndexManifest(bytes.NewReader(d.Manifest))
	if err != nil {
		return v1.Descriptor{}, event.NewFault(event.ClassFailed, "bundle.image-manifest", err, "image", podName)
	}
	var has []string
	for _, m := range idx.Manifests {
		if m.Platform == nil || !m.MediaType.IsImage() {
			continue
		}
		has = append(has, m.Platform.String())
		// Of the variants only the baseline runs everywhere: none, or v8 on arm64.
		if m.Platform.OS == "linux" && m.Platform.Architecture == r.arch && (m.Platform.Variant == "" || r.arch == "arm64" && m.Platform.Variant == "v8") {
			return m, nil
		}
	}
	return v1.Descriptor{}, event.NewFault(event.ClassFailed, "build.image-platform", nil, "image", podName, "want", "linux/"+r.arch, "has", strings.Join(has, ", "))
}

// fault sorts a registry's answer.
func (r *registries) fault(ctx context.Context, podName string, ref name.Reference, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	code := "build.registry"
	if te := (*transport.Error)(nil); errors.As(err, &te) {
		switch te.StatusCode {
		case http.StatusNotFound:
			code = "build.image-not-found"
		case http.StatusUnauthorized, http.StatusForbidden:
			code = "build.image-denied"
		}
	}
	return event.NewFault(event.ClassFailed, code, err, "image", podName, "registry", ref.Context().RegistryStr())
}

func (r *registries) blobs(ctx context.Context, podName string, repo name.Repository, p *pulled) error {
	client, err := r.client(ctx, podName, repo)
	if err != nil {
		return err
	}
	get := func(d image.Descriptor, what string) (fetch.Blob, error) {
		h, err := image.Hex(d.Digest)
		if err != nil {
			return fetch.Blob{}, err
		}
		u := fmt.Sprintf("%s://%s/v2/%s/blobs/%s", repo.Scheme(), repo.RegistryStr(), repo.RepositoryStr(), d.Digest)
		return r.fetch.Get(ctx, fetch.Source{URL: u, SHA256: h, Size: d.Size, What: what, Client: client})
	}
	if p.Config.Size > maxConfig {
		return event.NewFault(event.ClassFailed, "fetch.too-large", nil, "what", podName, "url", p.Config.Digest, "limit", fmt.Sprint(maxConfig))
	}
	b, err := get(p.Config, podName+" config")
	if err != nil {
		return err
	}
	if err := r.checkConfig(podName, b); err != nil {
		return err
	}
	for i, l := range p.Layers {
		if _, err := get(l, fmt.Sprintf("%s %d/%d", podName, i+1, len(p.Layers))); err != nil {
			return err
		}
	}
	return nil
}

const maxConfig = 8 << 20 // bytes of an image's configuration

// client asks a repository with the right token.
func (r *registries) client(ctx context.Context, podName string, repo name.Repository) (*http.Client, error) {
	if c := r.clients[repo.String()]; c != nil {
		return c, nil
	}
	auth, err := authn.Resolve(ctx, authn.DefaultKeychain, repo)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "build.image-denied", err, "image", podName, "registry", repo.RegistryStr())
	}
	rt, err := transport.NewWithContext(ctx, repo.Registry, auth, r.rt, []string{repo.Scope(transport.PullScope)})
	if err != nil {
		return nil, r.fault(ctx, podName, repo.Tag("latest"), err)
	}
	c := fetch.NewHTTPClient(rt)
	r.clients[repo.String()] = c
	return c, nil
}

// checkConfig holds the image's own configuration against the architecture: an index, or a registry, may lie. Without "created"
// iSulad refuses an image.
func (r *registries) checkConfig(podName string, b fetch.Blob) error {
	f, err := r.fetch.Cache.Open(b)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var c struct {
		Architecture, OS string
		Created          *string
		History          []struct{ Created *string }
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return event.NewFault(event.ClassFailed, "bundle.image-manifest", err, "image", podName)
	}
	if c.Architecture != r.arch || c.OS != "linux" {
		return event.NewFault(event.ClassFailed, "bundle.image-arch", nil, "image", podName, "got", c.OS+"/"+c.Architecture, "want", "linux/"+r.arch)
	}
	if c.Created == nil {
		return event.NewFault(event.ClassFailed, "build.image-created", nil, "image", podName)
	}
	for _, h := range c.History {
		if h.Created == nil {
			r.warn(event.M("build.warn.history", "image", podName))
			break
		}
	}
	return nil
}
