package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// forms are three forms of one bundle, and the older bundle that the third needs.
type forms struct {
	full, split, difference, older string
}

// parts are the files of the split one.
func (f forms) parts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(f.split + ".[0-9]*")
	must(t, "parts", err)
	slices.Sort(files)
	return files
}

// threeForms packs a spec ("" is the default) whole, in parts, and as the difference to the bundle of an older spec.
func threeForms(t *testing.T, w *workshop, spec, part string, older func(map[string]any)) forms {
	t.Helper()
	file := "eggo-" + runtime.GOARCH + ".tar.gz"
	out := func(name string) string { return filepath.Join(w.Dir, name) }
	common := []string{"--arch", runtime.GOARCH, "--mirrors", w.mirrors}
	if spec != "" {
		common = append(common, "-f", spec)
	}
	build := func(name string, more ...string) {
		w.packs(t, 0, slices.Concat(common, []string{"-o", out(name)}, more)...)
	}
	old := w.spec(t, "eggo", older)
	must(t, "older spec", os.Rename(old, out("older.yaml")))
	w.packs(t, 0, "--arch", runtime.GOARCH, "--mirrors", w.mirrors, "-f", out("older.yaml"), "-o", out("older"))
	build("full")
	lock := filepath.Join(out("full"), "bundle.lock")
	build("split", "--lock", lock, "--locked", "--split", part)
	build("difference", "--lock", lock, "--locked", "--base", filepath.Join(out("older"), file))
	found, err := filepath.Glob(filepath.Join(out("difference"), "eggo-"+runtime.GOARCH+"-from-*.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the difference is %v, %v", found, err)
	}
	return forms{full: filepath.Join(out("full"), file), split: filepath.Join(out("split"), file), difference: found[0],
		older: filepath.Join(out("older"), file)}
}

// TestSplitAndDifference: a bundle in parts is the bundle, byte for byte; staged from its parts, or from a difference
// and the older bundle that it needs, it is what the full one is. A part or a base that is missing is named.
func TestSplitAndDifference(t *testing.T) {
	w := newWorkshop(t)
	small := func(doc map[string]any) {
		only(doc, "packages", "binaries", "images")
		install(doc, "socat", "conntrack")
		doc["binaries"] = slices.DeleteFunc(doc["binaries"].([]any),
			func(b any) bool { return b.(map[string]any)["name"] != "etcd" })
	}
	spec := w.spec(t, "eggo", small)
	must(t, "spec", os.Rename(spec, filepath.Join(w.Dir, "new.yaml")))
	f := threeForms(t, w, filepath.Join(w.Dir, "new.yaml"), "16MiB", func(doc map[string]any) {
		small(doc)
		install(doc, "socat")
		doc["images"] = slices.DeleteFunc(doc["images"].([]any), func(i any) bool {
			return strings.Contains(fmt.Sprint(i.(map[string]any)["name"]), "agnhost")
		})
	})
	parts := f.parts(t)
	if len(parts) < 4 {
		t.Errorf("there are %d parts", len(parts))
	}
	program(t, "sh", "-c", `cd "$(dirname "$1")" && sha256sum --quiet -c "$(basename "$1").sha256"`, "sh", f.split)
	whole := program(t, "sh", append([]string{"-c", `cat "$@" | sha256sum`, "sh"}, parts...)...)
	if want := program(t, "sh", "-c", `sha256sum <"$1"`, "sh", f.full); whole != want {
		t.Errorf("joined, the parts are %s, the full bundle is %s", whole, want)
	}
	want := staged(t, f.full)
	if got := staged(t, parts[0]); !maps.Equal(got, want) {
		t.Errorf("from the parts: %v, want %v", got, want)
	}
	if got := staged(t, f.difference, f.older); !maps.Equal(got, want) {
		t.Errorf("from the difference: %v, want %v", got, want)
	}
	if a, b := size(t, f.difference), size(t, f.full); a > b*2/3 {
		t.Errorf("the difference has %d bytes, the full bundle %d", a, b)
	}
	for _, form := range []string{f.split, f.difference} {
		w.runs(t, 0, "verify", form)
	}
	unpack(t, f.difference, filepath.Join(w.Dir, "carried")) // with tar and sha256sum

	must(t, "take a part away", os.Rename(parts[1], parts[1]+".away"))
	if got := w.runs(t, 6, "verify", f.split); got.Has("bundle.part-missing", filepath.Base(parts[1])) != nil {
		t.Errorf("a missing part is told so:\n%s", got.Out)
	}
	_, err := bundle.Stage(t.Context(), f.difference, t.TempDir(), nil)
	if err == nil || !strings.Contains(fmt.Sprint(err), "bundle.base-missing") {
		t.Errorf("without its base: %v", err)
	}
}

// staged stages a bundle in a directory of its own and gives the sum of each of its members.
func staged(t *testing.T, file string, bases ...string) map[string]string {
	t.Helper()
	s, err := bundle.Stage(t.Context(), file, t.TempDir(), nil, bundle.WithBases(bases...))
	must(t, "stage "+file, err)
	text, err := json.Marshal(s.Manifest())
	must(t, "manifest", err)
	out := map[string]string{"the manifest": string(text)}
	for _, m := range s.Manifest().Members {
		r, err := s.Open(m.Path)
		must(t, m.Path, err)
		h := sha256.New()
		_, err = io.Copy(h, r)
		must(t, m.Path, err)
		must(t, m.Path, r.Close())
		out[m.Path] = fmt.Sprintf("%x", h.Sum(nil))
	}
	return out
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	st, err := os.Stat(file)
	must(t, file, err)
	return st.Size()
}

// TestSplitAndDifferenceInstall: a machine is installed from parts; the same deploy with the difference and the older
// bundle beside it, from a jump host that has neither, finds nothing to change.
func TestSplitAndDifferenceInstall(t *testing.T) {
	full(t)
	s := newStand(t)
	ctx := t.Context()
	must(t, "build", s.Build(ctx))
	w := workshopOn(t, s)
	f := threeForms(t, w, "", "64MiB", func(doc map[string]any) {
		doc["binaries"] = doc["binaries"].([]any)[1:]
		doc["images"] = slices.DeleteFunc(doc["images"].([]any), func(i any) bool {
			return strings.Contains(fmt.Sprint(i.(map[string]any)["name"]), "agnhost")
		})
	})
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	must(t, "lab", s.Lab.Up(ctx, 1))
	before := untouched(t, s, 1)
	s.Bundle = f.split
	file, err := s.Deploy("parts.yaml", "parts", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "deploy.yaml", err)
	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))

	beside := filepath.Join(filepath.Dir(f.difference), filepath.Base(f.older))
	must(t, "the base beside the difference", os.Rename(f.older, beside))
	other, err := s.Vary(file, "difference.yaml", f.split, f.difference)
	must(t, "deploy.yaml", err)
	must(t, "forget the stage", os.RemoveAll(filepath.Join(s.State(), "bundles")))
	try(t, s, 0, "deploy", "-f", other)
	noChange(t, s.State(), "parts")
	must(t, "use", s.Works(ctx, 1))

	try(t, s, 0, "cleanup", "-f", other, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 1) })
}
