package build

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ulikunitz/xz"

	"github.com/eggo-k8s/eggo/internal/bundle/deb"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	maxRelease  = 32 << 20  // bytes of an InRelease file
	maxPackages = 512 << 20 // bytes of an unpacked Packages file
)

// debs asks repositories of the Debian family.
func (q *question) debs(ctx context.Context) error {
	idx := deb.NewIndex(q.arch)
	for _, r := range q.spec.Repositories {
		if err := q.debRepository(ctx, idx, r); err != nil {
			return err
		}
	}
	req := deb.Request{Roots: q.roots}
	if q.spec.Closure == spec.NoDeps {
		req.Mode = deb.None
	}
	if q.spec.Closure == spec.Minus {
		var err error
		if req.Baseline, err = deb.ReadBaseline(bytes.NewReader(q.baseline)); err != nil {
			return err
		}
	}
	chosen, err := idx.Resolve(req)
	if err != nil {
		var all []error
		for _, f := range deb.Problems(err) {
			all = append(all, f)
		}
		return errors.Join(all...)
	}
	for _, p := range chosen {
		u, err := below(p.Repository, p.Filename)
		if err != nil {
			return err
		}
		trust := "metadata"
		if q.unsigned[p.Repository] {
			trust = "trusted"
		}
		if strings.HasPrefix(p.Repository, "file:") {
			u, trust = p.Repository+"/"+strings.TrimPrefix(p.Filename, "./"), "local"
		}
		q.out.Packages = append(q.out.Packages, lock.Package{Name: p.Name, Version: p.Version, Arch: p.Arch, URL: u,
			SHA256: p.SHA256, Size: p.Size, Trust: trust,
			Meta: deb.MetaOf(p, fileName(p.Filename))})
	}
	q.chosen(idx.Len())
	return nil
}

func (q *question) debRepository(ctx context.Context, idx *deb.Index, r spec.Repository) error {
	switch {
	case r.Dir.Name != "":
		return q.debDirectory(ctx, idx, r)
	case r.Machine:
		return q.machine(ctx, idx, r)
	}
	if r.Trusted {
		q.unsigned[r.URL] = true
	}
	var keys openpgp.EntityList
	if !r.Trusted || r.Keyring+r.KeyringFile.Name != "" {
		data, err := q.keyring(ctx, r)
		if err != nil {
			return err
		}
		if keys, err = deb.ReadKeyring(data); err != nil || len(keys) == 0 {
			if err == nil {
				err = errors.New("no keys in it")
			}
			return event.NewFault(event.ClassUsage, "build.keyring", err, "keyring", r.Keyring+r.KeyringFile.Name,
				"repository", r.URL)
		}
	}
	return q.suites(ctx, idx, r, keys)
}

func (q *question) suites(ctx context.Context, idx *deb.Index, r spec.Repository, keys openpgp.EntityList) error {
	for _, suite := range r.Suites {
		if err := q.suite(ctx, idx, r, suite, keys); err != nil {
			return err
		}
	}
	return nil
}

// machine reads the sources that this machine's own apt is set up with. What stands there is part of the answer, not of
// the question: a build on another machine takes what the lock pins.
func (q *question) machine(ctx context.Context, idx *deb.Index, r spec.Repository) error {
	entries, err := deb.ParseSources(q.Machine)
	if err != nil {
		return err
	}
	for _, e := range entries {
		e, ok := e.For(q.arch)
		if !ok {
			continue
		}
		if u, err := url.Parse(e.URL); err != nil || u.User != nil {
			return event.NewFault(event.ClassUsage, "build.source-password", nil, "file", e.File)
		}
		keys, err := machineKeys(q.Machine, e)
		if err != nil {
			return event.NewFault(event.ClassUsage, "build.keyring", err, "keyring", strings.Join(e.SignedBy, ", "),
				"repository", e.URL)
		}
		if e.Trusted {
			q.unsigned[e.URL] = true
		}
		x := spec.Repository{Type: "deb", URL: e.URL, Suites: []string{e.Suite}, Components: e.Components,
			Priority: r.Priority, Trusted: e.Trusted,
			IgnoreExpiry: e.IgnoreExpiry}
		if e.Flat {
			x.Suites = []string{strings.TrimSuffix(e.Suite, "/") + "/"}
		}
		if err := q.suites(ctx, idx, x, keys); err != nil {
			return err
		}
	}
	return nil
}

// machineKeys are those that an entry of the machine's sources is signed by, or all that its apt trusts.
func machineKeys(root fs.FS, e deb.SourceEntry) (openpgp.EntityList, error) {
	if len(e.Key) > 0 {
		return deb.ReadKeyring(e.Key)
	}
	var files []string
	for _, f := range e.SignedBy {
		if strings.HasPrefix(f, "/") { // else a fingerprint, of a key that apt trusts anyway
			files = append(files, strings.TrimPrefix(f, "/"))
		}
	}
	if len(files) == 0 {
		for _, pattern := range []string{"etc/apt/trusted.gpg", "etc/apt/trusted.gpg.d/*.gpg",
			"etc/apt/trusted.gpg.d/*.asc", "usr/share/keyrings/*-archive-*.gpg"} {
			list, err := fs.Glob(root, pattern)
			if err != nil {
				return nil, err
			}
			files = append(files, list...)
		}
	}
	var all openpgp.EntityList
	for _, f := range files {
		data, err := fs.ReadFile(root, f)
		if err != nil {
			return nil, err
		}
		keys, err := deb.ReadKeyring(data)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

// suite reads the signed metadata of a suite's components into the index.
func (q *question) suite(ctx context.Context, idx *deb.Index, r spec.Repository, suite string,
	keys openpgp.EntityList) error {
	base := deb.SuiteURL(r.URL, suite)
	rel, blob, err := q.release(ctx, r, base, suite, keys)
	if err != nil {
		return err
	}
	if r.IgnoreExpiry {
		q.warn(q.arch, event.M("build.warn.expiry", "suite", suite))
	}
	q.repository(lock.Repository{URL: r.URL, Suite: suite, SHA256: blob.SHA256})
	components := r.Components
	if len(components) == 0 {
		components = []string{""}
	}
	for _, c := range components {
		if err := q.component(ctx, idx, rel, base, r, c); err != nil {
			return err
		}
	}
	return nil
}

// release fetches InRelease, or Release with its detached signature where a suite has no InRelease.
func (q *question) release(ctx context.Context, r spec.Repository, base, suite string,
	keys openpgp.EntityList) (*deb.Release, fetch.Blob, error) {
	check := deb.Check{Suite: suite, Arch: q.arch, Flat: deb.IsFlat(suite), Keys: keys, Trusted: r.Trusted,
		Now: q.Now(), IgnoreExpiry: r.IgnoreExpiry}
	get := func(name string) ([]byte, fetch.Blob, error) {
		blob, err := q.client.Get(ctx, fetch.Source{URL: base + name, Size: -1, Limit: maxRelease,
			What: suite + " " + name, Signed: !r.Trusted})
		if err != nil {
			return nil, blob, err
		}
		data, err := q.content(blob)
		return data, blob, err
	}
	absent := func(err error) bool { return err != nil && event.AsFault(err).Code == "fetch.not-found" }
	data, blob, err := get("InRelease")
	if err == nil {
		rel, err := check.InRelease(data)
		return rel, blob, err
	}
	if !absent(err) {
		return nil, blob, err
	}
	first := err
	if data, blob, err = get("Release"); absent(err) {
		if !r.Trusted {
			return nil, blob, first
		}
		rel, err := check.Unsigned(nil)
		return rel, blob, err
	} else if err != nil {
		return nil, blob, err
	}
	sig, _, err := get("Release.gpg")
	switch {
	case absent(err):
		rel, err := check.Unsigned(data)
		return rel, blob, err
	case err != nil:
		return nil, blob, err
	}
	rel, err := check.Detached(data, sig)
	return rel, blob, err
}

func (q *question) component(ctx context.Context, idx *deb.Index, rel *deb.Release, base string, r spec.Repository,
	component string) error {
	if rel == nil {
		return q.bare(ctx, idx, base, r)
	}
	file, byHash, e, unpacked, err := rel.PackagesFile(component, q.arch)
	if err != nil {
		return err
	}
	src := fetch.Source{URL: base + file, SHA256: e.SHA256, Size: e.Size,
		What: rel.Codename + "/" + component + " Packages"}
	var blob fetch.Blob
	if byHash != "" {
		s := src
		s.URL = base + byHash
		if blob, err = q.client.Get(ctx, s); err != nil && event.AsFault(err).Code == "fetch.not-found" {
			byHash = ""
		}
	}
	if byHash == "" {
		blob, err = q.client.Get(ctx, src)
	}
	if err != nil {
		return err
	}
	return q.index(ctx, idx, blob, base+file, unpacked, r)
}

// bare reads a flat repository without a Release file, for which the spec vouches.
func (q *question) bare(ctx context.Context, idx *deb.Index, base string, r spec.Repository) error {
	var last error
	for _, file := range deb.PackagesFiles("", q.arch) {
		blob, err := q.client.Get(ctx, fetch.Source{URL: base + file, Size: -1, Limit: maxPackages,
			What: "Packages of " + r.URL})
		if err == nil {
			return q.index(ctx, idx, blob, base+file, 0, r)
		}
		if last = err; event.AsFault(err).Code != "fetch.not-found" {
			return err
		}
	}
	return last
}

// index reads a Packages file into the index.
func (q *question) index(ctx context.Context, idx *deb.Index, blob fetch.Blob, address string, unpacked int64,
	r spec.Repository) error {
	f, err := q.Cache.Open(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := decompress(bufio.NewReaderSize(f, 256<<10), address) // xz reads byte by byte
	if err != nil {
		return whole(f, event.NewFault(event.ClassFailed, "deb.packages", err, "repository", address))
	}
	limit := int64(maxPackages)
	if unpacked > 0 {
		limit = min(limit, unpacked)
	}
	from := deb.Repository{URL: r.URL, Priority: r.Priority}
	return whole(f, idx.AddFrom(until(ctx, &cappedReader{r: plain, left: limit}), from))
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

// until is a reader that ends with ctx: metadata of a distribution takes seconds to read.
func until(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readFunc) Read(p []byte) (int, error) { return f(p) }

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
