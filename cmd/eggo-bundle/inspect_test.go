package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// The names that an image has for pods which pin a digest are not images of their own for a person.
func TestAnImageIsListedOnce(t *testing.T) {
	pause, dns := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("c", 64)
	image := func(name, digest string) bundle.Image {
		return bundle.Image{Name: name, Digest: digest, Size: 2048, Layers: []string{"sha256:1"},
			Roles: []bundle.Role{"worker"}}
	}
	pinned := "example.com/dns@" + dns
	m := &bundle.Manifest{Images: []bundle.Image{
		image("example.com/pause@"+pause, pause), image("example.com/pause:1", pause),
		image("example.com/pause:latest", pause), image(pinned, dns),
	}}
	first := func(name, digest string) []string { return []string{name, "2.0 KiB", "1", "1", digest, "worker"} }

	want := [][]string{first("example.com/pause:1", "sha256:"+strings.Repeat("a", 12)), {"  example.com/pause:latest"},
		first(pinned, "sha256:"+strings.Repeat("c", 12))}
	if d := cmp.Diff(want, imageRows(m, false)); d != "" {
		t.Error(d)
	}
	want = [][]string{first("example.com/pause:1", pause), {"  example.com/pause:latest"},
		{"  example.com/pause@" + pause}, first(pinned, dns)}
	if d := cmp.Diff(want, imageRows(m, true)); d != "" {
		t.Error(d)
	}
}
