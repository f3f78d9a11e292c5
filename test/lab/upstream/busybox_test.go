package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBusyboxIsCompiledFromItsSourceAlone(t *testing.T) {
	m, d := newMirror(t)
	m.files["/d/pool/main/b/busybox/busybox_1.35.0.orig.tar.bz2"] = "another source"
	b := testBuilder(t)
	b.debian, b.tmp = d, t.TempDir()
	for arch, want := range map[string]string{"amd64": "sha256", "arm64": "this machine only, which is amd64"} {
		for range 2 {
			_, err := busyboxJob(arch).run(t.Context(), b)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", arch, err, want)
			}
		}
	}
	if n := m.asked["/d/pool/main/b/busybox/busybox_1.35.0.orig.tar.bz2"]; n != 2 {
		t.Errorf("what is not the source was kept: asked %d times", n)
	}
}

func TestBusyboxIsStaticAndHasNoTC(t *testing.T) {
	got, err := staticConfig([]byte("CONFIG_SWAPON=y\n# CONFIG_STATIC is not set\n# CONFIG_STATIC_LIBGCC is not set\n" +
		"CONFIG_TC=y\nCONFIG_FEATURE_TC_INGRESS=y\n"))
	want := "CONFIG_SWAPON=y\nCONFIG_STATIC=y\n# CONFIG_STATIC_LIBGCC is not set\n# CONFIG_TC is not set\n" +
		"CONFIG_FEATURE_TC_INGRESS=y\n"
	if d := cmp.Diff(want, string(got)); err != nil || d != "" {
		t.Error(err, d)
	}
	if _, err := staticConfig([]byte("CONFIG_TC=y\n")); err == nil || !strings.Contains(err.Error(), "CONFIG_STATIC") {
		t.Errorf("a source without the option: %v", err)
	}
}

// The shell is that of busybox; a program of a package comes in place of the command of the same name.
func TestTheShellOfTheImagesIsBusybox(t *testing.T) {
	_, b := archive(t, map[string]string{
		"netbase": deb(t, member{name: "./etc/protocols", mode: 0o644, data: []byte("tcp 6\n")},
			member{name: "./etc/services", mode: 0o644, data: []byte("http 80/tcp\n")}),
		"iproute2": deb(t, member{name: "./bin/ip", mode: 0o755, data: []byte("iproute2")},
			member{name: "./lib/x86_64-linux-gnu/libgcc_s.so.1", mode: 0o644, data: []byte("library")}),
	}, nil)
	u := userland{packages: []string{"iproute2"}, programs: []string{"bin/ip"}}
	if _, err := b.shellUserland(t.Context(), "amd64", u); err == nil || !strings.Contains(err.Error(), "busybox") {
		t.Errorf("without busybox: %v", err)
	}
	file := filepath.Join(b.dir, busyboxProgram("amd64"))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho cat; echo ip; echo sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	user, err := b.shellUserland(t.Context(), "amd64", u)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range withParents(user) {
		if strings.HasPrefix(m.name, "bin/") && !m.dir {
			got[m.name] = m.link + string(m.data) + strings.TrimPrefix(m.source, b.dir)
		}
	}
	want := map[string]string{"bin/busybox": "/programs/busybox-1.35.0/amd64/busybox", "bin/cat": "busybox",
		"bin/ip": "iproute2", "bin/sh": "busybox"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
