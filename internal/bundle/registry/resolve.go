package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// maxDocument bounds a manifest or index, in bytes; registries take no larger ones.
const maxDocument = 4 << 20

// accept are the documents that are understood, for the Accept header; schema 1 is in it so that it can be refused by
// name.
const accept = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, " +
	"application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, " +
	"application/vnd.docker.distribution.manifest.v1+prettyjws, application/vnd.docker.distribution.manifest.v1+json"

// document is a manifest or index as a registry gave it.
type document struct {
	raw         []byte
	contentType string
	digest      string
}

// call is a document that is being asked for, or was.
type call struct {
	done chan struct{}
	doc  document
	err  error
}

// Resolve finds the image that a pod's name means for a platform: index, manifest and configuration, all verified by
// digest and checked as image.Assemble does. A mirror is only the way there: names stay.
//
// Faults of class failed: "registry.not-found", "registry.denied", "registry.credentials", "registry.rate-limited",
// "registry.certificate", "registry.plain-http", "registry.unreachable", "registry.refused", and those of image.Kind,
// image.Choose and image.Assemble. Class usage: "image.name".
func (c *Client) Resolve(ctx context.Context, podName string, want image.Want) (*image.Resolved, error) {
	ref, repo, err := c.parse(podName)
	if err != nil {
		return nil, err
	}
	named, id := repo, ref.Digest
	if id == "" {
		id = ref.Tag
		if named, err = c.locate(ref, false); err != nil {
			return nil, err
		}
	}
	doc, err := c.document(ctx, podName, named, id)
	if err != nil {
		return nil, err
	}
	mediaType, isIndex, err := image.Kind(podName, doc.raw, doc.contentType)
	if err != nil {
		return nil, err
	}
	p := image.Parts{ManifestType: mediaType, ManifestRaw: doc.raw}
	if isIndex {
		child, err := image.Choose(podName, doc.raw, want, c.platformOf(ctx, podName, repo))
		if err != nil {
			return nil, err
		}
		p.Index, p.IndexRaw = doc.digest, doc.raw
		if doc, err = c.document(ctx, podName, repo, child.Digest); err != nil {
			return nil, err
		}
		if p.ManifestType, _, err = image.Kind(podName, doc.raw, doc.contentType); err != nil {
			return nil, err
		}
		p.ManifestRaw = doc.raw
	}
	m, err := image.ReadManifest(podName, p.ManifestRaw, want.Runtime)
	if err != nil {
		return nil, err
	}
	if p.ConfigRaw, err = c.config(ctx, podName, repo, m.Config); err != nil {
		return nil, err
	}
	return image.Assemble(podName, p, want)
}

// platformOf reads the platform of an image of an index from its configuration.
func (c *Client) platformOf(ctx context.Context, podName string, repo name.Repository,
) func(image.Descriptor) (image.Platform, error) {
	return func(d image.Descriptor) (image.Platform, error) {
		doc, err := c.document(ctx, podName, repo, d.Digest)
		if err != nil {
			return image.Platform{}, err
		}
		return image.PlatformOf(podName, doc.raw, func(d image.Descriptor) ([]byte, error) {
			return c.config(ctx, podName, repo, d)
		})
	}
}

// ResolveAll resolves many names at once. The results stand in the order of the names, nil where one failed; the error
// joins the faults of all that did (Unwrap() []error), in that order too.
func (c *Client) ResolveAll(ctx context.Context, names []string, want image.Want) ([]*image.Resolved, error) {
	out := make([]*image.Resolved, len(names))
	errs := make([]error, len(names))
	var g errgroup.Group
	g.SetLimit(c.o.Jobs)
	for i, n := range names {
		g.Go(func() error {
			out[i], errs[i] = c.Resolve(ctx, n, want)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, errors.Join(errs...)
}

func (c *Client) parse(podName string) (image.Ref, name.Repository, error) {
	ref, err := image.ParseName(podName)
	if err != nil {
		return ref, name.Repository{}, event.NewFault(event.ClassUsage, "image.name", err, "image", podName)
	}
	repo, err := c.locate(ref, true)
	if err != nil {
		return ref, repo, event.NewFault(event.ClassUsage, "image.name", err, "image", podName)
	}
	return ref, repo, nil
}

// document asks once for a manifest, however many want it.
func (c *Client) document(ctx context.Context, podName string, repo name.Repository, id string) (document, error) {
	key := repo.String() + " " + id
	c.mu.Lock()
	k, ok := c.docs[key]
	if !ok {
		k = &call{done: make(chan struct{})}
		c.docs[key] = k
	}
	c.mu.Unlock()
	if ok {
		select {
		case <-k.done:
			if f := (*event.Fault)(nil); errors.As(k.err, &f) && f.Args["image"] != podName {
				// The same problem, under the name of this image.
				g := event.NewFault(f.Class, f.Code, f.Err, "image", podName, "registry", f.Args["registry"])
				return k.doc, g
			}
			return k.doc, k.err
		case <-ctx.Done():
			return document{}, ctx.Err()
		}
	}
	k.doc, k.err = c.askDocument(ctx, podName, repo, id)
	if k.err != nil {
		c.mu.Lock()
		delete(c.docs, key)
		c.mu.Unlock()
	}
	close(k.done)
	return k.doc, k.err
}

func (c *Client) askDocument(ctx context.Context, podName string, repo name.Repository, id string) (doc document,
	err error) {
	err = c.try(ctx, podName, repo.RegistryStr(), func(ctx context.Context) error {
		raw, resp, err := c.get(ctx, repo, "manifests", id, maxDocument)
		if err != nil {
			return err
		}
		doc = document{raw: raw, contentType: resp.Header.Get("Content-Type"), digest: sum(raw)}
		if strings.HasPrefix(id, "sha256:") && doc.digest != id {
			return wrong(podName, id, doc.digest)
		}
		return nil
	})
	return doc, err
}

func (c *Client) config(ctx context.Context, podName string, repo name.Repository, d image.Descriptor) (raw []byte,
	err error) {
	err = c.try(ctx, podName, repo.RegistryStr(), func(ctx context.Context) error {
		if raw, _, err = c.get(ctx, repo, "blobs", d.Digest, d.Size); err != nil {
			return err
		}
		if got := sum(raw); got != d.Digest {
			return wrong(podName, d.Digest, got)
		}
		return nil
	})
	return raw, err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

func wrong(podName, want, got string) error {
	return event.NewFault(event.ClassFailed, "image.blob-wrong", nil, "image", podName, "blob", want, "got", got)
}

// get reads a small thing whole, once.
func (c *Client) get(ctx context.Context, repo name.Repository, kind, id string, limit int64) ([]byte, *http.Response,
	error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(repo, kind, id), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if kind == "manifests" {
		req.Header.Set("Accept", accept)
	}
	resp, err := c.session(repo, repo.Scope(transport.PullScope)).client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if err := transport.CheckError(resp, http.StatusOK); err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(raw)) > limit {
		return nil, nil, event.NewFault(event.ClassFailed, "bundle.image-manifest",
			fmt.Errorf("%s of more than %d bytes", kind, limit), "image", id)
	}
	return raw, resp, nil
}

// BlobSource tells where a layer or configuration of an image is: nothing is asked before it is fetched, and the client
// that comes with it knows the repository's tokens and renews them. what is for progress and faults.
func (c *Client) BlobSource(podName string, d image.Descriptor, what string) (fetch.Source, error) {
	return c.source(podName, "blobs", d, what)
}

// ManifestSource is BlobSource for a manifest or index, which registries keep elsewhere: for a build that has all but
// the bytes from its lock.
func (c *Client) ManifestSource(podName string, d image.Descriptor, what string) (fetch.Source, error) {
	return c.source(podName, "manifests", d, what)
}

func (c *Client) source(podName, kind string, d image.Descriptor, what string) (fetch.Source, error) {
	_, repo, err := c.parse(podName)
	if err != nil {
		return fetch.Source{}, err
	}
	h, err := image.Hex(d.Digest)
	if err != nil {
		return fetch.Source{}, event.NewFault(event.ClassFailed, "bundle.image-manifest", err, "image", podName)
	}
	s := c.session(repo, repo.Scope(transport.PullScope))
	return fetch.Source{URL: c.url(repo, kind, d.Digest), SHA256: h, Size: d.Size, What: what,
		Client: fetch.NewHTTPClient(answers{s, kind == "manifests"})}, nil
}

// answers turns a refusal of the handshake into the answer that it was, so that the fetcher sorts it as any other: to
// be tried again or not.
type answers struct {
	s        *session
	manifest bool
}

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.manifest {
		req = req.Clone(req.Context())
		req.Header.Set("Accept", accept)
	}
	resp, err := a.s.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	code, retry := sort(err, a.s.c.plain(a.s.repo.RegistryStr()))
	n := http.StatusForbidden
	if te := (*transport.Error)(nil); errors.As(err, &te) {
		n = te.StatusCode
	} else if code == "registry.unreachable" || retry {
		return nil, err
	}
	return &http.Response{Status: fmt.Sprintf("%d %s", n, words(err)), StatusCode: n, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{}, Body: http.NoBody, Request: req}, nil
}
