package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBuildSurvivesKills kills a build with SIGKILL at random moments. Each run goes on where the last one was; what
// comes out in the end is byte for byte what an undisturbed build makes on one core, with another cache, directory,
// time zone and umask; nothing is left behind; and little is fetched twice.
func TestBuildSurvivesKills(t *testing.T) {
	w := newWorkshop(t)
	kills := 10
	args := []string{"build", "--arch", runtime.GOARCH, "--mirrors", w.mirrors}
	if os.Getenv("EGGO_E2E_FULL") == "1" {
		kills = 100
	} else {
		args = append(args, "-f", w.spec(t, "eggo", func(doc map[string]any) {
			install(doc, "socat", "conntrack", "nftables")
			doc["binaries"] = slices.DeleteFunc(doc["binaries"].([]any), func(b any) bool {
				return !slices.Contains([]string{"kubectl", "etcd"}, b.(map[string]any)["name"].(string))
			})
		}))
	}
	began, before := time.Now(), w.front.Sent()
	calm := filepath.Join(w.Dir, "calm")
	program(t, "env", append([]string{"GOMAXPROCS=1", "TZ=Asia/Kathmandu", "LC_ALL=zh_CN.UTF-8", "sh", "-c",
		`umask 077; cd /; exec "$@"`, "sh", w.Program("eggo-bundle")},
		append(args, "--cache", filepath.Join(w.Dir, "calm-cache"), "-o", calm)...)...)
	once, took := w.front.Sent()-before, time.Since(began)
	w.Say("undisturbed: %s, %d MiB fetched", took.Round(time.Millisecond), once>>20)
	want := sums(t, calm)

	rnd := random(w.Stand)
	out, cache := filepath.Join(w.Dir, "out"), filepath.Join(w.Dir, "kill-cache")
	args = append(args, "--cache", cache, "-o", out)
	before = w.front.Sent()
	rounds := 1
	for killed := 0; killed < kills; {
		p, err := w.StartPacking(t.Context(), nil, args...)
		must(t, "build", err)
		// Some soon, so that there are several in one build; some late, so that a build comes to its end now and then.
		span := took / time.Duration(1+rnd.IntN(6))
		timer := time.AfterFunc(time.Duration(rnd.Float64()*float64(span)), func() { _ = p.Kill() })
		got, err := p.Wait()
		timer.Stop()
		must(t, "build", err)
		if got.Code > 0 {
			t.Fatalf("after %d kills a build ends by itself with exit code %d:\n%s", killed, got.Code,
				tail(got.Out, 40))
		}
		if got.Code < 0 {
			killed++
			continue
		}
		w.Say("after %d kills a build came to its end", killed)
		sameFiles(t, want, sums(t, out))
		nothingLeft(t, cache)
		// From nothing again.
		rounds++
		must(t, "start again", os.RemoveAll(out))
		must(t, "start again", os.RemoveAll(cache))
	}
	w.runs(t, 0, args...)
	sameFiles(t, want, sums(t, out))
	nothingLeft(t, cache)
	twice := w.front.Sent() - before - int64(rounds)*once
	w.Say("%d kills in %d builds from nothing: %d MiB a build, and %.1f MiB more a kill", kills, rounds, once>>20,
		float64(twice)/float64(kills)/(1<<20))
	// What was on its way when a run was killed is in nobody's hands; it is far less than what was there already.
	if twice > int64(kills)*once/4 {
		t.Errorf("%d MiB were fetched twice in %d kills of a build of %d MiB", twice>>20, kills, once>>20)
	}
	w.runs(t, 0, "verify", filepath.Join(out, "eggo-"+runtime.GOARCH+".tar.gz"))
}

// sums are the sha256 of all files of a directory but the lock, which says what a mirror's signed index was at that
// hour.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, dir, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		if d.Name() == "bundle.lock" {
			sum = "it is there"
		}
		out[strings.TrimPrefix(path, dir)] = sum
		return err
	}))
	return out
}

// sameFiles wants two directories to have the same files.
func sameFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name := range want {
		if want[name] != got[name] {
			t.Errorf("%s is %q, want %q", name, got[name], want[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is left behind", name)
		}
	}
}

// nothingLeft wants the places of half blobs and temporary files in a cache to be empty.
func nothingLeft(t *testing.T, cache string) {
	t.Helper()
	for _, dir := range []string{"partial", "tmp"} {
		left, err := filepath.Glob(filepath.Join(cache, dir, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left in the cache: %v %v", left, err)
		}
	}
}
