package state

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	files := map[string][]byte{"ca.crt": []byte("a"), "etcd/ca.key": {}, "nodes/w1/kubelet.crt": []byte("c")}
	one, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	two, err := pack(maps.Clone(files))
	if err != nil || !bytes.Equal(one, two) {
		t.Error("the same files are another archive", err)
	}
	got, err := unpack(one)
	if err != nil || !same(got, files) {
		t.Errorf("%q %v", got, err)
	}
}

// archiveOf returns an archive of members as they are.
func archiveOf(t *testing.T, members ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, h := range members {
		h.Mode = 0o777
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpack_Hostile(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1} }
	good := archiveOf(t, file("ca.crt"))
	for name, data := range map[string][]byte{
		"leads out":         archiveOf(t, file("../ca.crt")),
		"leads out later":   archiveOf(t, file("nodes/../../ca.crt")),
		"absolute":          archiveOf(t, file("/etc/passwd")),
		"two ways to write": archiveOf(t, file("nodes//w1")),
		"dot":               archiveOf(t, file("./ca.crt")),
		"backslash":         archiveOf(t, file(`nodes\w1`)),
		"symbolic link":     archiveOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "nodes", Linkname: "/etc"}),
		"hard link": archiveOf(t, file("ca.crt"),
			tar.Header{Typeflag: tar.TypeLink, Name: "other", Linkname: "ca.crt"}),
		"directory": archiveOf(t, tar.Header{Typeflag: tar.TypeDir, Name: "nodes"}),
		"device":    archiveOf(t, tar.Header{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}),
		"pipe":      archiveOf(t, tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"}),
		"twice":     archiveOf(t, file("ca.crt"), file("ca.crt")),
		"too big":   archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: mostBytes + 1}),
		"cut off":   good[:len(good)-12],
		"no gzip":   []byte("ca.crt"),
		"no tar":    gzipped(t, strings.Repeat("x", 1024)),
	} {
		if files, err := unpack(data); err == nil {
			t.Errorf("%s: %d files", name, len(files))
		}
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What a part writes has the mode of a secret, and replaces what was there of it.
func TestPart_Write(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"pki/old.key": "old", "known_hosts": "old", "runs/a": "log",
		"admin.conf": "old"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range parts() {
		files := map[string][]byte{"ca.key": []byte("a"), "nodes/w1/kubelet.key": []byte("b")}
		if p.tree == "" {
			files = map[string][]byte{"known_hosts": []byte("new")}
		}
		if err := p.write(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	got := tree(t, dir)
	want := map[string]string{"pki/ca.key": "a", "pki/nodes/w1/kubelet.key": "b", "known_hosts": "new", "runs/a": "log"}
	if !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for name := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if name != "runs/a" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Error(name, info, err)
		}
	}
}

// A link in the pki is not followed: it would put a file of the host into a Secret.
func TestPart_ReadLink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "pki", "ca.crt")); err != nil {
		t.Fatal(err)
	}
	if files, err := parts()[0].read(dir); err == nil {
		t.Errorf("%q", files)
	}
}
