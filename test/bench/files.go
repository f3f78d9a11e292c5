package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// programs of an architecture, 246 MB.
var programs = [...]struct {
	name string
	mb   float64
}{{"kubelet", 58}, {"kube-apiserver", 84}, {"kube-controller-manager", 70}, {"kubectl", 34}}

const (
	packages   = 24
	packagesMB = 84.0
)

// File of the workload, by its path below the server's files.
type File struct {
	Blob
	Path string
}

func hexSum(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }

// makePrograms writes the programs, two with a checksum file of their own and two in a common one, as upstreams do.
func (w *Workload) makePrograms(p pieces) error {
	w.Programs = map[string][]File{}
	var sums strings.Builder
	for a, arch := range arches {
		for i, x := range programs {
			path := "dl/" + x.name + "-" + arch
			name := w.file(path)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			b, err := p.program(name, arch, max(int64(x.mb*mega*w.Scale), 4096), seeded(2, a, i))
			if err != nil {
				return err
			}
			w.Programs[arch] = append(w.Programs[arch], File{b, path})
			if i < 2 {
				err = writeText(name+".sha256", "%s\n", b.SHA256)
			} else {
				fmt.Fprintf(&sums, "%s  %s-%s\n", b.SHA256, x.name, arch)
			}
			if err != nil {
				return err
			}
		}
	}
	return writeText(w.file("dl/SHA256SUMS"), "%s", sums.String())
}

// makePackages writes a signed Debian repository of packages that do not compress.
func (w *Workload) makePackages() error {
	key, err := openpgp.NewEntity("a benchmark", "", "bench@eggo.test",
		&packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		return err
	}
	var ring bytes.Buffer
	if err := key.Serialize(&ring); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "keys.gpg"), ring.Bytes(), 0o644); err != nil {
		return err
	}
	w.Packages = map[string][]File{}
	var release strings.Builder
	fmt.Fprintf(&release,
		"Suite: stable\nCodename: bookworm\nDate: %s\nArchitectures: amd64 arm64\nComponents: main\nSHA256:\n",
		epoch.Format("Mon, 02 Jan 2006 15:04:05 UTC"))
	for a, arch := range arches {
		var list bytes.Buffer
		for i := range packages {
			// Sizes from a seventh of the mean to almost twice that.
			size := packagesMB * mega * w.Scale / packages * (1 + 0.075*(float64(i)-(packages-1)/2.0))
			f, entry, err := w.makeDeb(i, arch, int64(size), seeded(3, a, i))
			if err != nil {
				return err
			}
			w.Packages[arch] = append(w.Packages[arch], f)
			list.WriteString(entry)
		}
		path := "main/binary-" + arch + "/Packages"
		packed, err := squeezed(list.Bytes())
		if err != nil {
			return err
		}
		if err := writeText(w.file("debian/dists/bookworm/"+path+".gz"), "%s", packed); err != nil {
			return err
		}
		fmt.Fprintf(&release, " %s %d %s\n %s %d %s.gz\n", hexSum(list.Bytes()), list.Len(), path, hexSum(packed),
			len(packed), path)
	}
	var signed bytes.Buffer
	s, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(s, release.String()); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return writeText(w.file("debian/dists/bookworm/InRelease"), "%s", signed.String())
}

func packageName(i int) string { return fmt.Sprintf("pkg-%02d", i) }

// makeDeb writes a package (deb(5)) of about size bytes and gives its paragraph of the Packages file. Each depends on
// the one before.
func (w *Workload) makeDeb(i int, arch string, size int64, rng *rand.Rand) (File, string, error) {
	control := fmt.Sprintf("Package: %s\nVersion: 1.0-1\nArchitecture: %s\nMaintainer: a benchmark <bench@eggo.test>\n",
		packageName(i), arch)
	if i > 0 {
		control += "Depends: " + packageName(i-1) + "\n"
	}
	control += "Description: does not compress\n"
	var tarred bytes.Buffer
	if err := tarOf(&tarred, "./control", int64(len(control)), strings.NewReader(control)); err != nil {
		return File{}, "", err
	}
	packed, err := squeezed(tarred.Bytes())
	if err != nil {
		return File{}, "", err
	}
	path := fmt.Sprintf("debian/pool/%s_1.0-1_%s.deb", packageName(i), arch)
	if err := os.MkdirAll(filepath.Dir(w.file(path)), 0o755); err != nil {
		return File{}, "", err
	}
	out, err := newBlob(filepath.Dir(w.file(path)))
	if err != nil {
		return File{}, "", err
	}
	defer out.drop()
	size = max(size/512*512, 512)
	member := func(name string, n int64) {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, 0, 0, 0, "100644", n)
	}
	fmt.Fprint(out, "!<arch>\n")
	member("debian-binary", 4)
	fmt.Fprint(out, "2.0\n")
	member("control.tar.gz", int64(len(packed)))
	fmt.Fprintf(out, "%s%s", packed, strings.Repeat("\n", len(packed)%2))
	member("data.tar", 512+size+1024)
	var seed [32]byte
	for k := range seed {
		seed[k] = byte(rng.Uint32())
	}
	if err := tarOf(out, "./usr/share/"+packageName(i), size, rand.NewChaCha8(seed)); err != nil {
		return File{}, "", err
	}
	b, err := out.done(w.file(path))
	return File{b, path}, fmt.Sprintf("%sFilename: %s\nSize: %d\nSHA256: %s\n\n", control,
		strings.TrimPrefix(path, "debian/"), b.Size, b.SHA256), err
}

// tarOf writes an archive of one file.
func tarOf(w io.Writer, name string, size int64, content io.Reader) error {
	tw := tar.NewWriter(w)
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg,
		Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	if _, err := io.CopyN(tw, content, size); err != nil {
		return err
	}
	return tw.Close()
}

func squeezed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}
