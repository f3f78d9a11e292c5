package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ulikunitz/xz"

	bundledeb "github.com/eggo-k8s/eggo/internal/bundle/deb"
)

// debPackage is a paragraph of a Packages index.
type debPackage struct {
	name, version, depends, sum string
	archive, filename           string // debian or debian-security, and the path in it
}

// userland fetches Debian packages with what they depend on and unpacks them into memory.
func (b *builder) userland(ctx context.Context, arch string, names ...string) (tree, error) {
	available, err := b.packages(ctx, arch)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if available[n] == nil {
			return nil, fmt.Errorf("package %s is not in the repositories for %s", n, arch)
		}
	}
	t := tree{}
	for _, p := range closure(available, names) {
		b.line("Debian package " + p.name + " " + p.version + " " + arch)
		file, err := b.verified(ctx, p.archive+"/"+p.filename, p.sum)
		if err != nil {
			return nil, err
		}
		if err := t.unpack(file); err != nil {
			return nil, fmt.Errorf("%s: %w", p.filename, err)
		}
	}
	return t, nil
}

// packages reads the indexes of the spec's repositories for an architecture: the highest version of each name, from
// signed metadata.
func (b *builder) packages(ctx context.Context, arch string) (map[string]*debPackage, error) {
	if known := b.indexes[arch]; known != nil {
		return known, nil
	}
	all := map[string]*debPackage{}
	b.line("Debian's indexes for " + arch)
	for _, r := range b.spec.Packages.Repositories {
		keyring, err := r.keyring()
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			return nil, err
		}
		archive := strings.Trim(u.Path, "/")
		for _, suite := range r.Suites {
			release, err := b.release(ctx, archive+"/dists/"+suite, keyring)
			if err != nil {
				return nil, err
			}
			for _, c := range r.Components {
				if err := b.index(ctx, all, archive, suite, c+"/binary-"+arch, release); err != nil {
					return nil, err
				}
			}
		}
	}
	b.indexes[arch] = all
	return all, nil
}

// release fetches a suite's InRelease, checks its signature and returns the sha256 sums in it by path.
func (b *builder) release(ctx context.Context, dists string, keyring []byte) (map[string]string, error) {
	up := b.debian.upstreamURL(dists + "/InRelease")
	body, err := b.debian.get(ctx, up)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, 16<<20))
	if err != nil {
		return nil, err
	}
	signed, _ := clearsign.Decode(text)
	if signed == nil {
		return nil, fmt.Errorf("%s is not signed", up)
	}
	keys, err := openpgp.ReadKeyRing(bytes.NewReader(keyring))
	if err != nil {
		return nil, err
	}
	if _, err := openpgp.CheckDetachedSignature(keys, bytes.NewReader(signed.Bytes), signed.ArmoredSignature.Body,
		nil); err != nil {
		return nil, fmt.Errorf("%s: %w", up, err)
	}
	sums := map[string]string{}
	for _, s := range stanzas(bytes.NewReader(signed.Plaintext)) {
		for _, l := range strings.Split(s["sha256"], "\n") {
			if f := strings.Fields(l); len(f) == 3 {
				sums[f[2]] = f[0]
			}
		}
	}
	return sums, nil
}

func (b *builder) index(ctx context.Context, all map[string]*debPackage, archive, suite, dir string,
	sums map[string]string) error {
	sum := sums[dir+"/Packages.xz"]
	if sum == "" {
		return fmt.Errorf("%s %s has no %s", archive, suite, dir)
	}
	packed, err := b.verified(ctx, archive+"/dists/"+suite+"/"+dir+"/by-hash/SHA256/"+sum, sum)
	if err != nil {
		return err
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return eachStanza(r, func(s map[string]string) {
		p := &debPackage{
			name: s["package"], version: s["version"], sum: s["sha256"], archive: archive, filename: s["filename"],
			depends: strings.Trim(s["pre-depends"]+","+s["depends"], ","),
		}
		if have := all[p.name]; have == nil || bundledeb.Compare(p.version, have.version) > 0 {
			all[p.name] = p
		}
	})
}

// verified is the body of an immutable path of the archive, checked against its sum.
func (b *builder) verified(ctx context.Context, p, sum string) ([]byte, error) {
	file, err := b.debian.cached(ctx, p, b.debian.upstreamURL(p))
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		_ = os.Remove(file) // so that the next build asks the mirror again
		return nil, fmt.Errorf("%s does not have the sha256 that is expected of it", p)
	}
	return body, nil
}

var dependency = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+`)

// closure is names with what they depend on, in the order of their names. Of alternatives the first that exists is
// taken; versions are not looked at, since one release fits together. Only files of it are used, so what is missing
// shows when they are picked.
func closure(available map[string]*debPackage, names []string) []*debPackage {
	chosen := map[string]*debPackage{}
	for len(names) > 0 {
		n := names[0]
		names = names[1:]
		p := available[n]
		if p == nil || chosen[n] != nil {
			continue
		}
		chosen[n] = p
		for _, d := range strings.Split(p.depends, ",") {
			for _, alternative := range strings.Split(d, "|") {
				if n := dependency.FindString(strings.TrimSpace(alternative)); available[n] != nil {
					names = append(names, n)
					break
				}
			}
		}
	}
	out := make([]*debPackage, 0, len(chosen))
	for _, p := range chosen {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// dataMember finds the data.tar of a Debian package (deb(5), an ar archive) and its name.
func dataMember(deb []byte) (name string, body []byte, err error) {
	const magic, header = "!<arch>\n", 60
	if !bytes.HasPrefix(deb, []byte(magic)) {
		return "", nil, fmt.Errorf("not an ar archive")
	}
	for rest := deb[len(magic):]; len(rest) >= header; {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		rest = rest[header:]
		if err != nil || size < 0 || size > len(rest) {
			return "", nil, fmt.Errorf("a damaged ar archive")
		}
		if strings.HasPrefix(name, "data.tar") {
			return name, rest[:size], nil
		}
		rest = rest[min(size+size%2, len(rest)):]
	}
	return "", nil, fmt.Errorf("no data.tar in it")
}

// triplet is the directory of Debian's libraries for an architecture.
func triplet(arch string) string {
	if arch == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

// busybox is the static busybox of the tree with links for some of its commands in /bin.
func (t tree) busybox(commands ...string) ([]member, error) {
	f, ok := t["bin/busybox"]
	if !ok {
		return nil, fmt.Errorf("no bin/busybox in the packages")
	}
	out := []member{f}
	for _, c := range commands {
		out = append(out, member{name: path.Join("bin", c), link: "busybox"})
	}
	return out, nil
}
