// Package buildtest is a small upstream for tests: a signed Debian repository, programs with checksum files, an
// archive, an addon and a registry, all in this process, with faults to inject.
package buildtest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Upstream serves files and images on loopback.
type Upstream struct {
	URL     string // http://127.0.0.1:PORT
	Host    string // 127.0.0.1:PORT
	Keyring []byte // OpenPGP keys that sign the repository

	key   *openpgp.Entity
	mu    sync.Mutex
	files map[string][]byte
	cut   map[string]int // path → bytes after which each connection breaks
	asked map[string][]string
}

// New starts an upstream with a package repository of two architectures, two programs, an archive, an addon and images;
// it ends with the test.
func New(t testing.TB) *Upstream {
	t.Helper()
	u := &Upstream{files: map[string][]byte{}, cut: map[string]int{}, asked: map[string][]string{}}
	reg := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/") {
			reg.ServeHTTP(w, r)
			return
		}
		u.serve(w, r)
	}))
	t.Cleanup(srv.Close)
	u.URL, u.Host = srv.URL, strings.TrimPrefix(srv.URL, "http://")
	u.repository(t)
	u.programs()
	u.images(t)
	return u
}

// Set changes a file; nil takes it away.
func (u *Upstream) Set(path string, data []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if data == nil {
		delete(u.files, path)
		return
	}
	u.files[path] = data
}

// Get returns a file.
func (u *Upstream) Get(path string) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.files[path]
}

// Cut makes every connection for path break after n bytes; 0 fixes it.
func (u *Upstream) Cut(path string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cut[path] = n
}

// Asked lists the Range headers of the requests for path, "" for a whole file.
func (u *Upstream) Asked(path string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[path]
}

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	data, ok := u.files[r.URL.Path]
	cut := u.cut[r.URL.Path]
	u.asked[r.URL.Path] = append(u.asked[r.URL.Path], r.Header.Get("Range"))
	u.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if cut > 0 {
		w = &cutter{w, cut}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// cutter breaks the connection after some bytes.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left < len(p) {
		c.ResponseWriter.Write(p[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func sum(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }

// ELF is the smallest file that debug/elf reads, for the architecture, with text behind it.
func ELF(arch, text string) []byte {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	_ = binary.Write(&b, binary.LittleEndian, h)
	b.WriteString(text)
	return b.Bytes()
}

// Deb is a package that holds nothing but what it says of itself (deb(5)).
func Deb(name, version, arch string) []byte { return DebOf(name, version, arch, nil) }

// DebOf is a package with files.
func DebOf(name, version, arch string, data map[string]string) []byte {
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: test\nDescription: a test\n", name,
		version, arch)
	pack := func(files map[string]string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for n, text := range files {
			_ = w.WriteHeader(&tar.Header{Name: n, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
			_, _ = io.WriteString(w, text)
		}
		_ = w.Close()
		_ = z.Close()
		return b.String()
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, m := range [][2]string{{"debian-binary", "2.0\n"},
		{"control.tar.gz", pack(map[string]string{"./control": control})}, {"data.tar.gz", pack(data)}} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", m[0], 0, 0, 0, "100644", len(m[1]), m[1])
		if len(m[1])%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func (u *Upstream) programs() {
	for _, arch := range []string{"amd64", "arm64"} {
		dir := "/dl/v1.34.2/" + arch + "/"
		kubelet := ELF(arch, strings.Repeat("kubelet ", 40000))
		u.files[dir+"kubelet"] = kubelet
		u.files[dir+"kubelet.sha256"] = []byte(sum(kubelet))
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		tw := tar.NewWriter(z)
		for _, n := range []string{"etcd", "etcdctl", "README"} {
			body := ELF(arch, n)
			_ = tw.WriteHeader(&tar.Header{Name: "./etcd-" + arch + "/" + n, Mode: 0o755, Size: int64(len(body)),
				Typeflag: tar.TypeReg})
			_, _ = tw.Write(body)
		}
		_ = tw.Close()
		_ = z.Close()
		file := "etcd-" + arch + ".tar.gz"
		u.files["/dl/"+file] = b.Bytes()
		u.files["/dl/SHA256SUMS"] = append(u.files["/dl/SHA256SUMS"], []byte(sum(b.Bytes())+"  "+file+"\n")...)
	}
	u.files["/dl/net.yml"] = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: net}\n")
}

// repository has socat, which needs libc6 and one of two alternatives, of which the first does not exist.
func (u *Upstream) repository(t testing.TB) {
	t.Helper()
	key, err := openpgp.NewEntity("test archive", "", "archive@eggo.test",
		&packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	var ring bytes.Buffer
	if err := key.Serialize(&ring); err != nil {
		t.Fatal(err)
	}
	u.Keyring, u.key = ring.Bytes(), key
	u.Publish(t, nil)
}

// Publish signs the package repository again, with other versions of some packages.
func (u *Upstream) Publish(t testing.TB, versions map[string]string) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	var release strings.Builder
	fmt.Fprintf(&release,
		"Suite: stable\nCodename: bookworm\nDate: %s\nValid-Until: %s\nArchitectures: amd64 arm64\nComponents: "+
			"main\nAcquire-By-Hash: yes\nSHA256:\n",
		time.Now().UTC().Format(time.RFC1123), time.Now().UTC().Add(24*time.Hour).Format(time.RFC1123))
	for _, arch := range []string{"amd64", "arm64"} {
		var list strings.Builder
		for _, p := range [][2]string{{"socat", "libc6 (>= 2.30), nothing | libssl3"}, {"libc6", ""},
			{"libssl3", "libc6"}, {"vim", "libc6"}} {
			version := cmp.Or(versions[p[0]], "2.36-1+deb12u1")
			body := Deb(p[0], version, arch)
			file := "pool/" + p[0] + "_" + version + "_" + arch + ".deb"
			u.files["/debian/"+file] = body
			fmt.Fprintf(&list,
				"Package: %s\nVersion: %s\nArchitecture: %s\nDepends: %s\nFilename: %s\nSize: %d\nSHA256: %s\n"+
					"Description: a test\n\n",
				p[0], version, arch, p[1], file, len(body), sum(body))
		}
		var z bytes.Buffer
		zw := gzip.NewWriter(&z)
		_, _ = io.WriteString(zw, list.String())
		_ = zw.Close()
		base := "main/binary-" + arch + "/"
		u.files["/debian/dists/bookworm/"+base+"by-hash/SHA256/"+sum(z.Bytes())] = z.Bytes()
		fmt.Fprintf(&release, " %s %d %sPackages\n %s %d %sPackages.gz\n", sum([]byte(list.String())), list.Len(), base,
			sum(z.Bytes()), z.Len(), base)
	}
	u.files["/debian/dists/bookworm/InRelease"] = u.signed(t, release.String())
}

// signed is a text with the archive's signature.
func (u *Upstream) signed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := clearsign.Encode(&out, u.key.PrivateKey, nil)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Flat publishes a flat repository at url with the package tool, as Kubernetes does: its metadata is in dir, the
// package in a directory of its architecture, and both are relative to url.
func (u *Upstream) Flat(t testing.TB, url, dir string, byHash bool) {
	t.Helper()
	var list strings.Builder
	for _, arch := range []string{"amd64", "arm64"} {
		body, file := Deb("tool", "1.0", arch), arch+"/tool_1.0_"+arch+".deb"
		u.Set(url+file, body)
		fmt.Fprintf(&list,
			"Package: tool\nVersion: 1.0\nArchitecture: %s\nFilename: ./%s\nSize: %d\nSHA256: %s\n\n", arch, file,
			len(body), sum(body))
	}
	text := []byte(list.String())
	release := fmt.Sprintf("Codename: deb\nDate: %s\nArchitectures: amd64 arm64\n",
		time.Now().UTC().Format(time.RFC1123))
	if byHash {
		release += "Acquire-By-Hash: yes\n"
		u.Set(url+dir+"by-hash/SHA256/"+sum(text), text)
	} else {
		u.Set(url+dir+"Packages", text)
	}
	u.Set(url+dir+"InRelease", u.signed(t, release+fmt.Sprintf("SHA256:\n %s %d Packages\n", sum(text), len(text))))
}

// images: registry.test/app:1 is an index of both architectures with an attestation; registry.test/lies:1 an index
// whose arm64 entry is an amd64 image; registry.test/only:1 a plain amd64 image; registry.test/zstd:1 has a layer that
// not every runtime loads; registry.test/pause:3.10.1 and registry.test/coredns/coredns:v1.12.1 are plain indexes.
func (u *Upstream) images(t testing.TB) {
	t.Helper()
	amd, arm := u.image(t, "amd64", types.DockerLayer), u.image(t, "arm64", types.DockerLayer)
	add := func(img v1.Image, os, arch, variant string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os,
			Architecture: arch, Variant: variant}}}
	}
	push := func(n string, f func(name.Reference) error) {
		ref, err := name.ParseReference(u.Host + "/registry.test/" + n)
		if err == nil {
			err = f(ref)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push("app:1", func(r name.Reference) error {
		return remote.WriteIndex(r, mutate.AppendManifests(empty.Index,
			add(u.image(t, "unknown", types.DockerLayer), "unknown", "unknown", ""),
			add(amd, "linux", "amd64", ""), add(arm, "linux", "arm64", "v8")))
	})
	for _, n := range []string{"pause:3.10.1", "coredns/coredns:v1.12.1"} { // what every cluster needs
		push(n, func(r name.Reference) error {
			return remote.WriteIndex(r, mutate.AppendManifests(empty.Index, add(amd, "linux", "amd64", ""),
				add(arm, "linux", "arm64", "v8")))
		})
	}
	push("lies:1", func(r name.Reference) error {
		return remote.WriteIndex(r, mutate.AppendManifests(empty.Index, add(amd, "linux", "arm64", "")))
	})
	push("only:1", func(r name.Reference) error { return remote.Write(r, amd) })
	push("zstd:1", func(r name.Reference) error { return remote.Write(r, u.image(t, "amd64", types.OCILayerZStd)) })
}

func (u *Upstream) image(t testing.TB, arch string, layer types.MediaType) v1.Image {
	t.Helper()
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: static.NewLayer([]byte("the layer for "+arch), layer),
		History: v1.History{Created: v1.Time{Time: time.Unix(0, 0)}, CreatedBy: "a test"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture, cfg.Created = "linux", arch, v1.Time{Time: time.Unix(0, 0)}
	if img, err = mutate.ConfigFile(img, cfg); err != nil {
		t.Fatal(err)
	}
	return img
}

// Spec is a spec of all that is here, in which image stands as the only image.
func (u *Upstream) Spec(image string) string {
	return strings.ReplaceAll(`version: 1
name: test
kubernetes: v1.34.2
os: {family: debian, id: debian, release: "12", codename: bookworm}
packages:
  repositories:
    - {type: deb, url: URL/debian, suites: [bookworm], components: [main], keyring: keys.gpg}
  install:
    - {name: socat, roles: [worker]}
binaries:
  - name: kubelet
    version: "{kubernetes}"
    url: https://dl.test/{kubernetes}/{arch}/kubelet
    checksum: https://dl.test/{kubernetes}/{arch}/kubelet.sha256
    dst: /usr/local/bin
    roles: [control-plane, worker]
  - name: etcd
    version: v3.6.4
    url: https://dl.test/etcd-{arch}.tar.gz
    checksum: https://dl.test/SHA256SUMS
    pick: {"etcd-{arch}/etcd": etcd, "./etcd-{arch}/etcdctl": etcdctl}
    dst: /usr/local/bin
    roles: [etcd]
addons:
  - {name: net.yml, url: https://dl.test/net.yml}
images:
  - {name: "`+image+`", roles: [worker], why: a test}
`, "URL", u.URL)
}

// Mirrors point a builder here.
func (u *Upstream) Mirrors() []string {
	return []string{"https://dl.test=" + u.URL + "/dl", "registry.test=" + u.Host + "/registry.test"}
}
