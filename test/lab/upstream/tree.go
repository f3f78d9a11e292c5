package upstream

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// tree is a file system in memory: files and links by their path without a leading slash. Directories are left out.
type tree map[string]member

// unpack adds the files of a Debian package.
func (t tree) unpack(deb []byte) error {
	name, body, err := dataMember(deb)
	if err != nil {
		return err
	}
	r, err := decompress(path.Ext(name), body)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		m := member{name: strings.TrimPrefix(path.Clean("/"+h.Name), "/"), mode: h.Mode & 0o7777}
		switch h.Typeflag {
		case tar.TypeReg:
			if m.data, err = io.ReadAll(tr); err != nil {
				return err
			}
		case tar.TypeSymlink:
			m.link = h.Linkname
		case tar.TypeLink:
			m.data = t[strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")].data
		default:
			continue
		}
		t[m.name] = m
	}
}

func decompress(ext string, body []byte) (io.Reader, error) {
	switch ext {
	case ".xz":
		return xz.NewReader(bytes.NewReader(body))
	case ".gz":
		return gzip.NewReader(bytes.NewReader(body))
	case ".zst":
		return zstd.NewReader(bytes.NewReader(body))
	}
	return bytes.NewReader(body), nil
}

// maxLinks bounds a chain of symbolic links.
const maxLinks = 16

// follow is the chain of members from a path over symbolic links to a file; the last one is the file.
func (t tree) follow(p string) ([]member, error) {
	var chain []member
	for len(chain) < maxLinks {
		m, ok := t[p]
		if !ok {
			return nil, fmt.Errorf("/%s is not in the packages", p)
		}
		chain = append(chain, m)
		if m.link == "" {
			return chain, nil
		}
		if path.IsAbs(m.link) {
			p = strings.TrimPrefix(path.Clean(m.link), "/")
		} else {
			p = path.Join(path.Dir(p), m.link)
		}
	}
	return nil, fmt.Errorf("/%s: too many symbolic links", p)
}

// pick takes programs with the libraries and the loader that they need, and files that match patterns (path.Match),
// which must match something; those that are ELF objects, such as plugins that are opened at run time, bring their
// libraries too.
func (t tree) pick(arch string, programs, patterns []string) ([]member, error) {
	queue := append([]string{}, programs...)
	for _, p := range patterns {
		n := len(queue)
		for f := range t {
			if ok, err := path.Match(p, f); err != nil {
				return nil, err
			} else if ok {
				queue = append(queue, f)
			}
		}
		if len(queue) == n {
			return nil, fmt.Errorf("nothing in the packages matches %s", p)
		}
	}
	picked := map[string]member{}
	for ; len(queue) > 0; queue = queue[1:] {
		if _, done := picked[queue[0]]; done {
			continue
		}
		chain, err := t.follow(queue[0])
		if err != nil {
			return nil, err
		}
		for _, m := range chain {
			picked[m.name] = m
		}
		file := chain[len(chain)-1]
		needed, err := t.needed(arch, file)
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", file.name, err)
		}
		queue = append(queue, needed...)
	}
	out := make([]member, 0, len(picked))
	for _, m := range picked {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// needed are the paths of the loader and the libraries that an ELF file names; none for other files.
func (t tree) needed(arch string, m member) ([]string, error) {
	if !bytes.HasPrefix(m.data, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(m.data))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			return nil, err
		}
		out = append(out, strings.Trim(string(b), "/\x00"))
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, l := range libs {
		p, ok := t.library(arch, l)
		if !ok {
			return nil, fmt.Errorf("its library %s is not in the packages", l)
		}
		out = append(out, p)
	}
	return out, nil
}

// library finds a library where Debian's loader looks for it.
func (t tree) library(arch, name string) (string, bool) {
	for _, d := range []string{"lib/" + triplet(arch), "usr/lib/" + triplet(arch), "lib", "usr/lib"} {
		if _, ok := t[d+"/"+name]; ok {
			return d + "/" + name, true
		}
	}
	return "", false
}
