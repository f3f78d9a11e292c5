package image

import (
	"slices"
	"strings"
	"testing"
)

const digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"nginx":                              "docker.io/library/nginx:latest",
		"nginx:1.29":                         "docker.io/library/nginx:1.29",
		"docker.io/nginx:1.29":               "docker.io/library/nginx:1.29",
		"index.docker.io/library/nginx:1.29": "docker.io/library/nginx:1.29",
		"calico/node:v3":                     "docker.io/calico/node:v3",
		"registry.k8s.io/pause:3.10":         "registry.k8s.io/pause:3.10",
		"registry.k8s.io/pause":              "registry.k8s.io/pause:latest",
		"localhost/a":                        "localhost/a:latest",
		"10.0.0.1:5000/a/b:c":                "10.0.0.1:5000/a/b:c",
		"[::1]:5000/a:b":                     "[::1]:5000/a:b",
		"quay.io/a/b@" + digestA:             "quay.io/a/b@" + digestA,
		"quay.io/a/b:v1@" + digestA:          "quay.io/a/b@" + digestA,
		"":                                   "", "UPPER": "", "a//b": "", "https://quay.io/a": "", "a:": "",
		"a@sha256:12": "", "a b": "", "a\x00": "", "../a": "", "a_b.c/d": "", "a_b:5000/d:1": "",
		"a@sha512:" + strings.Repeat("a", 128): "", digestA[7:]: "", "quay.io/" + strings.Repeat("a/", 300) + "a": "",
	} {
		got, err := Normalize(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]bool{"a": true, "a:latest": true, "a:v1": false, "a@" + digestA: false,
		"a:latest@" + digestA: false} {
		if r, err := ParseName(in); err != nil || r.Latest != want {
			t.Errorf("%q: latest is %v, %v", in, r.Latest, err)
		}
	}
}

// TestNames: a pod that pins the index, one that pins the manifest and one that has the tag must all find the image.
func TestNames(t *testing.T) {
	index, manifest := digestA, strings.ReplaceAll(digestA, "a", "b")
	manifest = strings.Replace(manifest, "shb", "sha", 1)
	for in, want := range map[string][]string{
		"pause:3": {"docker.io/library/pause:3", "docker.io/library/pause@" + index,
			"docker.io/library/pause@" + manifest},
		"r.test/p:3@" + index:  {"r.test/p:3", "r.test/p@" + index, "r.test/p@" + manifest},
		"r.test/p@" + manifest: {"r.test/p@" + manifest, "r.test/p@" + index},
	} {
		r, err := ParseName(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Names(index, manifest); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"nginx", "a.b/c:d", "a/b@" + digestA, "[::1]:5000/a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := Normalize(s)
		if err != nil {
			return
		}
		if twice, err := Normalize(once); err != nil || twice != once {
			t.Fatalf("%q: %q, then %q: %v", s, once, twice, err)
		}
	})
}
