package build

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ulikunitz/xz"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/event"
)

const (
	maxRelease  = 32 << 20  // bytes of an InRelease file
	maxPackages = 512 << 20 // bytes of an unpacked Packages file
)

// packages resolves and fetches the packages of one architecture.
func (b *arch) packages(ctx context.Context) error {
	if len(b.spec.Install) == 0 {
		return nil
	}
	idx := deb.NewIndex(b.name)
	for _, r := range b.spec.Repositories {
		keys, err := b.keyring(r)
		if err != nil {
			return err
		}
		for _, suite := range r.Suites {
			if err := b.suite(ctx, idx, r, suite, keys); err != nil {
				return err
			}
		}
	}
	var roots []string
	for _, p := range b.spec.Install {
		roots = append(roots, p.Name)
	}
	chosen, err := idx.Closure(roots)
	if err != nil {
		return err
	}
	var total int64
	for _, p := range chosen {
		total += p.Size
	}
	b.report(Event{Kind: Resolved, Arch: b.name, Packages: len(chosen), Known: idx.Len(), Total: total})
	files := map[string]string{}
	for _, p := range chosen {
		if other, ok := files[strings.ToLower(memberName(p))]; ok {
			return event.NewFault(event.ClassFailed, "build.same-file", nil, "file", memberName(p), "package", p.String(), "other", other)
		}
		files[strings.ToLower(memberName(p))] = p.String()
		if err := b.deb(ctx, p); err != nil {
			return err
		}
	}
	return b.flatMetadata(chosen)
}

// memberName is the package's file in the bundle. A colon, which some archives have in names as %3a, is no part of a member's path.
func memberName(p *deb.Package) string {
	return strings.NewReplacer("%3a", "_", "%3A", "_", ":", "_").Replace(p.File())
}

func (b *arch) keyring(r spec.Repository) (openpgp.EntityList, error) {
	var data []byte
	var err error
	if name, ok := strings.CutPrefix(r.Keyring, "embedded:"); ok {
		data, err = assets.Keyring(name)
	} else {
		data, err = os.ReadFile(r.KeyringFile.File)
	}
	var keys openpgp.EntityList
	if err == nil {
		keys, err = deb.ReadKeyring(data)
	}
	if err == nil && len(keys) == 0 {
		err = errors.New("no keys in it")
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "build.keyring", err, "keyring", r.Keyring, "repository", r.URL)
	}
	return keys, nil
}

// suite reads the signed metadata of a suite's components into the index.
func (b *arch) suite(ctx context.Context, idx *deb.Index, r spec.Repository, suite string, keys openpgp.EntityList) error {
	base := r.URL + "/dists/" + suite + "/"
	blob, err := b.client.Get(ctx, fetch.Source{URL: base + "InRelease", Size: -1, Limit: maxRelease, What: suite + " InRelease"})
	if err != nil {
		return err
	}
	data, err := b.readAll(blob)
	if err != nil {
		return err
	}
	rel, err := deb.ParseRelease(data, keys, suite, b.name, b.opts.Now(), r.IgnoreExpiry)
	if err != nil {
		return err
	}
	if r.IgnoreExpiry {
		b.warn(event.M("build.warn.expiry", "suite", suite))
	}
	b.lock.Repositories = append(b.lock.Repositories, LockRepository{URL: r.URL, Suite: suite, SHA256: blob.SHA256})
	for _, c := range r.Components {
		if err := b.component(ctx, idx, rel, base, r.URL, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *arch) component(ctx context.Context, idx *deb.Index, rel *deb.Release, base, repository, component string) error {
	file, byHash, e, unpacked, err := rel.PackagesFile(component, b.name)
	if err != nil {
		return err
	}
	src := fetch.Source{URL: base + file, SHA256: e.SHA256, Size: e.Size, What: rel.Codename + "/" + component + " Packages"}
	var blob fetch.Blob
	if byHash != "" {
		s := src
		s.URL = base + byHash
		if blob, err = b.client.Get(ctx, s); err != nil && event.AsFault(err).Code == "fetch.not-found" {
			byHash = ""
		}
	}
	if byHash == "" {
		blob, err = b.client.Get(ctx, src)
	}
	if err != nil {
		return err
	}
	f, err := b.client.Cache.Open(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := decompress(bufio.NewReaderSize(f, 256<<10), file) // xz reads byte by byte
	if err != nil {
		return event.NewFault(event.ClassFailed, "deb.packages", err, "repository", base+file)
	}
	limit := int64(maxPackages)
	if unpacked > 0 {
		limit = min(limit, unpacked)
	}
	capped := &cappedReader{r: plain, left: limit}
	if err := idx.Add(capped, repository); err != nil {
		return err
	}
	// To the end, so that the sum of the whole file was checked.
	if _, err := io.Copy(io.Discard, f); err != nil {
		return err
	}
	return nil
}

func decompress(r io.Reader, name string) (io.Reader, error) {
	switch {
	case strings.HasSuffix(name, ".xz"):
		return xz.NewReader(r)
	case strings.HasSuffix(name, ".gz"):
		return gzip.NewReader(r)
	}
	return r, nil
}

// cappedReader fails beyond its limit, where io.LimitReader would end in silence.
type cappedReader struct {
	r    io.Reader
	left int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errors.New("larger than the Release file says")
	}
	return n, err
}

func (b *arch) readAll(blob fetch.Blob) ([]byte, error) {
	f, err := b.client.Cache.Open(blob)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (b *arch) deb(ctx context.Context, p *deb.Package) error {
	u, err := url.Parse(p.Repository)
	if err != nil {
		return err
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + strings.TrimPrefix(p.Filename, "./")
	src := fetch.Source{URL: u.String(), SHA256: p.SHA256, Size: p.Size, What: p.String()}
	if _, err := b.client.Get(ctx, src); err != nil {
		return err
	}
	m := bundle.Member{Path: memberName(p), Kind: bundle.Deb, Name: p.Name, Version: p.Version, Source: u.String(), Size: p.Size, SHA256: p.SHA256}
	if i := slices.IndexFunc(b.spec.Install, func(x bundle.Package) bool { return x.Name == p.Name }); i >= 0 {
		m.Roles = b.spec.Install[i].Roles
	}
	b.members = append(b.members, m)
	b.lock.Packages = append(b.lock.Packages, LockFile{Name: p.Name, Version: p.Version, URL: m.Source, SHA256: p.SHA256, Size: p.Size, Trust: "metadata"})
	return nil
}

// flatMetadata makes the Packages file that the node's apt chooses from.
func (b *arch) flatMetadata(chosen []*deb.Package) error {
	var text bytes.Buffer
	if err := deb.WritePackages(&text, chosen, memberName); err != nil {
		return err
	}
	blob, err := b.client.Cache.Put(&text, int64(text.Len()))
	if err != nil {
		return err
	}
	b.members = append(b.members, bundle.Member{Path: spec.PackagesName, Kind: bundle.Metadata, Name: "apt", Size: blob.Size, SHA256: blob.SHA256})
	for _, p := range b.spec.Install {
		b.install = append(b.install, bundle.Package{Name: p.Name, Roles: p.Roles})
	}
	if len(b.members) > bundle.MaxMembers {
		return event.NewFault(event.ClassFailed, "bundle.manifest", fmt.Errorf("%d members", len(b.members)), "file", bundle.ManifestName)
	}
	return nil
}
