package builds_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/host/builds"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
)

// upstreamBuilds are builds whose spec and mirrors are those of a test's upstream, and their directory.
func upstreamBuilds(t *testing.T, u *buildtest.Upstream) (*builds.Builds, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	text := []byte(u.Spec("registry.test/app:1"))
	for name, data := range map[string][]byte{"keys.gpg": u.Keyring, "spec.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := (&host.Host{Dir: dir}).Path
	b := builds.New(t.Context(), builds.Options{
		Getenv: func(string) string { return "" }, Path: path,
		Spec:    func(string) (*spec.Spec, error) { return spec.Load(filepath.Join(dir, "spec.yaml")) },
		Mirrors: func(string) (*fetch.Mirrors, error) { return fetch.ParseMirrors(u.Mirrors()) },
	})
	t.Cleanup(b.End)
	return b, dir
}

func both() backend.Build {
	return backend.Build{System: "debian-12", Arches: []string{"amd64", "arm64"}, Out: "out"}
}

// A bundle is built in this process: what is shown ends where the result does, and a second build finds all of it.
func TestABundleIsBuiltInThisProcess(t *testing.T) {
	b, dir := upstreamBuilds(t, buildtest.New(t))
	if err := b.Reach(t.Context(), both()); err != nil {
		t.Error(err)
	}
	var last backend.BuildProgress
	end := b.Build(t.Context(), both(), func(p backend.BuildProgress) { last = p })
	if len(end.Faults) > 0 || len(end.Bundles) != 2 || end.Lock != filepath.Join(dir, "out", "bundle.lock") {
		t.Fatalf("%+v", end)
	}
	for _, x := range end.Bundles {
		if _, err := bundle.Verify(t.Context(), x.Path, nil); err != nil || x.SHA256 == "" || x.Unchanged {
			t.Errorf("%+v: %v", x, err)
		}
	}
	if len(last.Notes) != 2 || last.Resolving || last.Total.Done != last.Total.Total || last.Sources == 0 ||
		len(last.Warnings) != len(end.Warnings) || end.Fetched == 0 {
		t.Errorf("%+v, %+v", last, end)
	}
	end = b.Build(t.Context(), both(), func(backend.BuildProgress) {})
	if len(end.Faults) > 0 || !end.Bundles[0].Unchanged || end.Fetched != 0 {
		t.Errorf("built again: %+v", end)
	}
}

// What fails has its fault, and leaves no bundle behind; the next build takes what is there from the cache.
func TestABuildThatFails(t *testing.T) {
	u := buildtest.New(t)
	b, dir := upstreamBuilds(t, u)
	const addon = "/dl/net.yml"
	text := u.Get(addon)
	u.Set(addon, nil)
	end := b.Build(t.Context(), both(), func(backend.BuildProgress) {})
	if len(end.Faults) != 1 || end.Faults[0].Code != "fetch.not-found" {
		t.Errorf("%+v", end)
	}
	nothingHalf(t, dir)
	u.Set(addon, text)
	var last backend.BuildProgress
	end = b.Build(t.Context(), both(), func(p backend.BuildProgress) { last = p })
	if len(end.Bundles) != 2 || last.Cached == 0 {
		t.Errorf("%+v, %+v", end, last)
	}
}

// A build that is stopped, by its context or by the end of the program, leaves nothing half written.
func TestABuildIsStopped(t *testing.T) {
	u := buildtest.New(t)
	b, dir := upstreamBuilds(t, u)
	first := b.Build(t.Context(), both(), func(backend.BuildProgress) {}) // the lock says what there is to fetch
	for _, path := range []string{first.Bundles[0].Path, first.Bundles[1].Path, filepath.Join(dir, "cache")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	asked := make(chan string, 9)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/kubelet") {
			_, _ = w.Write(u.Get("/dl" + r.URL.Path))
			return
		}
		asked <- r.URL.Path
		<-r.Context().Done()
	}))
	t.Cleanup(slow.Close)
	b.Mirrors = func(string) (*fetch.Mirrors, error) {
		return fetch.ParseMirrors(append(slices.DeleteFunc(u.Mirrors(),
			func(m string) bool { return strings.HasPrefix(m, "https://dl.test=") }), "https://dl.test="+slow.URL))
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked // its place in the bundle is waiting for it
		if half, _ := filepath.Glob(filepath.Join(dir, "out", "*.part*")); len(half) == 0 {
			t.Error("nothing was begun")
		}
		cancel()
	}()
	end := b.Build(ctx, both(), func(backend.BuildProgress) {})
	if len(end.Faults) != 1 || end.Faults[0].Code != "interrupted" {
		t.Errorf("%+v", end)
	}
	nothingHalf(t, dir)
	b.End()
	if end := b.Build(t.Context(), both(), func(backend.BuildProgress) {}); len(end.Faults) != 1 ||
		end.Faults[0].Code != "interrupted" {
		t.Errorf("after the end: %+v", end)
	}
	nothingHalf(t, dir)
}

func nothingHalf(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"*.part", "*.tar.gz", ".*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, "out", pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// Without a network the fault names the servers that a build would ask, and no others.
func TestThereIsNoNetwork(t *testing.T) {
	u := buildtest.New(t)
	b, _ := upstreamBuilds(t, u)
	b.Mirrors = func(string) (*fetch.Mirrors, error) { // port 1 of this machine answers nobody
		return fetch.ParseMirrors([]string{"https://dl.test=http://127.0.0.1:1"})
	}
	err := b.Reach(t.Context(), both())
	if err == nil || event.AsFault(err).Code != "build.no-network" || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
	if asked := u.Asked("/"); len(asked) > 0 {
		t.Error(asked)
	}
}

// What is offered are the values of --os, each with the version of Kubernetes that its spec has.
func TestTheOfferOfBuilds(t *testing.T) {
	b := builds.New(t.Context(), builds.Options{Getenv: os.Getenv, Path: func(p string) string { return "/x/" + p }})
	defer b.End()
	o, err := b.Offer(t.Context())
	if err != nil || o.Usual != "debian-12" || o.Out != "/x/out" || len(o.Presets) == 0 {
		t.Fatalf("%+v %v", o, err)
	}
	found := false
	for _, s := range o.Systems {
		found = found || s.ID == o.Usual
		if !strings.HasPrefix(s.Kubernetes, "v1.") || s.Runtime == "" {
			t.Errorf("%+v", s)
		}
	}
	if !found {
		t.Errorf("%+v", o.Systems)
	}
}

// From the menu on the screen to a bundle in the output directory.
func TestTheMenuBuildsABundle(t *testing.T) {
	b, dir := upstreamBuilds(t, buildtest.New(t))
	deps := &pages.Deps{S: &uitest.Host{}, Builds: b}
	a := ui.New(pages.NewMenu(deps), ui.Options{Lang: i18n.English})
	uitest.Run(t, a, a.Init())
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 300, Height: 40}) // a long temporary directory does not wrap
	uitest.Keys(t, a, "b", "end", "enter")
	file := filepath.Join(dir, "out", "test-"+runtime.GOARCH+".tar.gz")
	uitest.Has(t, a, "Built in", filepath.Base(file), "sha256", "Enter install a cluster")
	if _, err := bundle.Verify(t.Context(), file, nil); err != nil {
		t.Error(err)
	}
}
