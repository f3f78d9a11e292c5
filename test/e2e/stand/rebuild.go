package stand

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Rebuild makes a bundle with other bytes of some programs of the stand's bundle, in the same version, and gives its
// path. Each program has a few bytes behind its last one: it runs as before.
func (s *Stand) Rebuild(ctx context.Context, programs ...string) (string, error) {
	s.Say("another build of %v", programs)
	return s.remake(ctx, s.Bundle, remade{name: "rebuilt-" + filepath.Base(s.Bundle),
		program: func(e bundle.Member, data []byte) ([]byte, error) {
			if slices.Contains(programs, e.Name) {
				data = append(data, "another build\n"...)
			}
			return data, nil
		}})
}

// PatchVersion makes a bundle of another patch version of Kubernetes, v1.34.9, of the stand's bundle, and gives its
// path. It is no release: the programs are the same but for the version that the linker put into them, as if they were
// linked again with another one. So it takes seconds, where a real one takes some ten minutes of processor time.
func (s *Stand) PatchVersion(ctx context.Context, kubernetes string) (string, error) {
	a, err := bundle.Open(s.Bundle)
	if err != nil {
		return "", err
	}
	from := a.Manifest().Kubernetes
	s.Say("the programs of Kubernetes %s, as %s", from, kubernetes)
	return s.remake(ctx, s.Bundle, remade{name: "eggo-" + kubernetes + ".tar.gz", kubernetes: kubernetes,
		program: func(e bundle.Member, data []byte) ([]byte, error) {
			if e.Version != from {
				return data, nil
			}
			return restamp(data, from, kubernetes)
		}})
}

// BadServer makes a bundle like another one whose API server knows its version and does not start, and gives its path.
func (s *Stand) BadServer(ctx context.Context, path string) (string, error) {
	a, err := bundle.Open(path)
	if err != nil {
		return "", err
	}
	s.Say("%s, with an API server that does not start", filepath.Base(path))
	server := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo Kubernetes " + a.Manifest().Kubernetes +
		"; exit; fi\necho 'this API server does not start' >&2\nexit 1\n"
	return s.remake(ctx, path, remade{name: "bad-" + filepath.Base(path),
		program: func(e bundle.Member, data []byte) ([]byte, error) {
			if e.Name == "kube-apiserver" {
				return []byte(server), nil
			}
			return data, nil
		}})
}

// restamp puts another version in the two places where the linker put one: those of component-base and of client-go.
func restamp(data []byte, from, to string) ([]byte, error) {
	if len(from) != len(to) {
		return nil, fmt.Errorf("%s is not as long as %s", to, from)
	}
	old := []byte(from + "\x00")
	if n := bytes.Count(data, old); n != 2 {
		return nil, fmt.Errorf("%s stands there %d times, want 2", from, n)
	}
	return bytes.ReplaceAll(data, old, []byte(to+"\x00")), nil
}

// remade is what a bundle has that another one has not.
type remade struct {
	name       string // of the file
	kubernetes string // its version; "" is the other's
	// program is what a binary consists of, from what it consists of in the other bundle.
	program func(e bundle.Member, data []byte) ([]byte, error)
	// files and versions are those of other members that are not the other's, by their paths.
	files    map[string][]byte
	versions map[string]string
}

// changes says whether a member may have other bytes.
func (r remade) changes(e bundle.Member) bool {
	return e.Kind == bundle.Binary || r.files[e.Path] != nil
}

// remake makes a bundle of another one, with the checksums that belong to it.
func (s *Stand) remake(ctx context.Context, from string, r remade) (string, error) {
	a, err := bundle.Open(from)
	if err != nil {
		return "", err
	}
	old, m := a.Manifest(), *a.Manifest()
	m.Members = slices.Clone(m.Members)
	err = eachMember(ctx, from, func(head *tar.Header, body io.Reader) error {
		i := slices.IndexFunc(m.Members, func(e bundle.Member) bool { return e.Path == head.Name })
		if i < 0 || !r.changes(m.Members[i]) {
			return nil
		}
		data, err := r.of(m.Members[i], body)
		sum := sha256.Sum256(data)
		m.Members[i].Size, m.Members[i].SHA256 = int64(len(data)), hex.EncodeToString(sum[:])
		m.Members[i].Version = cmp.Or(r.versions[head.Name], m.Members[i].Version)
		return err
	})
	if err != nil {
		return "", err
	}
	if r.kubernetes != "" {
		m.Kubernetes = r.kubernetes
		for i, e := range m.Members {
			if e.Version == old.Kubernetes {
				m.Members[i].Version = r.kubernetes
				m.Members[i].Source = strings.ReplaceAll(e.Source, old.Kubernetes, r.kubernetes)
			}
		}
	}
	path := filepath.Join(s.Dir, r.name)
	return path, r.write(ctx, from, path, old, &m)
}

func (r remade) of(e bundle.Member, body io.Reader) ([]byte, error) {
	if data := r.files[e.Path]; data != nil {
		return data, nil
	}
	data, err := io.ReadAll(body)
	if err == nil {
		data, err = r.program(e, data)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", e.Path, err)
	}
	return data, err
}

// eachMember calls f with each member of a bundle until it fails.
func eachMember(ctx context.Context, path string, f func(*tar.Header, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f(head, t)
		}
		if err != nil {
			return err
		}
	}
}

// write copies a bundle with another manifest and its programs. It is stored, not compressed.
func (r remade) write(ctx context.Context, from, to string, old, m *bundle.Manifest) error {
	text, err := bundle.EncodeManifest(m)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	buffer := bufio.NewWriterSize(out, 1<<20)
	z, err := gzip.NewWriterLevel(buffer, gzip.NoCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = eachMember(ctx, from, func(head *tar.Header, body io.Reader) error {
		var data []byte
		switch e, ok := old.Member(head.Name); {
		case head.Name == bundle.ManifestName:
			data = text
		case head.Name == bundle.SumsName:
			data = bundle.SumsText(text, m)
		case ok && r.changes(e):
			if data, err = r.of(e, body); err != nil {
				return err
			}
		}
		if data != nil {
			body, head.Size = bytes.NewReader(data), int64(len(data))
		}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		_, err := io.Copy(t, body)
		return err
	})
	return errors.Join(err, t.Close(), z.Close(), buffer.Flush(), out.Close())
}
