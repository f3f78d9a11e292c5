package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/registry"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// registries is one client for all architectures, so that they see the same index.
func (b *builder) registries() *registry.Client {
	return registry.New(registry.Options{Transport: b.Transport, Mirrors: b.Mirrors, Insecure: b.Insecure,
		Keychain: registry.Keychain(), Retry: func(f *event.Fault) {
			b.tell(Event{Kind: Retrying, What: f.Args["image"], Fault: f})
		}})
}

func (r *resolver) want() image.Want {
	return image.Want{Arch: r.arch, Runtime: image.Runtime(r.spec.Runtime)}
}

// wanted are the images of the spec and those that are found by themselves, each once, with the roles that need them.
func wanted(s *spec.Spec, addons []lock.Addon) ([]spec.Image, []event.Msg, error) {
	out := slices.Clone(s.Images)
	have := map[string]int{}
	for i, im := range out {
		if n, err := image.Normalize(im.Name); err == nil {
			have[n] = i
		}
	}
	add := func(name string, roles []bundle.Role) {
		n, err := image.Normalize(name)
		if err != nil {
			return // a name that is none was told when the addon was read
		}
		if i, ok := have[n]; ok {
			out[i].Roles = union(out[i].Roles, roles)
			return
		}
		have[n] = len(out)
		out = append(out, spec.Image{Name: name, Roles: roles})
	}
	// The pods of an addon run where the scheduler puts them.
	nodes := []bundle.Role{bundle.ControlPlane, bundle.Worker}
	if s.Discover.Addons {
		for _, a := range addons {
			for _, n := range a.Images {
				add(n, nodes)
			}
		}
	}
	var notes []event.Msg
	if s.Discover.Kubernetes || s.Discover.Kubeadm {
		list, more, err := addon.KubernetesImages(s.Kubernetes)
		if err != nil {
			return nil, nil, err
		}
		notes = more
		for _, k := range list {
			switch {
			case !k.Kubeadm, s.Discover.Kubeadm && strings.Contains(k.Name, "/kube-proxy:"):
				add(k.Name, nodes)
			case s.Discover.Kubeadm:
				add(k.Name, []bundle.Role{bundle.ControlPlane})
			}
		}
	}
	return out, notes, nil
}

// images pins the images: of registries all at once, then those of archives.
func (r *resolver) images(ctx context.Context) error {
	list, notes, err := wanted(r.spec, r.set.Addons)
	if err != nil {
		return err
	}
	for _, m := range notes {
		r.warn(r.arch, m)
	}
	out := make([]lock.Image, len(list))
	var names []string
	var at []int
	var tasks []func(context.Context) error
	for i, im := range list {
		if im.Archive.Name != "" {
			tasks = append(tasks, func(ctx context.Context) (err error) {
				out[i], err = r.archived(ctx, im)
				return err
			})
			continue
		}
		if old, ok := r.old.Image(im.Name, ""); ok {
			out[i] = old
			continue
		}
		if err := r.beyond(im.Name); err != nil {
			tasks = append(tasks, func(context.Context) error { return err })
			continue
		}
		names, at = append(names, r.sameIndex(im.Name)), append(at, i)
	}
	tasks = append(tasks, func(ctx context.Context) error {
		found, err := r.registry.ResolveAll(ctx, names, r.want())
		for k, x := range found {
			if x == nil {
				continue
			}
			var kerr error
			if x.Name = list[at[k]].Name; x.Name != names[k] { // it was not the spec that wrote a digest
				x.Warnings = slices.DeleteFunc(x.Warnings,
					func(m event.Msg) bool { return m.Key == "image.warn.pinned" })
			}
			out[at[k]], kerr = r.keep(x, "")
			err = errors.Join(err, kerr)
		}
		return err
	})
	if err := together(ctx, tasks...); err != nil {
		return err
	}
	r.set.Images = out
	return nil
}

// sameIndex is the name to ask for: where another architecture's build has pinned the tag, the index that it meant
// then, so that the nodes of a cluster run one version.
func (r *resolver) sameIndex(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	for _, set := range r.first {
		if old, ok := set.Image(name, ""); ok && old.Index != "" {
			return name + "@" + old.Index
		}
	}
	return name
}

// keep puts the documents of an image into the cache and pins it.
func (r *resolver) keep(x *image.Resolved, source string) (lock.Image, error) {
	for _, m := range x.Warnings {
		r.warn(r.arch, m)
	}
	for _, d := range [][]byte{x.ManifestRaw, x.ConfigRaw} {
		if _, err := r.Cache.Put(bytes.NewReader(d), int64(len(d))); err != nil {
			return lock.Image{}, err
		}
	}
	out := lock.Image{Name: x.Name, Names: x.Names, Source: source, Index: x.Index, Manifest: blobOf(x.Manifest),
		Config:  blobOf(x.Config),
		Variant: x.Platform.Variant, Layers: []lock.Blob{}}
	for _, l := range x.Layers {
		out.Layers = append(out.Layers, blobOf(l))
	}
	return out, nil
}

func blobOf(d image.Descriptor) lock.Blob {
	return lock.Blob{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}

func descriptorOf(b lock.Blob) image.Descriptor {
	return image.Descriptor{MediaType: b.MediaType, Digest: b.Digest, Size: b.Size}
}

const maxDocument = 16 << 20 // bytes of a manifest or a configuration

// checkImage holds the documents of a pinned image, of which the manifest is there, against what the lock says of it
// and what the spec asks for now: the lock may have been edited, or be of a build for another runtime.
func (p *plan) checkImage(ctx context.Context, li lock.Image) error {
	quiet := &fetch.Client{HTTP: p.http, Cache: p.Cache, Mirrors: p.Mirrors}
	var docs [][]byte
	for _, b := range []lock.Blob{li.Manifest, li.Config} {
		h, err := image.Hex(b.Digest)
		if err != nil {
			return err
		}
		if b.Size > maxDocument {
			return event.NewFault(event.ClassFailed, "fetch.too-large", nil, "what", li.Name, "url", p.blobs[h].URL,
				"limit", fmt.Sprint(maxDocument))
		}
		blob, err := quiet.Get(ctx, p.blobs[h]) // the configuration may be on its way by itself
		if err != nil {
			return err
		}
		data, err := p.builder.content(blob)
		if err != nil {
			return err
		}
		docs = append(docs, data)
	}
	x, err := image.Assemble(li.Name, image.Parts{Index: li.Index, ManifestType: li.Manifest.MediaType,
		ManifestRaw: docs[0], ConfigRaw: docs[1]},
		image.Want{Arch: p.arch, Runtime: image.Runtime(p.spec.Runtime)})
	if err != nil {
		return err
	}
	wrong := func(want, got string) error {
		return event.NewFault(event.ClassFailed, "image.blob-wrong", nil, "image", li.Name, "blob", want, "got", got)
	}
	for _, n := range li.Names {
		if !slices.Contains(x.Names, n) {
			return wrong(n, x.Manifest.Digest)
		}
	}
	if len(li.Layers) != len(x.Layers) {
		return wrong(li.Manifest.Digest, x.Manifest.Digest)
	}
	for i, l := range x.Layers {
		if blobOf(l) != li.Layers[i] {
			return wrong(li.Layers[i].Digest, l.Digest)
		}
	}
	return nil
}

// archived pins an image of another tool's archive. The archive is looked into each time: nothing else says whether it
// is the same.
func (r *resolver) archived(ctx context.Context, im spec.Image) (lock.Image, error) {
	src, err := image.OpenSource(ctx, im.Archive.File, "")
	if err != nil {
		return lock.Image{}, err
	}
	defer src.Close()
	x, err := src.Resolve(ctx, im.Name, r.want())
	if err != nil {
		return lock.Image{}, err
	}
	if old, ok := r.old.Image(im.Name, im.Archive.Name); !ok || old.Manifest.Digest != x.Manifest.Digest {
		if err := r.beyond(im.Name); err != nil {
			return lock.Image{}, err
		}
	}
	// The layers go into the cache: the archive, which may be unpacked in a temporary file, need not stay open until
	// they are written.
	for _, l := range x.Layers {
		h, err := image.Hex(l.Digest)
		if err != nil {
			return lock.Image{}, err
		}
		if _, err := r.client.Get(ctx, fetch.Source{URL: im.Archive.Name, SHA256: h, Size: l.Size, What: im.Name,
			Local: src.Local(l.Digest)}); err != nil {
			return lock.Image{}, err
		}
	}
	return r.keep(x, im.Archive.Name)
}
