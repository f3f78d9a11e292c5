package build

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mholt/archives"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/event"
)

const (
	maxChecksum = 1 << 20 // bytes
	maxProgram  = 4 << 30
	maxAddon    = 64 << 20
)

func (b *arch) binaries(ctx context.Context) error {
	for _, x := range b.spec.Binaries {
		sum, trust := x.SHA256, "spec"
		if x.Checksum != "" {
			var err error
			if sum, err = b.checksum(ctx, x); err != nil {
				return err
			}
			trust = "checksum"
		}
		blob, err := b.client.Get(ctx, fetch.Source{URL: x.URL, SHA256: sum, Size: -1, Limit: maxProgram, What: x.Name})
		if err != nil {
			return err
		}
		lf := LockFile{Name: x.Name, Version: x.Version, URL: x.URL, SHA256: blob.SHA256, Size: blob.Size, Trust: trust}
		programs := map[string]fetch.Blob{x.Name: blob}
		if len(x.Pick) > 0 {
			if programs, err = b.pick(ctx, x, blob); err != nil {
				return err
			}
		}
		for _, n := range sortedKeys(programs) {
			p := programs[n]
			if err := b.program(x, n, p); err != nil {
				return err
			}
			if len(x.Pick) > 0 {
				lf.Picked = append(lf.Picked, LockFile{Name: n, URL: x.URL, SHA256: p.SHA256, Size: p.Size, Trust: trust})
			}
		}
		b.lock.Files = append(b.lock.Files, lf)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (b *arch) program(x spec.Binary, name string, blob fetch.Blob) error {
	if err := b.checkELF(name, blob); err != nil {
		return err
	}
	b.members = append(b.members, bundle.Member{Path: name, Kind: bundle.Binary, Name: name, Version: x.Version, Source: x.URL, Size: blob.Size,
		SHA256: blob.SHA256, Roles: x.Roles, Dst: x.Dst, Mode: x.Mode})
	return nil
}

// checksum reads upstream's checksum file: a bare sum, or lines as sha256sum writes them, of which the one with the file's name counts.
func (b *arch) checksum(ctx context.Context, x spec.Binary) (string, error) {
	blob, err := b.client.Get(ctx, fetch.Source{URL: x.Checksum, Size: -1, Limit: maxChecksum, What: x.Name + " checksum"})
	if err != nil {
		return "", err
	}
	data, err := b.readAll(blob)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(x.URL)
	if err != nil {
		return "", err
	}
	sum, err := findSum(data, path.Base(u.Path))
	if err != nil {
		return "", event.NewFault(event.ClassFailed, "build.checksum", err, "url", x.Checksum, "what", x.Name)
	}
	return sum, nil
}

func findSum(data []byte, file string) (string, error) {
	isSum := func(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
	if s := strings.ToLower(string(bytes.TrimSpace(data))); isSum(s) {
		return s, nil
	}
	found := ""
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) != 2 || path.Base(strings.TrimPrefix(f[1], "*")) != file {
			continue
		}
		s := strings.ToLower(f[0])
		if !isSum(s) || found != "" && found != s {
			return "", errors.New("no single sha256 for " + file)
		}
		found = s
	}
	if found == "" {
		return "", errors.New("no line for " + file)
	}
	return found, nil
}

// pick takes members out of an archive into the cache.
func (b *arch) pick(ctx context.Context, x spec.Binary, blob fetch.Blob) (map[string]fetch.Blob, error) {
	fail := func(err error) error {
		if f := (*event.Fault)(nil); errors.As(err, &f) {
			return err
		}
		return event.NewFault(event.ClassFailed, "build.archive", err, "url", x.URL, "what", x.Name)
	}
	f, err := b.client.Cache.Open(blob)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	u, err := url.Parse(x.URL)
	if err != nil {
		return nil, err
	}
	format, stream, err := archives.Identify(ctx, path.Base(u.Path), f)
	if err != nil {
		return nil, fail(err)
	}
	ex, ok := format.(archives.CompressedArchive)
	if !ok {
		if t, isTar := format.(archives.Tar); isTar {
			ex, ok = archives.CompressedArchive{Extraction: t}, true
		}
	}
	if _, isTar := ex.Extraction.(archives.Tar); !ok || !isTar {
		return nil, fail(errors.New("neither a tar nor a compressed tar"))
	}
	want := map[string]string{}
	for from, to := range x.Pick {
		want[path.Clean(from)] = to
	}
	got := map[string]fetch.Blob{}
	err = extract(ctx, ex, stream, func(_ context.Context, info archives.FileInfo) error {
		to, ok := want[path.Clean(info.NameInArchive)]
		if !ok {
			return nil
		}
		if _, twice := got[to]; twice || !info.Mode().IsRegular() || info.LinkTarget != "" {
			return errors.New(info.NameInArchive + " is there twice or is no regular file")
		}
		r, err := info.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		got[to], err = b.client.Cache.Put(r, maxProgram)
		return err
	})
	if err == nil {
		_, err = io.Copy(io.Discard, f) // to the end, so that the sum of the whole file was checked
	}
	if err != nil {
		return nil, fail(err)
	}
	for from, to := range x.Pick {
		if _, ok := got[to]; !ok {
			return nil, event.NewFault(event.ClassFailed, "build.no-member", nil, "url", x.URL, "member", from, "what", x.Name)
		}
	}
	return got, nil
}

func extract(ctx context.Context, ex archives.CompressedArchive, r io.Reader, each archives.FileHandler) error {
	if ex.Compression == nil {
		return ex.Extraction.Extract(ctx, r, each)
	}
	return ex.Extract(ctx, r, each)
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkELF refuses a program of another architecture; what is no ELF file (a script) gives a warning.
func (b *arch) checkELF(name string, blob fetch.Blob) error {
	f, err := b.client.Cache.File(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		b.warn(event.M("build.warn.not-elf", "file", name))
		return nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return event.NewFault(event.ClassFailed, "build.elf", err, "file", name)
	}
	if e.Machine != machines[b.name] {
		return event.NewFault(event.ClassFailed, "build.elf-arch", nil, "file", name, "got", e.Machine.String(), "want", b.name)
	}
	return nil
}

// addons are trusted on first use when the spec has no sum: the lock pins what came.
func (b *arch) addons(ctx context.Context) error {
	for _, a := range b.spec.Addons {
		trust, want := "spec", a.SHA256
		if want == "" {
			trust = "first-use"
			want, _ = b.previous.firstUse(b.name, a.URL)
		}
		blob, err := b.client.Get(ctx, fetch.Source{URL: a.URL, SHA256: want, Size: -1, Limit: maxAddon, What: a.Name})
		if err != nil {
			if f := event.AsFault(err); f.Code == "fetch.sum-mismatch" && trust == "first-use" {
				f.Code = "build.first-use"
			}
			return err
		}
		if trust == "first-use" && want == "" {
			b.warn(event.M("build.warn.first-use", "file", a.Name, "url", a.URL, "sha256", blob.SHA256))
		}
		roles := a.Roles
		if len(roles) == 0 {
			roles = []bundle.Role{bundle.ControlPlane}
		}
		b.members = append(b.members, bundle.Member{Path: "addons/" + a.Name, Kind: bundle.Addon, Name: a.Name, Version: a.Version, Source: a.URL,
			Size: blob.Size, SHA256: blob.SHA256, Roles: roles})
		b.lock.Files = append(b.lock.Files, LockFile{Name: a.Name, Version: a.Version, URL: a.URL, SHA256: blob.SHA256, Size: blob.Size, Trust: trust})
	}
	return nil
}
