package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// archive makes the images.tar of a bundle with the named images of a rig.
func archive(t testing.TB, from *rig, arch string, names ...string) *image.Archive {
	t.Helper()
	got, err := newClient(t, Options{}, map[string]*rig{"r.test": from, "q.test": from}).ResolveAll(t.Context(), names,
		image.Want{Arch: arch, Runtime: image.Containerd})
	if err != nil {
		t.Fatal(err)
	}
	blobs := map[string][]byte{}
	var images []image.Image
	for _, r := range got {
		images = append(images, r.Image())
		blobs[r.Manifest.Digest] = r.ManifestRaw
		for _, l := range append(r.Layers, r.Config) {
			blobs[l.Digest] = from.do("GET", "/v2/"+r.Ref.Path+"/blobs/"+l.Digest, "", nil).Body.Bytes()
		}
	}
	layout, err := image.Plan(images)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = layout.Write(t.Context(), &out, func(d string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(blobs[d])), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := image.NewArchive(t.Context(), bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPush: the images of two bundles come back from the private registry as they were, in an index of both
// architectures, and a second run sends nothing.
func TestPush(t *testing.T) {
	from, to := plainRig(t), plainRig(t)
	idx, arm, amd := from.multi("k/pause", "3.10")
	from.multi("k/coredns/coredns", "v1")
	single := from.image("only", "v1", made{})
	from.manifest("dock", "v1", dockerList, mustJSON(t, manifestList{2, dockerList, []image.Descriptor{
		on(from.image("dock", "", made{docker: true}), "linux", "arm64", "v8"),
		on(from.image("dock", "", made{docker: true, arch: "amd64"}), "linux", "amd64", "")}}))
	names := []string{"r.test/k/pause:3.10", "r.test/k/coredns/coredns:v1", "r.test/dock:v1"}
	archives := []*image.Archive{archive(t, from, "arm64", append(names, "r.test/only:v1")...),
		archive(t, from, "amd64", names...)}

	c := newClient(t, Options{}, nil)
	res, err := c.Push(t.Context(), archives, to.host+"/mirror", PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"r.test/dock:v1 dock:v1 linux/amd64,linux/arm64 1",
		"r.test/k/coredns/coredns:v1 k/coredns/coredns:v1 linux/amd64,linux/arm64 1",
		"r.test/k/pause:3.10 k/pause:3.10 linux/amd64,linux/arm64 1", "r.test/only:v1 only:v1 linux/arm64 0"}
	var got []string
	for _, p := range res.Images {
		got = append(got, fmt.Sprint(p.Name, strings.TrimPrefix(" "+p.Target, " "+to.host+"/mirror/"), " ",
			strings.Join(p.Platforms, ","), " ", len(p.Lost)))
		got[len(got)-1] = strings.Replace(got[len(got)-1], p.Name, p.Name+" ", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if lost := res.Images[2].Lost; len(lost) != 1 || lost[0] != "r.test/k/pause@"+idx.Digest {
		t.Errorf("lost %q", lost)
	}
	for arch, d := range map[string]string{"arm64": arm.Digest, "amd64": amd.Digest} {
		for _, name := range []string{":3.10", "@" + d} {
			r, err := c.Resolve(t.Context(), to.host+"/mirror/k/pause"+name,
				image.Want{Arch: arch, Runtime: image.Containerd})
			if err != nil || r.Manifest.Digest != d {
				t.Errorf("%s of %s: %v, %v", name, arch, r, err)
			}
		}
	}
	var list manifestList
	answer := to.do("GET", "/v2/mirror/dock/manifests/v1", "", nil)
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil || list.MediaType != dockerList ||
		answer.Header().Get("Content-Type") != dockerList || list.Manifests[1].Platform.Variant != "v8" &&
		list.Manifests[1].Platform.Variant != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if d := to.do("GET", "/v2/mirror/only/manifests/v1", "",
		nil).Header().Get("Docker-Content-Digest"); d != single.Digest {
		t.Errorf("the only platform is %s, want %s", d, single.Digest)
	}

	before := to.count("P") // POST, PUT, PATCH
	again, err := newClient(t, Options{}, nil).Push(t.Context(), archives, to.host+"/mirror", PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := to.count("PUT") + to.count("POST") + to.count("PATCH"); n != before || again.Uploaded != 0 ||
		again.Bytes != 0 || !slices.EqualFunc(again.Images, res.Images,
		func(a, b Pushed) bool { return a.Digest == b.Digest }) {
		t.Errorf("the second run sent %d requests and %d things", n-before, again.Uploaded)
	}
}

// TestPushOneAfterTheOther: bundles of two architectures that arrive one after the other, in either order, make the
// index of both; what has moved for one architecture takes the place of what was there.
func TestPushOneAfterTheOther(t *testing.T) {
	from, to := plainRig(t), plainRig(t)
	_, arm, amd := from.multi("k/pause", "3.10")
	archives := map[string]*image.Archive{"arm64": archive(t, from, "arm64", "r.test/k/pause:3.10"),
		"amd64": archive(t, from, "amd64", "r.test/k/pause:3.10")}
	both := ""
	for _, order := range [][]string{{"amd64", "arm64"}, {"arm64", "amd64", "arm64"}} {
		target := to.host + "/" + order[0]
		var last *PushResult
		for _, arch := range order {
			var err error
			if last, err = newClient(t, Options{}, nil).Push(t.Context(), []*image.Archive{archives[arch]}, target,
				PushOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(last.Images[0].Platforms, ","); got != "linux/amd64,linux/arm64" {
			t.Errorf("%v: %s", order, got)
		}
		for arch, d := range map[string]string{"arm64": arm.Digest, "amd64": amd.Digest} {
			r, err := newClient(t, Options{}, nil).Resolve(t.Context(), target+"/k/pause:3.10",
				image.Want{Arch: arch, Runtime: image.Containerd})
			if err != nil || r.Manifest.Digest != d {
				t.Errorf("%v: %s: %v, %v", order, arch, r, err)
			}
		}
		if both != "" && both != last.Images[0].Digest {
			t.Error("the order decides the index")
		}
		both = last.Images[0].Digest
	}
}

// TestPushUpstreamsIndex: with the bytes of upstream's index and all its platforms, a pod that pins it finds it.
func TestPushUpstreamsIndex(t *testing.T) {
	from, to := plainRig(t), plainRig(t)
	idx := from.index("a", "v1", on(from.image("a", "", made{}), "linux", "arm64", "v8"),
		on(from.image("a", "", made{arch: "amd64"}), "linux", "amd64", ""))
	raw := from.do("GET", "/v2/a/manifests/v1", "", nil).Body.Bytes()
	two := []*image.Archive{archive(t, from, "arm64", "r.test/a:v1"), archive(t, from, "amd64", "r.test/a:v1")}
	o := PushOptions{KeepHost: true, Index: func(d string) []byte {
		if d == idx.Digest {
			return raw
		}
		return nil
	}}
	res, err := newClient(t, Options{}, nil).Push(t.Context(), two, to.host, o)
	if err != nil || len(res.Images) != 1 || res.Images[0].Digest != idx.Digest || len(res.Images[0].Lost) != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := newClient(t, Options{}, nil).Resolve(t.Context(), to.host+"/r.test/a@"+idx.Digest, arm64); err != nil {
		t.Error(err)
	}
	// One platform of two is not the index.
	res, err = newClient(t, Options{}, nil).Push(t.Context(), two[:1], plainRig(t).host, o)
	if err != nil || res.Images[0].Digest == idx.Digest || len(res.Images[0].Lost) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestPushRefuses(t *testing.T) {
	from, to := plainRig(t), plainRig(t)
	from.multi("a", "v1")
	both := archive(t, from, "arm64", "r.test/a:v1", "q.test/a:v1")
	from.multi("a", "v2")
	before := archive(t, from, "arm64", "r.test/a:v1")
	from.image("a", "v1", made{seed: "moved"})
	after := archive(t, from, "arm64", "r.test/a:v1")
	for name, x := range map[string]struct {
		archives []*image.Archive
		target   string
		want     string
	}{
		"two hosts":   {[]*image.Archive{both}, to.host, "registry.push-collision"},
		"two builds":  {[]*image.Archive{before, after}, to.host, "registry.push-platform"},
		"no host":     {[]*image.Archive{before}, "mirror/k8s", "registry.target"},
		"a bad path":  {[]*image.Archive{before}, to.host + "/UPPER", "registry.target"},
		"a URL":       {[]*image.Archive{before}, "https://" + to.host, "registry.target"},
		"two, halves": {[]*image.Archive{before, before}, to.host, ""},
	} {
		if _, err := newClient(t, Options{Tries: 1}, nil).Push(t.Context(), x.archives, x.target,
			PushOptions{}); code(err) != x.want {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

// slow is a registry that keeps repositories apart, mounts between them, and breaks uploads: it takes a part of what is
// sent and hangs up.
type slow struct {
	mu      sync.Mutex
	has     map[string]bool // repository and digest
	uploads map[string][]byte
	status  bool // it tells how much of an upload it has
	piece   int  // bytes that it takes before it hangs up, as often as breaks says
	breaks  int
	sent    int // bytes that came in PATCHes
	mounted int
	final   int // PUTs to be answered with 503 first
}

func (s *slow) serve(w http.ResponseWriter, r *http.Request) bool {
	repo, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/")
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodHead:
		if !s.has[repo+rest] {
			w.WriteHeader(http.StatusNotFound)
		}
	case http.MethodPost:
		if d := r.URL.Query().Get("mount"); d != "" && s.has[r.URL.Query().Get("from")+d] {
			s.has[repo+d] = true
			s.mounted++
			w.WriteHeader(http.StatusCreated)
			return true
		}
		id := fmt.Sprint("u", len(s.uploads))
		s.uploads[id] = nil
		w.Header().Set("Location", "/v2/"+repo+"/blobs/uploads/"+id+"?state=x")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodGet:
		data, ok := s.uploads[strings.TrimPrefix(rest, "uploads/")]
		if !ok || !s.status {
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		w.Header().Set("Range", fmt.Sprintf("0-%d", max(len(data)-1, 0)))
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPatch:
		id := strings.TrimPrefix(rest, "uploads/")
		if cr := r.Header.Get("Content-Range"); cr != "" &&
			!strings.HasPrefix(cr, fmt.Sprint(len(s.uploads[id]), "-")) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}
		var body io.Reader = r.Body
		if s.breaks > 0 {
			body = io.LimitReader(body, int64(s.piece))
		}
		data, _ := io.ReadAll(body)
		s.uploads[id] = append(s.uploads[id], data...)
		s.sent += len(data)
		if s.breaks > 0 {
			s.breaks--
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Location", "/v2/"+repo+"/blobs/uploads/"+id+"?state=y")
		w.WriteHeader(http.StatusAccepted)
	case http.MethodPut:
		if s.final > 0 {
			s.final--
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		d := r.URL.Query().Get("digest")
		if r.URL.Query().Get("state") == "" || sum(s.uploads[strings.TrimPrefix(rest, "uploads/")]) != d {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"errors":[{"code":"DIGEST_INVALID","message":"not what it says"}]}`)
			return true
		}
		s.has[repo+d] = true
		w.WriteHeader(http.StatusCreated)
	}
	return true
}

// TestUploads: what breaks continues where it broke, or starts again where the registry cannot say; other repositories
// get the blob by mounting.
func TestUploads(t *testing.T) {
	from := plainRig(t)
	size := 0
	for _, repo := range []string{"a", "b"} {
		from.manifest(repo, "v1", ociManifest, mustJSON(t, map[string]any{"schemaVersion": 2, "mediaType": ociManifest,
			"config": from.blob(repo, ociConfig,
				[]byte(`{"architecture":"arm64","os":"linux","created":"2025-01-02T03:04:05Z","rootfs":{"diff_ids":["sha256:a"]}}`)),
			"layers": []image.Descriptor{from.blob(repo, ociLayer, bytes.Repeat([]byte("0123456789"), 100_000))}}))
	}
	bundle := archive(t, from, "arm64", "r.test/a:v1", "r.test/b:v1")
	for _, l := range bundle.Images()[0].Layers {
		size += int(l.Size)
	}
	for name, x := range map[string]struct {
		*slow
		sent int // of the layer, in all
	}{
		"whole":          {&slow{}, size},
		"resumed":        {&slow{status: true, breaks: 6, piece: 100_000}, size},
		"started again":  {&slow{breaks: 2, piece: 100_000}, size + 200_000},
		"refused at end": {&slow{status: true, final: 2}, size},
	} {
		t.Run(name, func(t *testing.T) {
			to := newRig(t, quietServer)
			s := x.slow
			s.has, s.uploads = map[string]bool{}, map[string][]byte{}
			to.wrap(s.serve)
			var mu sync.Mutex
			var last PushProgress
			res, err := newClient(t, Options{Tries: 4}, nil).Push(t.Context(), []*image.Archive{bundle}, to.host,
				PushOptions{Jobs: 1, Progress: func(p PushProgress) {
					mu.Lock()
					defer mu.Unlock()
					if p.Done > p.Total || p.Done < 0 {
						t.Errorf("%+v", p)
					}
					last = p
				}})
			if err != nil {
				t.Fatal(err)
			}
			config := int(bundle.Images()[0].Config.Size)
			if s.mounted != 2 || res.Mounted != 2 || s.sent-config != x.sent || !(last.Uploaded || last.Present) {
				t.Errorf("%d mounted, %d bytes sent, want %d; %+v, %+v", s.mounted, s.sent-config, x.sent, res, last)
			}
		})
	}
}

// TestPushDamaged: the registry finds out what is not what it says; the fault has its words.
func TestPushDamaged(t *testing.T) {
	from, to := plainRig(t), newRig(t, quietServer)
	from.multi("a", "v1")
	a := archive(t, from, "arm64", "r.test/a:v1")
	s := &slow{has: map[string]bool{}, uploads: map[string][]byte{}, piece: 1}
	to.wrap(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			r.Body = io.NopCloser(strings.NewReader("something else"))
		}
		return s.serve(w, r)
	})
	_, err := newClient(t, Options{Tries: 2}, nil).Push(t.Context(), []*image.Archive{a}, to.host, PushOptions{})
	if f := event.AsFault(err); f.Code != "registry.push" || !strings.Contains(f.Cause, "not what it says") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newClient(t, Options{}, nil).Push(ctx, []*image.Archive{a}, to.host,
		PushOptions{}); err != context.Canceled {
		t.Error(err)
	}
}
