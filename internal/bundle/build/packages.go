package build

import (
	"bufio"
	"context"
	"errors"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/diff"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Versions are the families' rules.
func Versions() diff.Versions {
	return diff.Versions{diff.Deb: deb.Compare, diff.RPM: func(a, b string) int {
		return rpm.Compare(rpm.ParseEVR(a), rpm.ParseEVR(b))
	}}
}

const maxKeyring = 16 << 20 // bytes

// packages pins the packages. The question is what the spec says, and what lies beside it.
func (r *resolver) packages(ctx context.Context) error {
	if len(r.spec.Install) == 0 {
		return nil
	}
	var roots, local []string
	for _, p := range r.spec.Install {
		roots = append(roots, p.Name)
	}
	for _, x := range r.spec.Repositories {
		if x.Dir.Name == "" {
			continue
		}
		sum, err := sumOfTree(x.Dir.File)
		if err != nil {
			return fileFault(x.Dir, err)
		}
		local = append(local, sum)
	}
	var baseline []byte
	if r.spec.Closure == spec.Minus {
		var err error
		if baseline, err = readFile(r.spec.Baseline, maxAddon); err != nil {
			return err
		}
	}
	inputs, err := lock.Inputs(r.arch, r.spec.OS, r.spec.Repositories, roots, r.spec.Closure, sumOf(baseline), local)
	if err != nil {
		return err
	}
	if old := r.old.Packages; old != nil && old.Inputs == inputs {
		r.set.Packages = old
		return nil
	}
	if err := r.beyond("packages"); err != nil {
		return err
	}
	q := &question{resolver: r, roots: roots, baseline: baseline, unsigned: map[string]bool{},
		out: &lock.Packages{Inputs: inputs, Repositories: []lock.Repository{}, Packages: []lock.Package{}}}
	if r.spec.OS.Family == spec.RPM {
		err = q.rpms(ctx)
	} else {
		err = q.debs(ctx)
	}
	r.set.Packages = q.out
	return err
}

// keysNamed are the keys that the spec names so, for packages that are signed themselves.
func (p *plan) keysNamed(ctx context.Context, x lock.Package) (openpgp.EntityList, error) {
	p.keys.Lock()
	defer p.keys.Unlock()
	name := x.Keyring
	if k, ok := p.keys.by[name]; ok {
		return k, nil
	}
	for _, r := range p.spec.Repositories {
		if r.Keyring+r.KeyringFile.Name != name {
			continue
		}
		q := &question{resolver: &resolver{builder: p.builder, arch: p.arch, spec: p.spec, client: p.client,
			first: []*lock.Set{p.set}}, out: &lock.Packages{}}
		k, err := q.rpmKeys(ctx, r)
		if err == nil {
			p.keys.by[name] = k
		}
		return k, err
	}
	return nil, otherKeyring(x)
}

// question is what is asked of package repositories, and the answer.
type question struct {
	*resolver
	roots    []string
	baseline []byte
	// repositories whose signature, if they have one, is not what counts: the spec or the machine vouches
	unsigned map[string]bool
	out      *lock.Packages
}

// keyring reads the keys that a repository is held against: embedded ones, a file, or what its address gives, pinned by
// the lock.
func (q *question) keyring(ctx context.Context, r spec.Repository) ([]byte, error) {
	fail := func(err error) error {
		return event.NewFault(event.ClassUsage, "build.keyring", err, "keyring", r.Keyring+r.KeyringFile.Name,
			"repository", r.URL)
	}
	if name, ok := strings.CutPrefix(r.Keyring, "embedded:"); ok {
		data, err := assets.Keyring(name)
		if err != nil {
			return nil, fail(err)
		}
		return data, nil
	}
	if r.KeyringFile.Name != "" {
		data, err := os.ReadFile(r.KeyringFile.File)
		if err != nil {
			return nil, fail(errors.Unwrap(err))
		}
		return data, nil
	}
	blob, err := q.key(ctx, r.Keyring)
	if err != nil {
		return nil, err
	}
	return q.content(blob)
}

// key fetches keys by their address; what the lock pinned on first use counts.
func (q *question) key(ctx context.Context, address string) (fetch.Blob, error) {
	src := fetch.Source{URL: address, Size: -1, Limit: maxKeyring, What: "keys " + baseOf(address)}
	for _, set := range q.first {
		if set.Packages == nil || src.SHA256 != "" {
			continue
		}
		for _, k := range set.Packages.Repositories {
			if k.URL == address && k.Suite == "" {
				src.SHA256 = k.SHA256
			}
		}
	}
	if src.SHA256 == "" {
		if err := q.beyond(src.What); err != nil {
			return fetch.Blob{}, err
		}
	}
	blob, err := q.client.Get(ctx, src)
	if err != nil {
		return blob, otherThanFirst(err, "first-use")
	}
	if src.SHA256 == "" {
		q.warn(q.arch, event.M("build.warn.first-use", "file", src.What, "url", address, "sha256", blob.SHA256))
	}
	q.repository(lock.Repository{URL: address, SHA256: blob.SHA256})
	return blob, nil
}

func (q *question) repository(r lock.Repository) {
	if !slices.Contains(q.out.Repositories, r) {
		q.out.Repositories = append(q.out.Repositories, r)
	}
}

// chosen tells what the answer is.
func (q *question) chosen(known int) {
	var total int64
	for _, p := range q.out.Packages {
		total += p.Size
	}
	q.tell(Event{Kind: Resolved, Arch: q.arch, Packages: len(q.out.Packages), Known: known, Total: total})
}

// below is a path of a repository as a URL.
func below(repository, file string) (string, error) {
	u, err := url.Parse(repository)
	if err != nil {
		return "", err
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + strings.TrimPrefix(file, "./")
	return u.String(), nil
}

// fileName is a package's file in the bundle. A colon, which some archives have in names as %3a, is no part of a
// member's path.
func fileName(name string) string {
	return strings.NewReplacer("%3a", "_", "%3A", "_", ":", "_").Replace(path.Base(name))
}

// packageMembers are the members of the pinned packages and their repository's metadata.
func (p *plan) packageMembers() ([]content, error) {
	set := p.set.Packages
	if set == nil {
		return nil, nil
	}
	kind := bundle.Deb
	if p.spec.OS.Family == spec.RPM {
		kind = bundle.RPM
	}
	var out []content
	var metas []string
	for _, x := range set.Packages {
		src := fetch.Source{URL: x.URL, SHA256: x.SHA256, Size: x.Size, What: x.Name + " " + x.Version}
		if name, ok := strings.CutPrefix(x.URL, "file:"); ok {
			src.Local = p.localPackage(name)
		}
		file, err := memberName(kind, x)
		if err != nil {
			return nil, err
		}
		m := bundle.Member{Path: layoutOf(p.spec).Place(kind, file), Kind: kind, Name: x.Name, Version: x.Version,
			Source: x.URL,
			Size:   x.Size, SHA256: x.SHA256}
		if i := slices.IndexFunc(p.spec.Install, func(r bundle.Package) bool { return r.Name == x.Name }); i >= 0 {
			m.Roles = p.spec.Install[i].Roles
		}
		metas = append(metas, x.Meta)
		out = append(out, content{member: m, source: &src, check: func(ctx context.Context, p *plan) error {
			return p.checkPackage(ctx, kind, x)
		}})
	}
	files, err := metadata(kind, metas)
	if err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(files) {
		data := append([]byte{}, files[name]...) // not nil, also where the baseline has every package
		out = append(out, content{data: data, member: bundle.Member{Path: layoutOf(p.spec).Place(bundle.Metadata, name),
			Kind: bundle.Metadata,
			Name: map[bundle.Kind]string{bundle.Deb: "apt", bundle.RPM: "dnf"}[kind], Size: int64(len(data)),
			SHA256: sumOf(data)}})
	}
	return out, nil
}

// memberName is the package's file in the bundle, where its metadata says it is.
func memberName(kind bundle.Kind, x lock.Package) (string, error) {
	if kind == bundle.Deb {
		return fileName(baseOf(x.URL)), nil
	}
	p, err := rpm.PackageOfMeta(x.Meta)
	if err != nil {
		return "", err
	}
	return p.File(), nil
}

// metadata is what the node's own package manager chooses from.
func metadata(kind bundle.Kind, metas []string) (map[string][]byte, error) {
	if kind == bundle.RPM {
		return rpm.RepodataFromMetas(metas)
	}
	data, err := deb.PackagesFromMetas(metas)
	return map[string][]byte{spec.PackagesName: data}, err
}

// checkPackage holds a fetched package against what its repository said: a repository that signs its metadata vouches
// for a sum, and rpms are signed themselves.
func (p *plan) checkPackage(ctx context.Context, kind bundle.Kind, x lock.Package) error {
	f, err := p.Cache.File(fetch.Blob{SHA256: x.SHA256, Size: x.Size})
	if err != nil {
		return err
	}
	defer f.Close()
	if kind == bundle.RPM {
		return p.checkRPM(ctx, f, x)
	}
	want, err := deb.CheckMeta(x.Meta, fileName(baseOf(x.URL)), x.SHA256, x.Size)
	if err != nil {
		return err
	}
	// One at a time, and what it needed is given back at once: xz reserves a dictionary of 8 MB for a control file of a
	// kilobyte, and forty packages later the collector would let the heap be twice as large for it (98 MB at the peak
	// instead of 63).
	p.debs.Lock()
	defer p.debs.Unlock()
	defer runtime.GC()
	return deb.CheckDeb(bufio.NewReader(f), want)
}

func sortedKeys(m map[string][]byte) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
