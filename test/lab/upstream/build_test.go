package upstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testBuilder(t *testing.T) *builder {
	t.Helper()
	return &builder{dir: t.TempDir(), goVersion: "go1.26.0", host: "amd64",
		indexes: map[string]map[string]*debPackage{}, line: func(string) {}}
}

// hello is a job that publishes one file with its checksum and counts how often it ran.
func hello(runs *int, fail error) job {
	return job{id: "hello", title: "hello", recipe: "1", run: func(_ context.Context, b *builder) (made, error) {
		*runs++
		b.line("compiling")
		f := filepath.Join(b.tmp, "hello")
		if err := os.WriteFile(f, []byte("hello\n"), 0o644); err != nil {
			return made{}, err
		}
		if fail != nil {
			return made{}, fail
		}
		files, err := b.publish(f, "https://dl.k8s.io/hello", ".sha256", func(sum, _ string) string { return sum })
		return made{files: files}, err
	}}
}

func TestAJobIsDoneOnceAndAgainWhenSomethingOfItChanges(t *testing.T) {
	b := testBuilder(t)
	runs := 0
	file := filepath.Join(b.dir, filesDir, "dl.k8s.io", "hello")
	do := func(want int, why string) {
		t.Helper()
		var states []State
		if _, err := b.step(context.Background(), hello(&runs, nil), time.Now(), Progress{Step: 1, Steps: 1},
			func(p Progress) { states = append(states, p.State) }); err != nil {
			t.Fatal(err)
		}
		if runs != want {
			t.Errorf("%s: ran %d times, not %d (%v)", why, runs, want, states)
		}
	}
	do(1, "first")
	do(1, "again")
	if err := os.Truncate(file, 3); err != nil {
		t.Fatal(err)
	}
	do(2, "a file was cut")
	if err := os.Remove(file + ".sha256"); err != nil {
		t.Fatal(err)
	}
	do(3, "a checksum is missing")
	b.goVersion = "go1.27.0"
	do(4, "another compiler")
	sum, err := os.ReadFile(file + ".sha256")
	if err != nil || string(sum) != "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" {
		t.Errorf("checksum file: %q, %v", sum, err)
	}
}

func TestAFailedJobLeavesNothing(t *testing.T) {
	b := testBuilder(t)
	runs := 0
	broken := errors.New("compiler says no")
	if _, err := b.step(context.Background(), hello(&runs, broken), time.Now(), Progress{},
		func(Progress) {}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatAKilledBuildLeftIsTakenAway(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tmp-1", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeLeftovers(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTwoBuildsOfOneCacheWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	first, err := lock(context.Background(), dir, func() { t.Error("nobody to wait for") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	done := make(chan error)
	go func() {
		second, err := lock(context.Background(), dir, func() { close(waiting) })
		if err == nil {
			err = second.Unlock()
		}
		done <- err
	}()
	<-waiting
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestTheSumsOfAReleaseNameEveryArchitectureThatIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"etcd-v3.6.4-linux-arm64.tar.gz", "etcd-v3.6.4-linux-amd64.tar.gz", "other"} {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(filepath.Join(dir, "SHA256SUMS"), "etcd-*.tar.gz"); err != nil {
		t.Fatal(err)
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if want := empty + "  etcd-v3.6.4-linux-amd64.tar.gz\n" + empty +
		"  etcd-v3.6.4-linux-arm64.tar.gz\n"; err != nil || string(got) != want {
		t.Errorf("%s%v", got, err)
	}
}

func TestOnlyPlainURLsHaveAPlace(t *testing.T) {
	for _, u := range []string{"dl.k8s.io/x", "https://x/../../y", "https:///etc/passwd", "https://x/y?z=1"} {
		if p, err := urlPath(u); err == nil {
			t.Errorf("%s lies at %s", u, p)
		}
	}
	if p, err := urlPath("https://dl.k8s.io/a/b"); err != nil || p != "files/dl.k8s.io/a/b" {
		t.Error(p, err)
	}
}

func TestThePrinterSaysHowFarItIs(t *testing.T) {
	var w strings.Builder
	p := Printer(&w)
	p(Progress{Step: 1, Steps: 2, State: Present})
	p(Progress{Step: 2, Steps: 2, Title: "etcd", State: Running, Total: time.Second})
	p(Progress{Step: 2, Steps: 2, Title: "etcd", State: Running, Line: "too soon", Total: 2 * time.Second})
	p(Progress{Step: 2, Steps: 2, Title: "etcd", State: Running, Line: "go.etcd.io/raft", Elapsed: 3 * time.Second,
		Total: 4 * time.Second})
	p(Progress{Step: 2, Steps: 2, Title: "etcd", State: Done, Elapsed: 5 * time.Second})
	const want = "[2/2] etcd\n[2/2] etcd: 3s, go.etcd.io/raft\n[2/2] etcd: done in 5s\n"
	if w.String() != want {
		t.Error(w.String())
	}
	w.Reset()
	p = Printer(&w)
	p(Progress{State: Waiting})
	for i := range 2 {
		p(Progress{Step: i + 1, Steps: 2, State: Present, Total: 12 * time.Millisecond})
	}
	if want := "waiting for another build of the lab's upstream to end\nthe lab's upstream is all there (2 things, " +
		"checked in 12ms)\n"; w.String() != want {
		t.Error(w.String())
	}
}
