package spec

import (
	"errors"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
)

func TestEmbeddedSpec(t *testing.T) {
	s, err := Parse(assets.BundleSpec)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		x := s.For(arch)
		for _, b := range x.Binaries {
			if strings.ContainsAny(b.URL+b.Checksum+b.Version, "{}") || !strings.Contains(b.URL, arch) {
				t.Errorf("%s: %s %s", b.Name, b.URL, b.Checksum)
			}
		}
	}
	for _, r := range s.Repositories {
		if name, ok := strings.CutPrefix(r.Keyring, "embedded:"); ok {
			if _, err := assets.Keyring(name); err != nil {
				t.Error(err)
			}
		}
	}
}

const small = `version: 1
name: a
kubernetes: v1.34.2
os: {family: debian, id: debian, release: 12}
`

// TestProblems: every problem has a code and the line that it is in; several are told at once.
func TestProblems(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "1 spec.yaml"},
		{"not a map", "- a\n", "1 spec.type"},
		{"unknown and duplicate keys", small + "image: []\nname: b\n", "5 spec.unknown-key, 6 spec.duplicate"},
		{"hole", small + "images:\n - {name: 'r.test/x:{version}', roles: [etcd]}\n", "6 spec.hole, 6 spec.value"},
		{"alias", small + "addons: &a []\nimages: *a\n", "6 spec.alias"},
		{"escape", small + "addons:\n - {name: ../../x, url: https://a.test/x}\n", "6 spec.value"},
		{"same member twice", small + "addons:\n - {name: x, url: https://a.test/x}\n - {name: X, url: https://a.test/x}\n", "1 spec.duplicate"},
		{"reserved member", small + "binaries:\n - {name: Packages, url: https://a.test/x, sha256: " + strings.Repeat("0", 64) + ", dst: /a, roles: [etcd]}\n", "1 spec.duplicate"},
		{"packages from nowhere", small + "packages: {install: [{name: socat, roles: [worker]}]}\n", "1 spec.missing"},
		{"credentials", small + "addons:\n - {name: x, url: 'https://u:p@a.test/x'}\n", "6 spec.value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			ps := (Problems)(nil)
			if !errors.As(err, &ps) {
				t.Fatalf("%v", err)
			}
			var got []string
			for _, p := range ps {
				got = append(got, p.Args["line"]+" "+p.Code)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

func TestImageNames(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for name, ok := range map[string]bool{
		"registry.k8s.io/pause:3.10.1": true, "localhost:5000/a/b:1": true, "ghcr.io/a/b" + digest: true, "ghcr.io/a/b:1" + digest: true,
		"nginx": false, "nginx:1": false, "library/nginx:1": false, "ghcr.io/a/b": false, "ghcr.io/a/b@sha512:00": false, "ghcr.io/A/b:1": false,
	} {
		if err := imageName(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add(assets.BundleSpec)
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if s != nil {
			s.For("amd64")
		}
	})
}
