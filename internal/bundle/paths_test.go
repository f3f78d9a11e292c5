package bundle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func deep(depth, members int) *Manifest {
	m := &Manifest{Format: 1, Name: "deep", Arch: "amd64", Kubernetes: "v1.34.2"}
	dir := strings.Repeat("a/", depth-1)
	for i := range members {
		m.Members = append(m.Members, Member{Path: fmt.Sprintf("%s%d", dir, i), Kind: Deb,
			SHA256: strings.Repeat("0", 64)})
	}
	return m
}

// A small file whose paths are deep kept a processor busy for half a minute: each directory of each path was looked up
// by its whole name. Paths have bounds now, and each element of each is looked up once.
func TestDeepPathsAreRefused(t *testing.T) {
	for name, m := range map[string]*Manifest{
		"deep": deep(nodepath.MaxDepth+1, 1),
		"long": {Format: 1, Name: "long", Arch: "amd64",
			Members: []Member{{Path: strings.Repeat("a", 200) + "/" + strings.Repeat("b", 200) + "/" +
				strings.Repeat("c", 200), Kind: Deb, SHA256: strings.Repeat("0", 64)}}},
	} {
		if err := m.Validate(); event.AsFault(err) == nil || event.AsFault(err).Code != "bundle.unsafe-path" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := deep(nodepath.MaxDepth, 2).Validate(); err != nil {
		t.Error(err)
	}
}

func TestPathsAreCheckedInProportionToTheirText(t *testing.T) {
	for _, members := range []int{100, MaxMembers} {
		m := deep(nodepath.MaxDepth, members)
		var tree pathTree
		for _, e := range m.Members {
			if other, ok := tree.add(e.Path, e.Path); !ok {
				t.Fatalf("%s and %s", e.Path, other)
			}
		}
		if want := members * nodepath.MaxDepth; tree.steps != want || tree.dirs != nodepath.MaxDepth-1 ||
			len(tree.nodes) != nodepath.MaxDepth+members {
			t.Errorf("%d members: %d steps, want %d; %d directories, %d nodes", members, tree.steps, want, tree.dirs,
				len(tree.nodes))
		}
	}
}

// No more directories than members may be made for a bundle.
func TestDirectoriesAreCounted(t *testing.T) {
	m := &Manifest{Format: 1, Name: "wide", Arch: "amd64"}
	for i := range MaxMembers / 10 {
		m.Members = append(m.Members, Member{Path: fmt.Sprintf("%d/%sx", i, strings.Repeat("a/", 20)), Kind: Deb,
			SHA256: strings.Repeat("0", 64)})
	}
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "directories") {
		t.Error(err)
	}
}

func TestPathsThatExcludeEachOther(t *testing.T) {
	for _, tc := range []struct {
		first, second string
		ok            bool
	}{
		{"a/b", "a/c", true}, {"a", "ab", true}, {"a/b", "ab", true}, {"a", "a", false}, {"a", "a/b", false},
		{"a/b", "a", false}, {"a/b/c", "a/b", false}, {"a/b", "a/b/c/d", false},
	} {
		var tree pathTree
		tree.add(tc.first, tc.first)
		if other, ok := tree.add(tc.second, tc.second); ok != tc.ok || !ok && other != tc.first {
			t.Errorf("%s, %s: %v %q", tc.first, tc.second, ok, other)
		}
	}
}

func BenchmarkDeepPaths(b *testing.B) {
	m := deep(nodepath.MaxDepth, MaxMembers)
	for b.Loop() {
		if err := m.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
