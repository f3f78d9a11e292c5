package stand

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// NewerDebs makes a bundle like another one in which some deb packages have a newer version: the same files, with
// "+eggo1" behind their version. It gives its path, and the versions before by name.
func (s *Stand) NewerDebs(ctx context.Context, from string, names ...string) (at string, old map[string]string,
	err error) {
	s.Say("%s, with newer packages of %v", filepath.Base(from), names)
	a, err := bundle.Open(from)
	if err != nil {
		return "", nil, err
	}
	m := a.Manifest()
	r := remade{name: "newer-" + filepath.Base(from), files: map[string][]byte{}, versions: map[string]string{},
		program: func(_ bundle.Member, data []byte) ([]byte, error) { return data, nil }}
	old = map[string]string{}
	lists := map[string][]byte{}
	err = eachMember(ctx, from, func(head *tar.Header, body io.Reader) error {
		e, ok := m.Member(head.Name)
		switch {
		case ok && e.Kind == bundle.Metadata && path.Base(e.Path) == "Packages":
			lists[e.Path], err = io.ReadAll(body)
			return err
		case !ok || e.Kind != bundle.Deb || !slices.Contains(names, e.Name):
			return nil
		}
		old[e.Name], r.versions[e.Path] = e.Version, e.Version+"+eggo1"
		r.files[e.Path], err = s.repacked(ctx, e, body)
		return err
	})
	if err == nil && (len(old) != len(names) || len(lists) != 1) {
		err = fmt.Errorf("%s has %v of %v, and %d lists", from, old, names, len(lists))
	}
	if err != nil {
		return "", nil, err
	}
	for name, text := range lists {
		r.files[name] = newerList(text, m, r)
	}
	at, err = s.remake(ctx, from, r)
	return at, old, err
}

// repacked is a package with another version.
func (s *Stand) repacked(ctx context.Context, e bundle.Member, body io.Reader) (data []byte, err error) {
	dir, err := os.MkdirTemp(s.Dir, "deb-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	in, tree, out := filepath.Join(dir, "in.deb"), filepath.Join(dir, "tree"), filepath.Join(dir, "out.deb")
	if data, err = io.ReadAll(body); err != nil {
		return nil, err
	}
	if err := os.WriteFile(in, data, 0o600); err != nil {
		return nil, err
	}
	if text, err := exec.CommandContext(ctx, "dpkg-deb", "--raw-extract", in, tree).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", e.Path, err, text)
	}
	control := filepath.Join(tree, "DEBIAN", "control")
	text, err := os.ReadFile(control)
	if err != nil {
		return nil, err
	}
	was, now := "\nVersion: "+e.Version+"\n", "\nVersion: "+e.Version+"+eggo1\n"
	if !strings.Contains(string(text), was) {
		return nil, fmt.Errorf("%s: its control file does not have the version %s", e.Path, e.Version)
	}
	if err := os.WriteFile(control, []byte(strings.Replace(string(text), was, now, 1)), 0o644); err != nil {
		return nil, err
	}
	if text, err := exec.CommandContext(ctx, "dpkg-deb", "-Zgzip", "--build", tree, out).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", e.Path, err, text)
	}
	return os.ReadFile(out)
}

// newerList is a repository's list with the versions and files of a remade bundle.
func newerList(text []byte, m *bundle.Manifest, r remade) []byte {
	var out bytes.Buffer
	for stanza := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		for line := range strings.Lines(stanza + "\n") {
			field, _, _ := strings.Cut(line, ":")
			at := stanzaFile(stanza, m, r)
			data := r.files[at]
			sum := sha256.Sum256(data)
			switch {
			case at == "":
			case field == "Version":
				line = "Version: " + r.versions[at] + "\n"
			case field == "Size":
				line = "Size: " + strconv.Itoa(len(data)) + "\n"
			case field == "SHA256":
				line = "SHA256: " + hex.EncodeToString(sum[:]) + "\n"
			case field == "MD5sum" || field == "SHA1" || field == "SHA512":
				continue
			}
			out.WriteString(line)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// stanzaFile is the member of a remade bundle that a stanza is of; "" when that is as it was.
func stanzaFile(stanza string, m *bundle.Manifest, r remade) string {
	for p := range r.versions {
		e, _ := m.Member(p)
		if strings.HasPrefix(stanza, "Package: "+e.Name+"\n") {
			return p
		}
	}
	return ""
}
