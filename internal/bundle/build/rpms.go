package build

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/rpm"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// rpmRepository is one whose metadata was read.
type rpmRepository struct {
	spec spec.Repository
	name string // under which its packages stand in the index
	md   *rpm.Repomd
}

// rpms asks repositories of the rpm family.
func (q *question) rpms(ctx context.Context) error {
	idx := rpm.NewIndex(q.spec.Arch(q.arch))
	var repos []rpmRepository
	for _, r := range q.spec.Repositories {
		x, err := q.rpmRepository(ctx, idx, r)
		if err != nil {
			return err
		}
		repos = append(repos, x)
	}
	o := rpm.Options{NoDeps: q.spec.Closure == spec.NoDeps}
	if q.spec.Closure == spec.Minus {
		var err error
		if o.Baseline, err = rpm.ReadBaseline(bytes.NewReader(q.baseline)); err != nil {
			return err
		}
	}
	if err := q.filelists(ctx, idx, repos, o); err != nil {
		return err
	}
	chosen, err := idx.Closure(ctx, q.roots, o)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		x, err := q.rpmPackage(p, repos)
		if err != nil {
			return err
		}
		q.out.Packages = append(q.out.Packages, x)
	}
	q.chosen(idx.Len())
	return nil
}

func (q *question) rpmPackage(p *rpm.Package, repos []rpmRepository) (lock.Package, error) {
	x := lock.Package{Name: p.Name, Version: p.EVR().String(), Arch: p.Arch, SHA256: p.SHA256, Size: p.Size,
		Trust: "metadata", Meta: rpm.MetaOf(p)}
	if p.SHA256 == "" {
		return x, event.NewFault(event.ClassFailed, "build.no-sha256", nil, "package", p.String(), "repository",
			p.Repository)
	}
	for _, r := range repos {
		if r.name != p.Repository {
			continue
		}
		switch x.Keyring = r.spec.Keyring + r.spec.KeyringFile.Name; {
		case r.spec.Dir.Name != "":
			x.URL, x.Trust = r.name+"/"+p.Location, "local"
		case x.Keyring == "":
			x.Trust = "trusted"
		}
	}
	if x.URL != "" {
		return x, nil
	}
	base := p.Repository
	if p.Base != "" {
		base = p.Base
	}
	var err error
	x.URL, err = below(base, p.Location)
	return x, err
}

// rpmRepository reads a repository's metadata into the index.
func (q *question) rpmRepository(ctx context.Context, idx *rpm.Index, r spec.Repository) (rpmRepository, error) {
	out := rpmRepository{spec: r, name: r.URL}
	if r.Dir.Name != "" {
		out.name = "file:" + r.Dir.Name
		return out, q.rpmDirectory(ctx, idx, r, out.name)
	}
	what := "repomd.xml of " + r.URL
	data, blob, err := q.small(ctx, r.URL+"/repodata/repomd.xml", what)
	if err != nil {
		return out, err
	}
	if r.Keyring+r.KeyringFile.Name != "" {
		if err := q.signedRepomd(ctx, r, data); err != nil {
			return out, err
		}
	}
	if out.md, err = rpm.ParseRepomd(data, r.URL); err != nil {
		return out, err
	}
	q.repository(lock.Repository{URL: r.URL, SHA256: blob.SHA256})
	err = q.entry(ctx, r, out.md, rpm.Primary, func(in io.Reader) error { return idx.Add(in, r.URL, r.Priority) })
	if err != nil {
		return out, err
	}
	return out, q.entry(ctx, r, out.md, rpm.Modules, func(in io.Reader) error { return idx.AddModules(in, r.URL, nil) })
}

// signedRepomd checks the signature of repomd.xml. Not every distribution signs it (openEuler does not everywhere):
// then the packages' own signatures are what counts, and they are checked in any case.
func (q *question) signedRepomd(ctx context.Context, r spec.Repository, data []byte) error {
	keys, err := q.rpmKeys(ctx, r)
	if err != nil {
		return err
	}
	sig, _, err := q.small(ctx, r.URL+"/repodata/repomd.xml.asc", "repomd.xml.asc of "+r.URL)
	if err != nil {
		if event.AsFault(err).Code == "fetch.not-found" {
			q.warn(q.arch, event.M("build.warn.unsigned-repomd", "repository", r.URL))
			return nil
		}
		return err
	}
	return rpm.VerifyRepomd(data, sig, keys, r.URL, q.Now())
}

func (q *question) rpmKeys(ctx context.Context, r spec.Repository) (openpgp.EntityList, error) {
	data, err := q.keyring(ctx, r)
	if err != nil {
		return nil, err
	}
	return rpm.ReadKeyring(data, r.Keyring+r.KeyringFile.Name, r.URL)
}

// small fetches a file that nothing gives a sum for.
func (q *question) small(ctx context.Context, address, what string) ([]byte, fetch.Blob, error) {
	blob, err := q.client.Get(ctx, fetch.Source{URL: address, Size: -1, Limit: rpm.MaxRepomd, What: what})
	if err != nil {
		return nil, blob, err
	}
	data, err := q.content(blob)
	return data, blob, err
}

// entry fetches a file of the metadata, verified by repomd.xml, and reads it. One that the repository does not have is
// passed over.
func (q *question) entry(ctx context.Context, r spec.Repository, md *rpm.Repomd, typ string,
	read func(io.Reader) error) error {
	e, ok := md.Choose(typ)
	if !ok {
		return nil
	}
	address, err := below(r.URL, e.Location)
	if err != nil {
		return err
	}
	src := fetch.Source{URL: address, Size: e.Size, Limit: maxProgram, What: typ + " of " + r.URL}
	if e.Sum.Type == "sha256" {
		src.SHA256 = e.Sum.Hex
	}
	blob, err := q.client.Get(ctx, src)
	if err != nil {
		return err
	}
	f, err := q.Cache.Open(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	h := e.Sum.New()
	in, err := e.Open(io.TeeReader(f, h))
	if err != nil {
		return whole(f, event.NewFault(event.ClassFailed, "rpm.primary", err, "repository", r.URL))
	}
	defer in.Close()
	if err := read(until(ctx, in)); err != nil {
		return whole(f, err)
	}
	// To the end, so that the sum of the whole file was checked.
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != e.Sum.Hex {
		return event.NewFault(event.ClassFailed, "fetch.sum-mismatch", nil, "url", address, "what", src.What, "got",
			got, "want", e.Sum.Hex)
	}
	return nil
}

// filelists reads the lists of all files where a package needs one that primary.xml does not name.
func (q *question) filelists(ctx context.Context, idx *rpm.Index, repos []rpmRepository, o rpm.Options) error {
	const rounds = 8 // a file's package may need further files
	for range rounds {
		paths, err := idx.Wanted(ctx, q.roots, o)
		if err != nil || len(paths) == 0 {
			return err
		}
		for _, r := range repos {
			if r.md == nil {
				continue
			}
			err := q.entry(ctx, r.spec, r.md, rpm.Filelists,
				func(in io.Reader) error { return idx.AddFilelists(in, r.spec.URL, paths) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
