package image

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// docker25 are the files that docker 25.0.0 wrote: an OCI layout whose manifests have no layers, and manifest.json with
// all of them over the same blobs (moby 47065). Images that hidden lists have no entry in index.json (moby
// 47210 and 51389).
func docker25(t testing.TB, tags map[string]peer, hidden ...peer) []file {
	t.Helper()
	blobs := map[string][]byte{}
	put := func(mediaType string, data []byte) Descriptor {
		blobs[sumOf(data)] = data
		return Descriptor{MediaType: mediaType, Digest: sumOf(data), Size: int64(len(data))}
	}
	var entries []Descriptor
	var docker []dockerEntry
	add := func(tag string, p peer) Descriptor {
		config := put(mediaOCIConfig, p.config)
		e := dockerEntry{Config: blobPath(config.Digest)}
		for _, l := range p.layers {
			e.Layers = append(e.Layers, blobPath(put(mediaDockerLayer, l).Digest))
		}
		if tag != "" {
			e.RepoTags = []string{tag}
		}
		docker = append(docker, e)
		return put(mediaOCIManifest, mustJSON(t, Document{SchemaVersion: 2, MediaType: mediaOCIManifest,
			Config: config}))
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		entries = append(entries, named(add(tag, tags[tag]), AnnotationName, "docker.io/library/"+tag))
	}
	for _, p := range hidden {
		add("", p)
	}
	return append(layoutOf(t, blobs, entries...), file{name: dockerName, body: string(mustJSON(t, docker))})
}

// What the OCI layout of an archive lacks is taken from manifest.json, and nothing that it has.
func TestALayoutThatLacksSomething(t *testing.T) {
	a, b := newPeer(t, "amd64", layerOf(t, "a")), newPeer(t, "amd64", layerOf(t, "b"))
	blobs, whole := a.oci(t)
	saved := func(entries []Descriptor, images ...dockerEntry) []file {
		return append(layoutOf(t, blobs, entries...), file{name: dockerName, body: string(mustJSON(t, images))})
	}
	ofA := dockerEntry{Config: blobPath(sumOf(a.config)), RepoTags: []string{"a:1"},
		Layers: []string{blobPath(sumOf([]byte(gzipped(t, a.layers[0]))))}}
	entry := named(whole, AnnotationName, "docker.io/library/a:1")
	for name, x := range map[string]struct {
		files []file
		ask   string
		own   bool
		fault string
		has   int
	}{
		"without layers":            {docker25(t, map[string]peer{"a:1": a}), "a:1", true, "", 1},
		"two without layers":        {docker25(t, map[string]peer{"a:1": a, "b:2": b}), "b:2", true, "", 2},
		"named by its digest":       {docker25(t, nil, a), "r.test/any:1", true, "", 1},
		"one of two in the index":   {docker25(t, map[string]peer{"a:1": a}, b), "a:1", true, "", 2},
		"whole, with manifest.json": {saved([]Descriptor{entry}, ofA), "a:1", false, "", 1},
		"whole, with another's":     {saved([]Descriptor{entry}, ofA, dockerEntry{Config: "x"}), "a:1", false, "", 1},
		"whole, with a damaged one": {append(layoutOf(t, blobs, entry), file{name: dockerName, body: "[1"}), "a:1",
			false, "", 1},
		"an empty index":          {saved(nil, ofA), "a:1", true, "", 1},
		"an empty index, damaged": {saved(nil, dockerEntry{Config: "x"}), "a:1", false, "image.source", 0},
		"without layers or manifest.json": {docker25(t, map[string]peer{"a:1": a})[:5], "a:1", false,
			"bundle.image-manifest", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, write(t, t.TempDir(), "save.tar", tarOf(t, x.files...)))
			got, err := s.Resolve(t.Context(), x.ask, amd64)
			if code(err) != x.fault || err == nil && got.Own != x.own {
				t.Fatalf("%+v, %v, want %q", got, err, x.fault)
			}
			if err == nil {
				repack(t, s, got)
			}
			list, err := s.Images(t.Context())
			if len(list) != x.has {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// An index without platforms goes by the configurations of its images, in an archive as in a registry.
func TestAnIndexWithoutPlatforms(t *testing.T) {
	blobs, amd := newPeer(t, "amd64", layerOf(t, "a")).oci(t)
	more, arm := newPeer(t, "arm64", layerOf(t, "b")).oci(t)
	for d, raw := range more {
		blobs[d] = raw
	}
	gone := Descriptor{MediaType: mediaOCIManifest, Digest: sumOf([]byte("gone")), Size: 4}
	idx := mustJSON(t, index{SchemaVersion: 2, MediaType: mediaOCIIndex, Manifests: []Descriptor{gone, amd, arm}})
	blobs[sumOf(idx)] = idx
	top := Descriptor{MediaType: mediaOCIIndex, Digest: sumOf(idx), Size: int64(len(idx))}
	s := open(t, write(t, t.TempDir(), "x.tar",
		tarOf(t, layoutOf(t, blobs, named(top, AnnotationName, "r.test/a:1"))...)))
	for arch, want := range map[string]string{"amd64": amd.Digest, "arm64": arm.Digest} {
		got, err := s.Resolve(t.Context(), "r.test/a:1", Want{arch, Containerd})
		if err != nil || got.Manifest.Digest != want {
			t.Errorf("%s: %+v, %v", arch, got, err)
		}
	}
	_, err := s.Resolve(t.Context(), "r.test/a:1", Want{"s390x", Containerd})
	if code(err) != "image.platform" {
		t.Error(err)
	}
	list, err := s.Images(t.Context())
	if err != nil || fmt.Sprint(list) != "[{[r.test/a:1] "+top.Digest+" [linux/amd64 linux/arm64]}]" {
		t.Errorf("%v, %v", list, err)
	}
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
