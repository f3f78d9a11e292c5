package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// PushOptions say how images are named at the target.
type PushOptions struct {
	// KeepHost puts upstream's host before the path: TARGET/registry.k8s.io/pause:3.10 instead of TARGET/pause:3.10.
	KeepHost bool
	// Index gives the bytes of an upstream index by digest, nil if they are not at hand; may be nil. With them, and all
	// its platforms among what is pushed, the target has upstream's own digest.
	Index func(digest string) []byte
	// Progress may be nil; it is called from several goroutines.
	Progress func(PushProgress)
	Jobs     int // blobs at once; 0 means 4
}

// PushProgress tells of one blob or manifest: Done of Total bytes. At its end one of the last three is set. What is
// tried again is told to Options.Retry.
type PushProgress struct {
	Target string // repository
	Digest string
	Done   int64
	Total  int64

	Uploaded bool
	Present  bool // the target had it
	Mounted  bool // the target took it over from another of its repositories
}

// Pushed is a tag, or a digest without one, as the target has it now.
type Pushed struct {
	Name      string // in the bundle
	Target    string // what to write in its place
	Digest    string // of the index, or of the manifest if there is one platform
	Platforms []string
	// Lost are names of the bundle that pin a digest which the target cannot have: an upstream index whose bytes or
	// platforms are not at hand.
	Lost []string
}

// PushResult is sorted by name. Bytes were uploaded.
type PushResult struct {
	Images   []Pushed
	Uploaded int
	Present  int
	Mounted  int
	Bytes    int64
}

// Push copies the images of archives, one or more for each architecture, to a registry: target is host[:port][/prefix].
// Blobs that are there are not sent again, one that another repository of the target got is mounted from it, and an
// upload that breaks goes on where the registry lets it. Manifests keep their digests. The manifests of several
// architectures under one name become an index under its tag (docker's list if all are docker's); a single one is
// tagged itself. A second run sends nothing.
//
// Faults beside those of Resolve: "registry.target" (class usage), "registry.push-collision" (two names become one),
// "registry.push".
func (c *Client) Push(ctx context.Context, archives []*image.Archive, target string, o PushOptions) (*PushResult,
	error) {
	if o.Jobs == 0 {
		o.Jobs = 4
	}
	if o.Progress == nil {
		o.Progress = func(PushProgress) {}
	}
	host, prefix, _ := strings.Cut(strings.TrimSuffix(target, "/"), "/")
	if prefix != "" {
		prefix += "/"
	}
	plan, err := planPush(archives, prefix, o.KeepHost)
	if err != nil {
		return nil, err
	}
	p := &pusher{c: c, o: o, host: host, res: &PushResult{}}
	for _, r := range plan {
		if r.name, err = p.repository(r.path); err != nil {
			return nil, event.NewFault(event.ClassUsage, "registry.target", err, "target", target)
		}
	}
	if err := p.blobs(ctx, plan); err != nil {
		return nil, err
	}
	if err := p.manifests(ctx, plan); err != nil {
		return nil, err
	}
	slices.SortFunc(p.res.Images, func(a, b Pushed) int { return strings.Compare(a.Name, b.Name) })
	return p.res, nil
}

// repository is one of the target with all that goes there.
type repository struct {
	path      string
	name      name.Repository
	blobs     map[string]part // layers and configurations
	manifests map[string]part
	tags      map[string]*tag
	digests   map[string]string // upstream's digest → the name that pins it
	shared    []string          // scopes of the repositories that blobs may be mounted from
}

type part struct {
	archive *image.Archive
	desc    image.Descriptor
}

// tag has a manifest for each platform.
type tag struct {
	name      string
	platforms map[string]image.Descriptor
	aliases   []string // digests that the same image is pinned by
}

type pusher struct {
	c    *Client
	o    PushOptions
	host string

	mu  sync.Mutex
	res *PushResult
}

func (p *pusher) repository(path string) (name.Repository, error) {
	repo, err := p.c.repository(p.host, path)
	if err != nil {
		return repo, err
	}
	_, err = image.ParseName(p.host + "/" + path + ":x")
	if err == nil && !strings.ContainsAny(p.host, ".:") && p.host != "localhost" {
		err = fmt.Errorf("%q is not a registry's host", p.host)
	}
	return repo, err
}

// planPush sorts the images into the repositories of the target, by path.
func planPush(archives []*image.Archive, prefix string, keepHost bool) ([]*repository, error) {
	repos, owner := map[string]*repository{}, map[string]string{}
	for _, a := range archives {
		for _, im := range a.Images() {
			for _, n := range im.Names {
				ref, err := image.ParseName(n)
				if err != nil {
					return nil, event.NewFault(event.ClassUsage, "image.name", err, "image", n)
				}
				path := ref.Path
				if keepHost {
					path = strings.NewReplacer(":", "-", "[", "", "]", "").Replace(ref.Host) + "/" + path
				}
				path = prefix + path
				if old, ok := owner[path]; ok && old != ref.Repository() {
					return nil, event.NewFault(event.ClassUsage, "registry.push-collision", nil, "image",
						ref.Repository(), "other", old, "target", path)
				}
				owner[path] = ref.Repository()
				r := repos[path]
				if r == nil {
					r = &repository{path: path, blobs: map[string]part{}, manifests: map[string]part{},
						tags: map[string]*tag{}, digests: map[string]string{}}
					repos[path] = r
				}
				if err := r.add(a, im, n, ref); err != nil {
					return nil, err
				}
			}
		}
	}
	var out []*repository
	for _, path := range slices.Sorted(maps.Keys(repos)) {
		out = append(out, repos[path])
	}
	return out, nil
}

func (r *repository) add(a *image.Archive, im image.Image, name string, ref image.Ref) error {
	for _, b := range append([]image.Descriptor{im.Config}, im.Layers...) {
		r.blobs[b.Digest] = part{a, b}
	}
	r.manifests[im.Manifest.Digest] = part{a, im.Manifest}
	if ref.Digest != "" {
		r.digests[ref.Digest] = name
		return nil
	}
	t := r.tags[ref.Tag]
	if t == nil {
		t = &tag{name: name, platforms: map[string]image.Descriptor{}}
		r.tags[ref.Tag] = t
	}
	for _, n := range im.Names {
		if other, err := image.ParseName(n); err == nil && other.Digest != "" &&
			other.Repository() == ref.Repository() {
			t.aliases = append(t.aliases, other.Digest)
		}
	}
	d := im.Manifest
	d.Platform = &im.Platform
	key := im.Platform.String()
	if old, ok := t.platforms[key]; ok && old.Digest != d.Digest {
		return event.NewFault(event.ClassUsage, "registry.push-platform", nil, "image", name, "platform", key, "digest",
			old.Digest, "other", d.Digest)
	}
	t.platforms[key] = d
	return nil
}

// job is a blob for a repository; from is the one that got it before.
type job struct {
	to, from *repository
	part     part
}

// blobs uploads each blob once, largest first, and then gives it to the other repositories that need it.
func (p *pusher) blobs(ctx context.Context, plan []*repository) error {
	first := map[string]*repository{}
	var upload, mount []job
	for _, r := range plan {
		for _, d := range slices.Sorted(maps.Keys(r.blobs)) {
			j := job{to: r, from: first[d], part: r.blobs[d]}
			if j.from == nil {
				first[d] = r
				upload = append(upload, j)
				continue
			}
			mount = append(mount, j)
			if s := j.from.name.Scope("pull"); !slices.Contains(r.shared, s) {
				r.shared = append(r.shared, s)
			}
		}
	}
	slices.SortStableFunc(upload, func(a, b job) int { return int(min(max(b.part.desc.Size-a.part.desc.Size, -1), 1)) })
	for _, jobs := range [][]job{upload, mount} {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(p.o.Jobs)
		for _, j := range jobs {
			g.Go(func() error { return p.blob(ctx, j) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *pusher) session(r *repository) *session {
	return p.c.session(r.name, append([]string{r.name.Scope("push,pull")}, r.shared...)...)
}

// manifests are pushed by their digests when all blobs are there, then the tags.
func (p *pusher) manifests(ctx context.Context, plan []*repository) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.o.Jobs)
	for _, r := range plan {
		g.Go(func() error {
			for _, d := range slices.Sorted(maps.Keys(r.manifests)) {
				if err := p.manifest(ctx, r, r.manifests[d]); err != nil {
					return err
				}
			}
			return p.tags(ctx, r)
		})
	}
	return g.Wait()
}

func (p *pusher) manifest(ctx context.Context, r *repository, m part) error {
	s, err := m.archive.Section(m.desc.Digest)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(s, maxDocument))
	if err != nil {
		return err
	}
	if got := sum(raw); got != m.desc.Digest {
		return event.NewFault(event.ClassBundle, "image.blob-wrong", nil, "image", r.path, "blob", m.desc.Digest, "got",
			got)
	}
	return p.putManifest(ctx, r, m.desc.Digest, m.desc.MediaType, raw)
}

// tags puts the indexes together and tags them.
func (p *pusher) tags(ctx context.Context, r *repository) error {
	have := map[string]bool{}
	for d := range r.manifests {
		have[d] = true
	}
	told := map[string]bool{}
	var done []*Pushed
	for _, t := range slices.Sorted(maps.Keys(r.tags)) {
		out, aliases, err := p.tag(ctx, r, t, have)
		if err != nil {
			return err
		}
		done = append(done, out)
		for _, d := range aliases {
			told[d] = true
			if n := r.digests[d]; n != "" && !slices.Contains(out.Lost, n) {
				out.Lost = append(out.Lost, n)
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(r.digests)) {
		if have[d] && !told[d] {
			done = append(done, &Pushed{Name: r.digests[d], Target: p.host + "/" + r.path + "@" + d, Digest: d,
				Platforms: []string{}})
		} else if !told[d] {
			done = append(done, &Pushed{Name: r.digests[d], Platforms: []string{}, Lost: []string{r.digests[d]}})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range done {
		d.Lost = slices.DeleteFunc(d.Lost, func(n string) bool {
			ref, err := image.ParseName(n)
			return err == nil && have[ref.Digest]
		})
		p.res.Images = append(p.res.Images, *d)
	}
	return nil
}

// tag pushes one; have gets the digest that it ends up with.
func (p *pusher) tag(ctx context.Context, r *repository, id string, have map[string]bool) (*Pushed, []string, error) {
	t := r.tags[id]
	if err := p.merge(ctx, r, t, id); err != nil {
		return nil, nil, err
	}
	out := &Pushed{Name: t.name, Target: p.host + "/" + r.path + ":" + id}
	out.Platforms = slices.Sorted(maps.Keys(t.platforms))
	slices.Sort(t.aliases)
	aliases := slices.Compact(t.aliases)
	mediaType, raw, err := p.top(r, t, out.Platforms, aliases)
	if err != nil {
		return nil, nil, err
	}
	out.Digest = sum(raw)
	have[out.Digest] = true
	return out, aliases, p.putManifest(ctx, r, id, mediaType, raw)
}

// top is what the tag shall point to: upstream's index if it can be had, the only manifest, or an index of ours.
func (p *pusher) top(r *repository, t *tag, platforms, aliases []string) (mediaType string, raw []byte, err error) {
	if p.o.Index != nil {
		for _, d := range aliases {
			raw := p.o.Index(d)
			if raw == nil || sum(raw) != d {
				continue
			}
			mediaType, isIndex, err := image.Kind(t.name, raw, "")
			if err == nil && isIndex && r.complete(raw) {
				return mediaType, raw, nil
			}
		}
	}
	list := manifestList{SchemaVersion: 2, MediaType: dockerList}
	for _, key := range platforms {
		d := t.platforms[key]
		if len(platforms) == 1 {
			s, err := r.manifests[d.Digest].archive.Section(d.Digest)
			if err != nil {
				return "", nil, err
			}
			raw, err := io.ReadAll(s)
			return d.MediaType, raw, err
		}
		if d.MediaType != dockerManifest {
			list.MediaType = ociIndex
		}
		list.Manifests = append(list.Manifests, d)
	}
	raw, err = json.Marshal(list)
	return list.MediaType, raw, err
}

const (
	ociIndex       = "application/vnd.oci.image.index.v1+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
)

type manifestList struct {
	SchemaVersion int                `json:"schemaVersion"`
	MediaType     string             `json:"mediaType"`
	Manifests     []image.Descriptor `json:"manifests"`
}

// complete says whether all children of an index are there: registries refuse it otherwise.
func (r *repository) complete(raw []byte) bool {
	var l manifestList
	if json.Unmarshal(raw, &l) != nil {
		return false
	}
	for _, d := range l.Manifests {
		if _, ok := r.manifests[d.Digest]; !ok {
			return false
		}
	}
	return len(l.Manifests) > 0
}

// isFault unwraps a fault of ours.
func isFault(err error) (*event.Fault, bool) {
	f := (*event.Fault)(nil)
	return f, errors.As(err, &f)
}
