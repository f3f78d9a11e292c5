package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestEverySpellingOfAName: whatever a pod writes, the same image is found, and the archive gets all the names that it
// may be looked up by.
func TestEverySpellingOfAName(t *testing.T) {
	r := plainRig(t)
	idx, arm, amd := r.multi("k8s/library/nginx", "1.29")
	mirrors, err := fetch.ParseMirrors([]string{"docker.io=" + r.host + "/k8s"})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Mirrors: mirrors}, nil)
	const repo = "docker.io/library/nginx"
	all := []string{repo + ":1.29", repo + "@" + idx.Digest, repo + "@" + arm.Digest}
	for in, want := range map[string][]string{
		"nginx:1.29":                                       all,
		"docker.io/nginx:1.29":                             all,
		"docker.io/library/nginx:1.29":                     all,
		"nginx:1.29@" + idx.Digest:                         all,
		"nginx@" + idx.Digest:                              all[1:],
		"nginx@" + arm.Digest:                              {all[2]},
		"index.docker.io/library/nginx:1.29@" + arm.Digest: {all[0], all[2]},
	} {
		got, err := c.Resolve(t.Context(), in, arm64)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if !slices.Equal(got.Names, want) || got.Manifest.Digest != arm.Digest || got.Manifest.Size != arm.Size ||
			got.Manifest.MediaType != ociManifest {
			t.Errorf("%s: %q is %+v, want %q of %s", in, got.Names, got.Manifest, want, arm.Digest)
		}
		if strings.Contains(in, arm.Digest) == (got.Index == idx.Digest) ||
			got.Platform != (image.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}) {
			t.Errorf("%s: index %q, platform %+v", in, got.Index, got.Platform)
		}
		if len(got.Layers) != 2 || sum(got.ConfigRaw) != got.Config.Digest || sum(got.ManifestRaw) != arm.Digest {
			t.Errorf("%s: %+v", in, got)
		}
		if _, err := image.Plan([]image.Image{got.Image()}); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	if got, err := c.Resolve(t.Context(), "nginx:1.29", image.Want{Arch: "amd64", Runtime: image.Docker}); err != nil ||
		got.Manifest.Digest != amd.Digest {
		t.Errorf("amd64: %v, %v", got, err)
	}
	if _, err := c.Resolve(t.Context(), "Not a name", arm64); code(err) != "image.name" ||
		event.AsFault(err).Class != event.ClassUsage {
		t.Error(err)
	}
	// Both architectures and all spellings must have seen one and the same index.
	if n := r.count("GET", "/manifests/1.29"); n != 1 {
		t.Errorf("the tag was asked for %d times", n)
	}
}

// TestWhatIsRefused: an image that the nodes could not run is refused when it is resolved, with the reason.
func TestWhatIsRefused(t *testing.T) {
	good := `{"architecture":"arm64","os":"linux",%s"rootfs":{"diff_ids":["sha256:a","sha256:b"]}}`
	dated := `"created":"2025-01-02T03:04:05Z",`
	layers := func(n int) func(map[string]any) {
		return func(m map[string]any) { m["layers"] = m["layers"].([]image.Descriptor)[:n] }
	}
	for name, x := range map[string]struct {
		made
		runtime image.Runtime
		want    string
		warn    string
	}{
		"good":                      {},
		"good for docker":           {runtime: image.Docker, made: made{docker: true}},
		"good for isulad":           {runtime: image.ISulad},
		"plain manifest of another": {made: made{arch: "amd64"}, want: "bundle.image-arch"},
		"windows": {made: made{config: strings.Replace(fmt.Sprintf(good, dated), "linux", "windows",
			1)}, want: "bundle.image-arch"},
		"newer variant":       {made: made{variant: "v9"}, want: "bundle.image-arch"},
		"no config to read":   {made: made{config: "{"}, want: "bundle.image-manifest"},
		"layers and diff ids": {made: made{edit: layers(1)}, want: "bundle.image-manifest"},
		"zstd":                {made: made{layer: "application/vnd.oci.image.layer.v1.tar+zstd"}},
		"zstd for docker": {runtime: image.Docker,
			made: made{layer: "application/vnd.oci.image.layer.v1.tar+zstd"}, want: "image.layer-runtime"},
		"zstd for isulad": {runtime: image.ISulad,
			made: made{layer: "application/vnd.oci.image.layer.v1.tar+zstd"}, want: "image.layer-runtime"},
		"foreign": {made: made{layer: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"},
			want: "image.foreign-layer"},
		"nondistributable": {made: made{layer: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"},
			want: "image.foreign-layer"},
		"a layer of a chart": {made: made{layer: "application/vnd.cncf.helm.chart.content.v1.tar+gzip"},
			want: "bundle.image-media-type"},
		"a chart": {made: made{edit: func(m map[string]any) {
			m["config"] = image.Descriptor{MediaType: "application/vnd.cncf.helm.config.v1+json", Digest: sum(nil)}
		}}, want: "image.chart"},
		"plain layer that is another": {made: made{layer: "application/vnd.oci.image.layer.v1.tar"},
			want: "image.blob-wrong"},
		"undated": {made: made{config: fmt.Sprintf(good, "")}, warn: "image.warn.created"},
		"undated for isulad": {runtime: image.ISulad, made: made{config: fmt.Sprintf(good, "")},
			want: "image.created"},
		"null date for isulad": {runtime: image.ISulad, made: made{config: fmt.Sprintf(good, `"created":null,`)},
			want: "image.created"},
		"zero date for isulad": {runtime: image.ISulad,
			made: made{config: fmt.Sprintf(good, `"created":"0001-01-01T00:00:00Z",`)}},
		"far date for isulad": {runtime: image.ISulad,
			made: made{config: fmt.Sprintf(good, `"created":"2039-01-01T00:00:00Z",`)}, want: "image.created"},
		"undated history": {made: made{config: fmt.Sprintf(good, dated+`"history":[{}],`)},
			warn: "image.warn.history"},
		"undated history, isulad": {runtime: image.ISulad,
			made: made{config: fmt.Sprintf(good, dated+`"history":[{"created":null}],`)}, want: "image.history"},
		"schema 1": {made: made{edit: func(m map[string]any) { m["schemaVersion"] = 1 }},
			want: "image.schema1"},
		"two in one": {made: made{edit: func(m map[string]any) { m["manifests"] = []string{} }},
			want: "bundle.image-manifest"},
		"sent as something else": {made: made{declare: dockerManifest}, want: "bundle.image-manifest"},
		"says something else": {made: made{declare: ociIndex, edit: func(m map[string]any) {
			delete(m, "mediaType")
		}}, want: "bundle.image-manifest"},
		"a size below nothing": {made: made{edit: func(m map[string]any) {
			m["layers"].([]image.Descriptor)[0].Size = -1
		}}, want: "bundle.image-manifest"},
		"one digest, two sizes": {made: made{edit: func(m map[string]any) {
			l := m["layers"].([]image.Descriptor)
			l[0].Digest = l[1].Digest
		}}, want: "bundle.image-manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plainRig(t)
			r.image("a/b", "v1", x.made)
			if x.runtime == "" {
				x.runtime = image.Containerd
			}
			got, err := newClient(t, Options{Tries: 1}, map[string]*rig{"r.test": r}).Resolve(t.Context(),
				"r.test/a/b:v1", image.Want{Arch: "arm64", Runtime: x.runtime})
			if code(err) != x.want {
				t.Fatalf("%v, want %q", err, x.want)
			}
			if err != nil {
				if f := event.AsFault(err); f.Class != event.ClassFailed || f.Args["image"] != "r.test/a/b:v1" {
					t.Errorf("%+v", f)
				}
				return
			}
			var warn []string
			for _, w := range got.Warnings {
				warn = append(warn, w.Key)
			}
			if strings.Join(warn, " ") != x.warn {
				t.Errorf("warnings %q, want %q", warn, x.warn)
			}
		})
	}
}

func TestIndexes(t *testing.T) {
	r := plainRig(t)
	arm := r.image("a", "", made{})
	amd := r.image("a", "", made{arch: "amd64"})
	inner := r.index("a", "", on(arm, "linux", "arm64", ""))
	r.index("a", "no-arm", on(amd, "linux", "amd64", ""), on(amd, "linux", "amd64", "v3"),
		on(arm, "unknown", "unknown", ""))
	r.index("a", "lies", on(amd, "linux", "arm64", ""))
	r.index("a", "nested", inner)
	r.index("a", "bare", arm)
	r.index("a", "bare-two", amd, arm)
	r.index("a", "bare-other", amd, on(amd, "linux", "amd64", "v3"))
	r.index("a", "bare-and-none", r.image("a", "", made{config: "{"}), arm)
	r.index("a", "v9", on(arm, "linux", "arm64", "v9"))
	r.index("a", "empty")
	raw := map[string][]byte{"traversal": mustJSON(t,
		manifestList{2, ociIndex, []image.Descriptor{on(image.Descriptor{MediaType: ociManifest,
			Digest: "sha256:../../../x"}, "linux", "arm64", "")}}),
		"gone": mustJSON(t, manifestList{2, ociIndex,
			[]image.Descriptor{on(image.Descriptor{MediaType: ociManifest, Digest: sum(nil), Size: 3}, "linux", "arm64",
				"")}})}
	r.wrap(func(w http.ResponseWriter, req *http.Request) bool {
		body, ok := raw[path.Base(req.URL.Path)]
		if ok {
			w.Write(body)
		}
		return ok
	})
	r.index("a", "huge", on(image.Descriptor{MediaType: ociManifest, Digest: arm.Digest, Size: 1 << 40}, "linux",
		"arm64", ""))
	r.manifest("a", "docker", dockerList, mustJSON(t,
		manifestList{2, dockerList, []image.Descriptor{on(r.image("a", "", made{docker: true}), "linux", "arm64",
			"v8")}}))
	c := newClient(t, Options{Tries: 1}, map[string]*rig{"r.test": r})
	for tag, want := range map[string]string{
		"no-arm": "image.platform", "lies": "bundle.image-arch", "nested": "image.nested-index", "bare": "",
		"bare-two": "", "bare-other": "image.platform", "bare-and-none": "",
		"v9":    "image.platform",
		"empty": "image.platform", "traversal": "bundle.image-manifest", "huge": "bundle.image-manifest",
		"gone": "registry.not-found", "docker": "",
		"missing": "registry.not-found",
	} {
		_, err := c.Resolve(t.Context(), "r.test/a:"+tag, arm64)
		if code(err) != want {
			t.Errorf("%s: %v, want %q", tag, err, want)
		}
		if tag == "bare-other" && event.AsFault(err).Args["has"] != "linux/amd64/v3, linux/amd64" {
			t.Errorf("without platforms there is %q", event.AsFault(err).Args["has"])
		}
		if tag == "no-arm" && event.AsFault(err).Args["has"] != "linux/amd64, linux/amd64/v3" {
			t.Errorf("there is %q", event.AsFault(err).Args["has"])
		}
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

// TestARegistryThatLies: what comes under a digest must have it.
func TestARegistryThatLies(t *testing.T) {
	for _, kind := range []string{"/manifests/sha256:", "/blobs/sha256:"} {
		r := plainRig(t)
		r.multi("a", "v1")
		r.wrap(func(w http.ResponseWriter, req *http.Request) bool {
			if strings.Contains(req.URL.Path, kind) {
				fmt.Fprint(w, `{"schemaVersion":2}`)
				return true
			}
			return false
		})
		_, err := newClient(t, Options{}, map[string]*rig{"r.test": r}).Resolve(t.Context(), "r.test/a:v1", arm64)
		if code(err) != "image.blob-wrong" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestTryingAgain: what passes is asked again, for manifests as for the handshake; what does not is told at once.
func TestTryingAgain(t *testing.T) {
	status := func(n int, header ...string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(n)
		}
	}
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "{")
	}
	for name, x := range map[string]struct {
		path   string
		answer func(http.ResponseWriter)
		want   string // when it does not pass
		once   bool
	}{
		"too many":            {"/manifests/v1", status(429, "Retry-After", "0.001"), "registry.rate-limited", false},
		"too many, handshake": {"/v2/", status(429), "registry.rate-limited", false},
		"unavailable":         {"/manifests/v1", status(503), "registry.refused", false},
		"gateway, config":     {"/blobs/", status(502), "registry.refused", false},
		"cut":                 {"/manifests/sha256:", cut, "registry.unreachable", false},
		"cut, config":         {"/blobs/", cut, "registry.unreachable", false},
		"denied":              {"/manifests/v1", status(403), "registry.denied", true},
		"not found":           {"/manifests/v1", status(404), "registry.not-found", true},
		"teapot":              {"/manifests/v1", status(418), "registry.refused", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := plainRig(t)
			r.multi("a", "v1")
			left := 2
			r.wrap(func(w http.ResponseWriter, req *http.Request) bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				match := strings.HasSuffix(req.URL.Path, x.path) || x.path != "/v2/" &&
					strings.Contains(req.URL.Path, x.path)
				if !match || left == 0 {
					return false
				}
				left--
				x.answer(w)
				return true
			})
			again := 0
			c := newClient(t, Options{Retry: func(f *event.Fault) {
				if f.Code != x.want {
					t.Errorf("again because of %v", f)
				}
				again++
			}}, map[string]*rig{"r.test": r})
			_, err := c.Resolve(t.Context(), "r.test/a:v1", arm64)
			if x.once {
				if code(err) != x.want || again != 0 {
					t.Errorf("%v after %d more tries", err, again)
				}
				return
			}
			if err != nil || again != 2 {
				t.Errorf("%v after %d more tries", err, again)
			}
			left = -1
			if _, err := newClient(t, Options{Tries: 3}, map[string]*rig{"r.test": r}).Resolve(t.Context(),
				"r.test/a:v1", arm64); code(err) != x.want {
				t.Errorf("%v, want %s", err, x.want)
			}
		})
	}
}

// TestAllProblemsAtOnce: one image that cannot be had does not hide the next, and a registry that is not there is not
// waited for by each.
func TestAllProblemsAtOnce(t *testing.T) {
	r := plainRig(t)
	r.multi("a", "v1")
	r.image("amd", "v1", made{arch: "amd64"})
	gone := plainRig(t)
	gone.srv.Close()
	again := 0
	c := newClient(t, Options{Jobs: 1, Retry: func(*event.Fault) { again++ }},
		map[string]*rig{"r.test": r, "gone.test": gone})
	got, err := c.ResolveAll(t.Context(), []string{"r.test/amd:v1", "r.test/a:v1", "gone.test/x:1", "gone.test/y:1",
		"bad name", "r.test/a:v2"}, arm64)
	var codes []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		codes = append(codes, code(e)+" "+event.AsFault(e).Args["image"])
	}
	want := []string{"bundle.image-arch r.test/amd:v1", "registry.unreachable gone.test/x:1",
		"registry.unreachable gone.test/y:1", "image.name bad name", "registry.not-found r.test/a:v2"}
	if !slices.Equal(codes, want) {
		t.Errorf("%q\nwant %q", codes, want)
	}
	if got[1] == nil || got[0] != nil || got[5] != nil || again != 4 {
		t.Errorf("%v, %d more tries", got, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ResolveAll(ctx, []string{"r.test/a:v1"}, arm64); err != context.Canceled {
		t.Error(err)
	}
}

// TestARegistryThatSaysNothing is given up after the time that the options give it.
func TestARegistryThatSaysNothing(t *testing.T) {
	r := plainRig(t)
	r.wrap(func(_ http.ResponseWriter, req *http.Request) bool { <-req.Context().Done(); return true })
	_, err := newClient(t, Options{Timeout: time.Millisecond, Tries: 2},
		map[string]*rig{"r.test": r}).Resolve(t.Context(), "r.test/a:v1", arm64)
	if f := event.AsFault(err); f.Code != "registry.unreachable" || f.Cause != "no answer in time" {
		t.Error(err)
	}
}

// noPlatform is that of an entry whose configuration tells none.
func noPlatform(image.Descriptor) (image.Platform, error) { return image.Platform{}, nil }

func FuzzIndexAndManifest(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"`+ociIndex+`","manifests":[{"mediaType":"`+ociManifest+`","digest":"`+
		sum(nil)+`","size":1,"platform":{"os":"linux","architecture":"arm64"}}]}`), "")
	f.Add([]byte(`{"schemaVersion":2,"config":{"mediaType":"`+ociConfig+`","digest":"`+sum(nil)+
		`"},"layers":[{"mediaType":"`+ociLayer+`","digest":"`+sum(nil)+`"}]}`), ociManifest)
	f.Fuzz(func(t *testing.T, raw []byte, contentType string) {
		_, isIndex, err := image.Kind("x", raw, contentType)
		if err != nil {
			return
		}
		if isIndex {
			if d, err := image.Choose("x", raw, arm64, noPlatform); err == nil {
				if _, err := image.Hex(d.Digest); err != nil || d.Size < 0 || d.Size > 4<<20 {
					t.Fatalf("chose %+v", d)
				}
			}
			return
		}
		if m, err := image.ReadManifest("x", raw, image.Docker); err == nil {
			for _, l := range m.Layers {
				if _, err := image.Hex(l.Digest); err != nil || l.Size < 0 {
					t.Fatalf("accepted %+v", l)
				}
			}
		}
	})
}

// TestArtifact: what is no image, such as a chart, has its part found by type.
func TestArtifact(t *testing.T) {
	const chart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	r := plainRig(t)
	d := r.blob("charts/x", chart, []byte("a chart"))
	r.manifest("charts/x", "1.2.3", ociManifest, mustJSON(t,
		map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "layers": []image.Descriptor{d},
			"config": r.blob("charts/x", "application/vnd.cncf.helm.config.v1+json", []byte("{}"))}))
	r.image("an/image", "v1", made{})
	c := newClient(t, Options{Tries: 1}, map[string]*rig{"r.test": r})
	if got, err := c.Artifact(t.Context(), "r.test/charts/x:1.2.3", chart); err != nil || got.Digest != d.Digest {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Artifact(t.Context(), "r.test/an/image:v1", chart); code(err) != "registry.artifact" {
		t.Error(err)
	}
	if _, err := c.Artifact(t.Context(), "r.test/charts/y:1", chart); code(err) != "registry.not-found" {
		t.Error(err)
	}
}

// TestATagOfAChartIsAskedOfTheSource: a public mirror only carries what has a digest.
func TestATagOfAChartIsAskedOfTheSource(t *testing.T) {
	const chart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	source, mirror := plainRig(t), plainRig(t)
	want := ""
	for r, content := range map[*rig]string{source: "a chart", mirror: "another one"} {
		d := r.blob("charts/x", chart, []byte(content))
		r.manifest("charts/x", "1.2.3", ociManifest, mustJSON(t,
			map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "layers": []image.Descriptor{d},
				"config": r.blob("charts/x", "application/vnd.cncf.helm.config.v1+json", []byte("{}"))}))
		if r == source {
			want = d.Digest
		}
	}
	mirrors, err := (&fetch.Mirrors{}).WithPublic([]string{source.host + "=" + mirror.host})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Options{Tries: 1, Mirrors: mirrors}, nil)
	if got, err := c.Artifact(t.Context(), source.host+"/charts/x:1.2.3", chart); err != nil || got.Digest != want {
		t.Errorf("%+v, %v, want %s", got, err, want)
	}
}
