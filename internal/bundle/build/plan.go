package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/pack"
	"github.com/eggo-k8s/eggo/internal/bundle/sbom"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func sumOf(data []byte) string { h := sha256.Sum256(data); return hex.EncodeToString(h[:]) }

// content is a member and where its bytes come from: they are here already, or from a source that goes straight to its
// place, or get brings them into the cache.
type content struct {
	member bundle.Member
	data   []byte
	source *fetch.Source
	get    func(ctx context.Context, p *plan) error
	check  func(ctx context.Context, p *plan) error // of what was fetched, before the bundle gets its name
}

// plan is a bundle of which every byte's place is known.
type plan struct {
	*builder
	arch     string
	client   *fetch.Client
	spec     *spec.Spec
	set      *lock.Set
	manifest *bundle.Manifest
	base     *bundle.Manifest // of a difference
	text     []byte
	file     string
	layout   *pack.Layout
	contents map[string][]content // by sha256: what the bundle carries; two members may be the same bytes
	blobs    map[string]fetch.Source
	images   []image.Image
	pinned   map[string][]lock.Image // by the sha256 of their manifests
	debs     sync.Mutex              // held while one is looked into
	keys     struct {
		sync.Mutex
		by map[string]openpgp.EntityList // by their names in the spec
	}
}

func layoutOf(s *spec.Spec) bundle.Layout {
	if s.Layout == "typed" {
		return bundle.Typed
	}
	return bundle.Flat
}

// plan lays out the bundle of one architecture. It follows from spec and lock alone; the addons are read.
func (b *builder) plan(ctx context.Context, arch string, set *lock.Set) (*plan, error) {
	full, err := b.specFor(arch)
	if err != nil {
		return nil, err
	}
	p := &plan{builder: b, arch: arch, client: b.client(arch), spec: full, set: set, contents: map[string][]content{},
		blobs: map[string]fetch.Source{}, pinned: map[string][]lock.Image{}}
	p.keys.by = map[string]openpgp.EntityList{}
	p.file = filepath.Join(b.Out, p.spec.Name+"-"+arch+".tar.gz")
	packages, err := p.packageMembers()
	if err != nil {
		return nil, err
	}
	list := append(packages, p.fileMembers()...)
	list = append(list, b.addonMembers(p.spec, set)...)
	members, images, err := p.imageList()
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		members = append(members, c.member)
		p.contents[c.member.SHA256] = append(p.contents[c.member.SHA256], c)
	}
	m := &bundle.Manifest{Name: p.spec.Name, Arch: arch, Layout: layoutOf(p.spec), Kubernetes: p.spec.Kubernetes,
		OS: p.spec.OS, Members: members, Images: images, Adopted: b.Adopted,
		Install: []bundle.Package{}}
	for _, x := range p.spec.Install {
		if b.Adopted != nil && len(x.Roles) == 0 {
			continue // it is there for others that need it, and for lists of deploy.yaml
		}
		m.Install = append(m.Install, bundle.Package{Name: x.Name, Roles: x.Roles})
	}
	if err := p.bill(m); err != nil {
		return nil, err
	}
	order(m.Members)
	m.Format = m.NeededFormat()
	if err := p.lint(ctx, m); err != nil {
		return nil, err
	}
	p.manifest = m
	if err := p.difference(); err != nil {
		return nil, err
	}
	if p.text, err = bundle.EncodeManifest(p.manifest); err != nil {
		return nil, failed(err)
	}
	p.layout, err = p.places()
	return p, err
}

// bill adds the bill of materials, made of everything but itself.
func (p *plan) bill(m *bundle.Manifest) error {
	var b bytes.Buffer
	order(m.Members)
	if err := sbom.Write(&b, m, p.origins(m), p.epoch()); err != nil {
		return err
	}
	e := bundle.Member{Path: bundle.SBOMName, Kind: bundle.SBOM, Name: bundle.SBOMName, Size: int64(b.Len()),
		SHA256: sumOf(b.Bytes())}
	m.Members = append(m.Members, e)
	p.contents[e.SHA256] = append(p.contents[e.SHA256], content{member: e, data: b.Bytes()})
	return nil
}

// holder is the one of the contents with the sum that has what is asked for.
func (p *plan) holder(sha256 string, has func(content) bool) (content, bool) {
	i := slices.IndexFunc(p.contents[sha256], has)
	if i < 0 {
		return content{}, false
	}
	return p.contents[sha256][i], true
}

func hasData(c content) bool   { return c.data != nil }
func hasSource(c content) bool { return c.source != nil }
func hasGet(c content) bool    { return c.get != nil }

// origins are the charts and archives that members were made of.
func (p *plan) origins(m *bundle.Manifest) []sbom.Origin {
	var out []sbom.Origin
	for _, e := range m.Members {
		for i, a := range p.set.Addons {
			chart := p.spec.Addons[i].Chart
			if chart != nil && e.Kind == bundle.Addon &&
				slices.ContainsFunc(a.Files, func(f lock.AddonFile) bool { return f.SHA256 == e.SHA256 }) {
				out = append(out, sbom.Origin{Member: e.Path, Name: chart.Release, Version: chart.Version,
					Source: a.URL, SHA256: a.SHA256})
			}
		}
		for _, f := range p.set.Files {
			if slices.ContainsFunc(f.Picked, func(k lock.Picked) bool { return k.SHA256 == e.SHA256 }) {
				out = append(out, sbom.Origin{Member: e.Path, Name: f.Name, Version: f.Version, Source: f.URL,
					SHA256: f.SHA256})
			}
		}
	}
	return out
}

func (b *builder) epoch() time.Time {
	if b.Epoch.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return b.Epoch.UTC().Truncate(time.Second)
}

// imageList gives the member images.tar and the manifest's list, and notes where the blobs are.
func (p *plan) imageList() ([]bundle.Member, []bundle.Image, error) {
	list := []bundle.Image{}
	wanted, _, err := wanted(p.spec, p.set.Addons)
	if err != nil {
		return nil, nil, err
	}
	names, at := namesOf(p.set.Images), map[string]int{}
	for i, li := range p.set.Images {
		im := image.Image{Names: names[i], Platform: image.Platform{OS: "linux", Architecture: p.arch,
			Variant: li.Variant}, Manifest: descriptorOf(li.Manifest),
			Config: descriptorOf(li.Config)}
		var layers []string
		for _, l := range li.Layers {
			im.Layers = append(im.Layers, descriptorOf(l))
			layers = append(layers, l.Digest)
		}
		p.images = append(p.images, im)
		if err := p.imageSources(li, im); err != nil {
			return nil, nil, err
		}
		for _, n := range names[i] {
			if k, ok := at[n]; ok && list[k].Digest == li.Manifest.Digest { // two spellings of one image
				list[k].Roles = union(list[k].Roles, wanted[i].Roles)
				continue
			}
			at[n] = len(list)
			list = append(list, bundle.Image{Name: n, Digest: li.Manifest.Digest, Size: im.Size(),
				Roles: wanted[i].Roles, Platform: "linux/" + p.arch,
				Index: li.Index, Layers: layers})
		}
	}
	if len(p.images) == 0 {
		return nil, list, nil
	}
	layout, err := image.Plan(p.images)
	if err != nil {
		return nil, nil, err
	}
	return []bundle.Member{{Path: layoutOf(p.spec).Place(bundle.Images, bundle.ImagesName), Kind: bundle.Images,
		Name: "images", Size: layout.Size()}}, list, nil
}

// namesOf are the names of each image in images.tar. One that was asked for by a digest has its tag as well, but not
// where that is the name of another image: who writes both looks it up by the digest.
func namesOf(images []lock.Image) [][]string {
	byDigest := func(im lock.Image) bool { return strings.Contains(im.Name, "@") }
	owner := map[string]string{}
	for _, pinned := range []bool{false, true} {
		for _, im := range images {
			for _, n := range im.Names {
				if _, taken := owner[n]; !taken && byDigest(im) == pinned {
					owner[n] = im.Manifest.Digest
				}
			}
		}
	}
	out := make([][]string, len(images))
	for i, im := range images {
		for _, n := range im.Names {
			if owner[n] == im.Manifest.Digest || image.IsDigestName(n) || !byDigest(im) {
				out[i] = append(out[i], n)
			}
		}
	}
	return out
}

func union(a, b []bundle.Role) []bundle.Role {
	out := slices.Clone(a)
	for _, r := range b {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// imageSources notes where the blobs of an image are. One of an archive was put into the cache when it was resolved.
func (p *plan) imageSources(li lock.Image, im image.Image) error {
	for i, d := range append([]image.Descriptor{im.Manifest, im.Config}, im.Layers...) {
		h, err := image.Hex(d.Digest)
		if err != nil {
			return err
		}
		what := li.Name
		if i > 1 && len(im.Layers) > 1 {
			what += " " + number(i-1) + "/" + number(len(im.Layers))
		}
		if i == 0 {
			p.pinned[h] = append(p.pinned[h], li)
		}
		src := fetch.Source{URL: li.Source, SHA256: h, Size: d.Size, What: what}
		switch {
		case li.Source != "":
			src.Local = func(int64) (io.ReadCloser, error) {
				return nil, event.NewFault(event.ClassFailed, "build.gone", nil, "what", li.Name)
			}
		case i == 0:
			src, err = p.registry.ManifestSource(li.Name, d, what)
		default:
			src, err = p.registry.BlobSource(li.Name, d, what)
		}
		if err != nil {
			return err
		}
		p.blobs[h] = src
	}
	return nil
}

// fileMembers are the members of the pinned programs and files.
func (p *plan) fileMembers() []content {
	var out []content
	all := append(slices.Clone(p.spec.Binaries), p.spec.Files...)
	for i, f := range p.set.Files {
		x, kind := all[i], bundle.Binary
		if i >= len(p.spec.Binaries) {
			kind = bundle.ExtraFile
		}
		title := func(name string) string { return name }
		if x.Dir != "" {
			kind, title = bundle.ExtraDir, func(string) string { return x.Dir }
		}
		add := func(name, sum string, size int64) {
			out = append(out, content{
				member: bundle.Member{Path: layoutOf(p.spec).Place(kind, name), Kind: kind, Name: title(name),
					Version: x.Version, Source: x.URL, Size: size, SHA256: sum,
					Roles: x.Roles, Dst: x.Dst, Mode: x.Mode},
				get: func(ctx context.Context, p *plan) error { return p.bring(ctx, x, f) },
			})
		}
		if len(f.Picked) == 0 {
			add(f.Name, f.SHA256, f.Size)
		}
		for _, k := range f.Picked {
			add(k.Name, k.SHA256, k.Size)
		}
	}
	return out
}

// bring gets a pinned download into the cache, and what is picked from it.
func (p *plan) bring(ctx context.Context, x spec.Binary, f lock.File) error {
	blob := fetch.Blob{SHA256: f.SHA256, Size: f.Size}
	if x.URL == "" {
		got, err := (&resolver{builder: p.builder}).local(x.Path, maxProgram)
		if err != nil || got != blob {
			return changed(err, x.Path.File)
		}
	} else if _, err := p.client.Get(ctx, fetch.Source{URL: f.URL, SHA256: f.SHA256, Size: f.Size,
		What: f.Name}); err != nil {
		return err
	}
	missing := slices.ContainsFunc(f.Picked, func(k lock.Picked) bool {
		_, ok := p.Cache.Find(k.SHA256, k.Size)
		return !ok
	})
	if !missing {
		return nil
	}
	picked, err := p.pick(ctx, f.URL, f.Name, x.Pick, blob)
	if err != nil {
		return err
	}
	for _, k := range f.Picked {
		if got := picked[k.Member]; got.SHA256 != k.SHA256 {
			return event.NewFault(event.ClassFailed, "fetch.sum-mismatch", nil, "url", f.URL, "what", k.Name, "got",
				got.SHA256, "want", k.SHA256)
		}
	}
	return nil
}

func changed(err error, file string) error {
	if err != nil {
		return err
	}
	return event.NewFault(event.ClassFailed, "build.changed", nil, "file", file)
}

// order sorts the members as the archive has them: what does not shrink first, so that its place is known before it is
// fetched, then what is compressed; each sorted by path, images.tar at the end of the first part.
func order(members []bundle.Member) {
	rank := func(m bundle.Member) int {
		switch m.Kind {
		case bundle.Deb, bundle.RPM:
			return 0
		case bundle.Images:
			return 1
		}
		return 2
	}
	sort.SliceStable(members, func(i, j int) bool {
		a, b := members[i], members[j]
		if rank(a) != rank(b) {
			return rank(a) < rank(b)
		}
		return a.Path < b.Path
	})
}

// stored says whether a member stands in the part of the archive that is not compressed.
func stored(k bundle.Kind) bool { return k == bundle.Deb || k == bundle.RPM || k == bundle.Images }

// places gives every member its place in the file.
func (p *plan) places() (*pack.Layout, error) {
	members := []pack.Member{
		{Path: bundle.ManifestName, Stored: true, Parts: []pack.Part{{Data: p.text}}},
		{Path: bundle.SumsName, Stored: true, Parts: []pack.Part{{Data: bundle.SumsText(p.text, p.manifest)}}},
	}
	images := ""
	for _, e := range p.manifest.Members {
		m := pack.Member{Path: e.Path, Mode: e.Mode, Stored: stored(e.Kind)}
		switch c, here := p.holder(e.SHA256, hasData); {
		case e.From == bundle.FromBase:
			continue
		case e.Kind == bundle.Images:
			parts, _, err := p.imageArchive()
			if err != nil {
				return nil, err
			}
			m.Parts, images = parts, e.Path
		case here:
			m.Parts = []pack.Part{{Data: c.data}}
		default:
			m.Parts = []pack.Part{{SHA256: e.SHA256, Size: e.Size}}
		}
		members = append(members, m)
	}
	if images != "" {
		// The last member is the sum that images.tar turns out to have.
		text := string(p.manifest.ImagesSumText(strings.Repeat("0", 64)))
		members = append(members, pack.Member{Path: bundle.ImagesSumName, Stored: len(p.manifest.Members) > 0 &&
			!p.deflates(),
			Parts: []pack.Part{{SumOf: images}, {Data: []byte(strings.TrimLeft(text, "0"))}}})
	}
	return pack.Plan(members, p.epoch())
}

// deflates says whether anything before the last member is compressed; the compressed part begins with the first such
// member.
func (p *plan) deflates() bool {
	return slices.ContainsFunc(p.manifest.Members,
		func(e bundle.Member) bool { return e.From == "" && !stored(e.Kind) })
}

// baseOf is the last element of a URL's path, or of that of a file beside the spec, which is written as it is.
func baseOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "file" {
		address = u.Path
	}
	return address[strings.LastIndexByte(address, '/')+1:]
}
