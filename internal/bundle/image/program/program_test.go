package program_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/image/program"
)

// compiled returns a static program for an architecture.
func compiled(t *testing.T, arch string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.24\n",
		"main.go": "package main\n\nfunc main() { println(1) }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", "x", ".")
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	data, err := os.ReadFile(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func archive(t *testing.T, images ...*program.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := program.Write(context.Background(), &out, images...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An image is an archive that our own reader accepts, is the same whenever it is made, and has the program, a user
// without rights, and nothing that another user can write.
func TestMake(t *testing.T) {
	p := program.Program{Name: "registry.example.com/eggo/eggops:v1", Arch: runtime.GOARCH, Path: "/eggops",
		Binary: compiled(t, runtime.GOARCH), Roots: []byte("roots\n"), Labels: map[string]string{"a": "b"}}
	one, err := program.Make(p)
	if err != nil {
		t.Fatal(err)
	}
	two, err := program.Make(p)
	if err != nil {
		t.Fatal(err)
	}
	data := archive(t, one)
	if !bytes.Equal(data, archive(t, two)) {
		t.Error("the same program gives another image")
	}
	all, err := image.Check(context.Background(), bytes.NewReader(data))
	if err != nil || len(all) != 1 || !slices.Equal(all[0].Names, []string{p.Name}) ||
		all[0].Platform.String() != "linux/"+runtime.GOARCH {
		t.Fatal(all, err)
	}
	a, err := image.NewArchive(context.Background(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
	}
	if err := json.Unmarshal(read(t, a, all[0].Config.Digest), &config); err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/eggops"}) || c.Labels["a"] != "b" {
		t.Error(c)
	}
	z, err := gzip.NewReader(bytes.NewReader(read(t, a, all[0].Layers[0].Digest)))
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode&0o022 != 0 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		has[h.Name] = string(text)
	}
	if has["eggops"] != string(p.Binary) || has["etc/ssl/certs/ca-certificates.crt"] != "roots\n" ||
		!strings.Contains(has["etc/passwd"], ":65532:") {
		t.Error("the layer lacks a file")
	}
}

func read(t *testing.T, a *image.Archive, digest string) []byte {
	t.Helper()
	r, err := a.Open(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A program that cannot run in its image is refused when the image is made.
func TestMake_Refuses(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	good := program.Program{Name: "x/eggops:v1", Arch: runtime.GOARCH, Path: "/eggops",
		Binary: compiled(t, runtime.GOARCH)}
	for name, c := range map[string]struct {
		change func(*program.Program)
		want   string
	}{
		"another architecture": {func(p *program.Program) { p.Binary = compiled(t, other) },
			"not for " + runtime.GOARCH},
		"no program":      {func(p *program.Program) { p.Binary = []byte("#!/bin/sh\n") }, "not an ELF file"},
		"half a program":  {func(p *program.Program) { p.Binary = p.Binary[:30] }, "not an ELF file"},
		"an unknown arch": {func(p *program.Program) { p.Arch = "vax" }, `"vax"`},
		"a relative path": {func(p *program.Program) { p.Path = "eggops" }, "not absolute"},
		"a bad name":      {func(p *program.Program) { p.Name = "A B" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			c.change(&p)
			if _, err := program.Make(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("a dynamic program", func(t *testing.T) {
		ls, err := os.ReadFile("/bin/ls")
		if err != nil {
			t.Skip("there is no /bin/ls")
		}
		p := good
		p.Binary = ls
		if _, err := program.Make(p); err == nil || !strings.Contains(err.Error(), "dynamically linked") {
			t.Error(err)
		}
	})
}
