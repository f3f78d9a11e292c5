package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// workshop is where bundles are packed: a stand without nodes, with the lab's upstream behind a counting front.
type workshop struct {
	*stand.Stand
	front   *stand.Front
	mirrors string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	s := newStand(t)
	must(t, "build", s.Build(t.Context()))
	return workshopOn(t, s)
}

// workshopOn is a workshop on a stand whose programs are built.
func workshopOn(t *testing.T, s *stand.Stand) *workshop {
	t.Helper()
	w := &workshop{Stand: s}
	var err error
	w.front, w.mirrors, err = w.Upstream(t.Context())
	must(t, "upstream", err)
	return w
}

// spec writes a spec that has of the default one only name, version and operating system, and what is added.
func (w *workshop) spec(t *testing.T, name string, change func(map[string]any)) string {
	t.Helper()
	text, err := assets.BundleSpec(upstream.System)
	must(t, "default spec", err)
	var doc map[string]any
	must(t, "default spec", yaml.Unmarshal(text, &doc))
	doc["name"] = name
	change(doc)
	text, err = yaml.Marshal(doc)
	must(t, name, err)
	file := filepath.Join(w.Dir, name+".yaml")
	must(t, name, os.WriteFile(file, text, 0o600))
	return file
}

// only drops all lists of a spec but the named ones.
func only(doc map[string]any, keep ...string) {
	for _, k := range []string{"packages", "binaries", "addons", "images"} {
		if !strings.Contains(" "+strings.Join(keep, " ")+" ", " "+k+" ") {
			delete(doc, k)
		}
	}
}

// install makes packages the ones that a spec installs, on workers.
func install(doc map[string]any, names ...string) {
	var list []any
	for _, n := range names {
		list = append(list, map[string]any{"name": n, "roles": []string{"worker"}})
	}
	doc["packages"].(map[string]any)["install"] = list
}

// cache is shared by the builds of a test.
func (w *workshop) cache() string { return filepath.Join(w.Dir, "cache") }

// pack builds a spec from the lab's upstream and gives the directory of the bundles.
func (w *workshop) pack(t *testing.T, spec, arches string, args ...string) string {
	t.Helper()
	out := strings.TrimSuffix(spec, ".yaml")
	w.packs(t, 0, append([]string{"-f", spec, "--arch", arches, "-o", out, "--mirrors", w.mirrors}, args...)...)
	return out
}

// packs runs eggo-bundle build with the workshop's cache and wants an exit code.
func (w *workshop) packs(t *testing.T, want int, args ...string) stand.Try {
	t.Helper()
	return w.runs(t, want, append([]string{"build", "--cache", w.cache()}, args...)...)
}

// runs runs eggo-bundle and wants an exit code.
func (w *workshop) runs(t *testing.T, want int, args ...string) stand.Try {
	t.Helper()
	got, err := w.Packs(t.Context(), nil, args...)
	must(t, strings.Join(args, " "), err)
	w.Say("eggo-bundle %s: exit code %d after %s", strings.Join(args, " "), got.Code, got.Took)
	if got.Code != want {
		t.Fatalf("eggo-bundle %s: exit code %d, want %d\n%s", strings.Join(args, " "), got.Code, want,
			tail(got.Out, 40))
	}
	return got
}

// need installs Debian packages whose program is missing, with the machine's own apt.
func need(t *testing.T, pairs ...string) {
	t.Helper()
	var missing []string
	for i := 0; i < len(pairs); i += 2 {
		if _, err := exec.LookPath(pairs[i]); err != nil {
			missing = append(missing, pairs[i+1])
		}
	}
	if len(missing) == 0 {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skipf("this machine lacks %s, and apt-get to install them", strings.Join(missing, ", "))
	}
	apt := func(args ...string) error {
		c := exec.CommandContext(t.Context(), "apt-get",
			append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Logf("apt-get %s: %v\n%s", strings.Join(args, " "), err, tail(string(out), 10))
		}
		return err
	}
	t.Logf("installing %s", strings.Join(missing, ", "))
	args := append([]string{"install", "--no-install-recommends", "--no-upgrade"}, missing...)
	if apt(args...) == nil {
		return
	}
	must(t, "package lists", apt("update")) // they may be missing, or older than the archive
	must(t, strings.Join(missing, ", "), apt(args...))
}

// program runs a program of this machine and gives its output, which is told if it fails.
func program(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := attempt(t.Context(), nil, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, tail(out, 40))
	}
	return out
}

// attempt is program for what may fail.
func attempt(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8"), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// unpack unpacks a bundle as an operator without the programs does, and checks it as such.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	must(t, dir, os.MkdirAll(dir, 0o755))
	program(t, "tar", "--no-same-owner", "--no-same-permissions", "-xzf", file, "-C", dir)
	sums := []string{"SHA256SUMS"}
	if _, err := os.Stat(filepath.Join(dir, "images.tar.sha256")); err == nil {
		sums = append(sums, "images.tar.sha256")
	}
	program(t, "sh", append([]string{"-c", `cd "$1" && shift && sha256sum --quiet -c "$@"`, "sh", dir}, sums...)...)
}

// otherThan is the other architecture.
func otherThan(arch string) string {
	return map[string]string{"amd64": "arm64", "arm64": "amd64"}[arch]
}

// uname is an architecture in the words of the kernel and of rpm.
func uname(arch string) string { return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] }
