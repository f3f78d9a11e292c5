package building

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

var update = flag.Bool("update", false, "write the golden files again")

// stage is a reporter with a clock of its own.
type stage struct {
	*Reporter
	cols        int
	at          time.Time
	stdout, err bytes.Buffer
}

func newStage(lang i18n.Lang, cols int, terminal bool) *stage {
	s := &stage{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.cols = cols
	o := Output{Stdout: &s.stdout, P: i18n.NewPrinter(lang)}
	o.Progress = report.ProgressOptions{
		Out: &s.err, Now: func() time.Time { return s.at }, Size: func() (int, int) { return s.cols, 24 },
		Bars: terminal,
	}
	s.Reporter = New(o, []string{"amd64", "arm64"}, false)
	return s
}

func (s *stage) pass(d time.Duration) { s.at = s.at.Add(d) }

func (s *stage) fetching(arch, what, url string, done, total int64) {
	s.Event(build.Event{Kind: build.Fetching, Arch: arch, What: what, URL: url, Done: done, Total: total})
}

const mib = 1 << 20

// frame is what stands on the terminal below what was said.
func (s *stage) frame() string {
	var b strings.Builder
	for _, r := range s.rows() {
		b.WriteString(strings.TrimRight(s.live.Render(r, s.cols), " ") + "\n")
	}
	return b.String()
}

// story drives a reporter through a build: each scene is what a person sees at a moment.
func story(s *stage, scene func(name string)) {
	s.fetching("amd64", "bookworm InRelease", "u0", 0, -1)
	s.fetching("arm64", "bookworm InRelease", "u1", 0, -1)
	s.pass(time.Second)
	s.fetching("amd64", "bookworm/main Packages", "u2", 3*mib, 11*mib)
	s.Event(build.Event{Kind: build.Fetched, Arch: "arm64", What: "bookworm InRelease", URL: "u1", Total: 151000})
	s.pass(time.Second)
	s.fetching("amd64", "bookworm/main Packages", "u2", 8*mib, 11*mib)
	scene("resolving")
	for _, u := range []string{"u0", "u2"} {
		what := map[string]string{"u0": "bookworm InRelease", "u2": "bookworm/main Packages"}[u]
		s.Event(build.Event{Kind: build.Fetched, Arch: "amd64", What: what, URL: u, Total: 11 * mib})
	}
	s.Event(build.Event{Kind: build.Resolved, Arch: "amd64", Packages: 142, Known: 63463, Total: 86 * mib})
	names := []string{"registry.k8s.io/coredns/coredns:v1.12.1",
		"ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1", "kube-apiserver", "kubelet", "containerd 1.7.24~ds1-6"}
	for step := range int64(12) {
		for i, n := range names {
			for _, arch := range []string{"amd64", "arm64"} {
				s.fetching(arch, n, fmt.Sprint(n, arch, 1), step*mib*int64(i+1)/2, 60*mib)
			}
		}
		for i, arch := range []string{"amd64", "arm64"} {
			s.Event(build.Event{Kind: build.Packing, Arch: arch, What: "eggo-" + arch + ".tar.gz",
				Done: step*12*mib - int64(i)*step*mib, Total: 612 * mib})
		}
		s.pass(time.Second)
	}
	s.fetching("amd64", names[0], "another layer", 2*mib, 4*mib)
	scene("fetching")
	s.Event(build.Event{Kind: build.Retrying, Arch: "amd64", What: names[0], URL: "another layer", Done: 2 * mib,
		Total: 4 * mib,
		Fault: event.NewFault(event.ClassFailed, "fetch.truncated", nil, "what", names[0], "url",
			"https://registry.k8s.io/v2/x", "got", "2097152", "want", "4194304")})
	s.Event(build.Event{Kind: build.Waiting, Arch: "arm64", What: names[1], URL: fmt.Sprint(names[1], "arm64", 1),
		Done: 12 * mib, Total: 60 * mib})
	scene("trouble")
	for _, n := range names {
		for _, arch := range []string{"amd64", "arm64"} {
			s.Event(build.Event{Kind: build.Fetched, Arch: arch, What: n, URL: fmt.Sprint(n, arch, 1), Total: 60 * mib})
		}
	}
	s.Event(build.Event{Kind: build.Fetched, Arch: "amd64", What: names[0], URL: "another layer", Total: 4 * mib})
	for range 8 {
		s.pass(time.Second)
		s.fetching("amd64", "an image of nobody/with-a-name-that-is-much-longer-than-any-screen-and-in-中文的名字:v1",
			"u9", 1300*mib, 1500*mib)
		for _, arch := range []string{"amd64", "arm64"} {
			s.Event(build.Event{Kind: build.Packing, Arch: arch, What: "eggo-" + arch + ".tar.gz", Done: 612*mib - 1,
				Total: 612 * mib})
		}
	}
	scene("standstill")
}

func TestTheScreen(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for _, cols := range []int{50, 80, 120, 200} {
			t.Run(fmt.Sprint(lang, cols), func(t *testing.T) {
				s := newStage(lang, cols, true)
				var got strings.Builder
				story(s, func(name string) {
					f := s.frame()
					for _, line := range strings.Split(f, "\n") {
						if w := ansi.StringWidth(line); w >= cols {
							t.Errorf("%s: a line of %d cells: %q", name, w, line)
						}
					}
					fmt.Fprintf(&got, "== %s\n%s", name, f)
				})
				golden(t, fmt.Sprintf("screen-%s-%d.txt", lang, cols), got.String())
			})
		}
	}
}

func TestALogOfABuild(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		s := newStage(lang, 80, false)
		story(s, func(string) {})
		warning := event.M("build.warn.first-use", "file", "net.yml", "url", "https://dl.test/net.yml", "sha256", "00")
		for _, arch := range []string{"amd64", "arm64"} {
			s.Event(build.Event{Kind: build.Warned, Arch: arch, Text: &warning})
		}
		s.Close(&build.Result{Lock: "out/bundle.lock", Bundles: []build.Bundle{
			{Arch: "amd64", Path: "out/eggo-amd64.tar.gz", Size: 612 * mib, SHA256: strings.Repeat("ab", 32),
				Took: 95 * time.Second},
			{Arch: "arm64", Path: "out/eggo-arm64.tar.gz", Size: 612 * mib,
				Parts: []string{"out/eggo-arm64.tar.gz.001", "out/eggo-arm64.tar.gz.002"}, Took: 9 * time.Second},
			{Arch: "arm64", Path: "out/other.tar.gz", Size: 612 * mib, Unchanged: true},
		}, Warnings: []event.Msg{warning, warning}})
		golden(t, fmt.Sprintf("log-%s.txt", lang), s.err.String()+"== stdout\n"+s.stdout.String())
	}
}

// The same trouble is told once for each source; another reason is told again.
func TestTriesAreToldOnce(t *testing.T) {
	s := newStage(i18n.English, 80, false)
	try := func(code string) {
		s.Event(build.Event{Kind: build.Retrying, Arch: "amd64", What: "kubelet", URL: "u",
			Fault: event.NewFault(event.ClassFailed, code, nil, "what", "kubelet", "url", "u")})
	}
	for _, code := range []string{"fetch.not-found", "fetch.not-found", "fetch.network", "fetch.network",
		"fetch.not-found"} {
		try(code)
	}
	if n := strings.Count(s.err.String(), "\n"); n != 3 {
		t.Errorf("told %d times:\n%s", n, &s.err)
	}
}

// A server that is down is told once, whatever was to come from it; another one is told too.
func TestAServerThatIsDownIsToldOnce(t *testing.T) {
	s := newStage(i18n.English, 80, false)
	for _, u := range []string{"https://a.example/kubelet", "https://a.example/kubectl", "https://b.example/etcd",
		"https://a.example/kubelet"} {
		f := event.NewFault(event.ClassFailed, "fetch.network",
			errors.New("dial tcp 192.0.2.1:443: connect: connection refused"), "what", u, "url", u)
		s.Event(build.Event{Kind: build.Retrying, Arch: "amd64", What: u, URL: u, Fault: f})
	}
	if n := strings.Count(s.err.String(), "\n"); n != 2 {
		t.Errorf("told %d times:\n%s", n, &s.err)
	}
}

// A terminal gets each frame in the place of the one before: as many lines up as were drawn, also after the window
// became narrower.
func TestFramesReplaceEachOther(t *testing.T) {
	s := newStage(i18n.English, 80, true)
	up := func() string {
		s.err.Reset()
		s.pass(time.Second)
		s.live.Change(func() {})
		return s.err.String()
	}
	s.fetching("amd64", "kubelet", "u", 0, 100)
	if first := up(); strings.Contains(first, ansi.CursorUp(1)) || strings.Count(first, "\n") != 2 {
		t.Errorf("%q", first)
	}
	if second := up(); !strings.Contains(second, "\r"+ansi.CursorUp(2)) {
		t.Errorf("%q", second)
	}
	s.cols = 40
	if third := up(); !strings.Contains(third, "\r"+ansi.CursorUp(4)) {
		t.Errorf("each of the two lines takes two now: %q", third)
	}
	s.err.Reset()
	s.live.Close()
	if !strings.HasSuffix(s.err.String(), ansi.EraseScreenBelow) {
		t.Errorf("%q", &s.err)
	}
	s.err.Reset()
	s.Event(build.Event{Kind: build.Fetched, Arch: "amd64", What: "kubelet", URL: "u", Total: 100})
	if s.err.Len() != 0 {
		t.Errorf("after the end: %q", &s.err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-update writes it):\n%s", name, d)
	}
}
