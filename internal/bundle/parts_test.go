package bundle_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// split writes a bundle's parts of that size into a directory, with their sums when asked for, and returns the name of
// the whole.
func split(t testing.TB, data []byte, size int, sums bool) string {
	t.Helper()
	whole := filepath.Join(t.TempDir(), "test-amd64.tar.gz")
	var text strings.Builder
	for n := 1; len(data) > 0; n++ {
		piece := data[:min(size, len(data))]
		data = data[len(piece):]
		put(t, bundle.PartName(whole, n), string(piece))
		text.WriteString(sum(string(piece)) + "  " + filepath.Base(bundle.PartName(whole, n)) + "\n")
	}
	if sums {
		put(t, bundle.PartSumsName(whole), text.String())
	}
	return whole
}

func put(t testing.TB, p, data string) {
	t.Helper()
	if err := os.WriteFile(p, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, p string) string {
	t.Helper()
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPartsAreReadWithoutJoining: by the name of the first part or of the whole, with sums or without, cut anywhere, it
// is the bundle.
func TestPartsAreReadWithoutJoining(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	want := tree(t, stage(t, store(t, data), t.TempDir()).Dir(), "complete.json")
	for _, size := range []int{len(data), len(data) - 1, len(data)/2 + 1, 100, 7} {
		for _, sums := range []bool{false, true} {
			whole := split(t, data, size, sums)
			for _, name := range []string{whole, bundle.PartName(whole, 1)} {
				a, err := bundle.Open(name)
				if err != nil || a.Size() != int64(len(data)) || a.Path() != name {
					t.Fatalf("parts of %d: %+v, %v", size, a, err)
				}
				var last, total int64
				r, err := bundle.Verify(context.Background(), name, func(d, n int64) { last, total = d, n })
				if err != nil || r.ID != a.ID() || last != total || total != a.Size() {
					t.Fatalf("parts of %d: %+v, %v, %d of %d", size, r, err, last, total)
				}
			}
			s := stage(t, whole, t.TempDir())
			if d := cmp.Diff(want, tree(t, s.Dir(), "complete.json")); d != "" {
				t.Fatalf("parts of %d (-whole):\n%s", size, d)
			}
		}
	}
}

// TestABadPartIsNamed: whatever is wrong with the set, the fault says which file.
func TestABadPartIsNamed(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	size := len(data)/4 + 1 // four parts, the last one shorter
	const base = "test-amd64.tar.gz"
	remove := func(n int) func(string) { return func(w string) { os.Remove(bundle.PartName(w, n)) } }
	edit := func(n int, f func(s string) string) func(string) {
		return func(w string) { put(t, bundle.PartName(w, n), f(content(t, bundle.PartName(w, n)))) }
	}
	half := func(s string) string { return s[:len(s)/2] }
	flip := func(s string) string { b := []byte(s); b[len(b)/2] ^= 4; return string(b) }
	swap := func(i, j int) func(string) {
		return func(w string) {
			a, b := content(t, bundle.PartName(w, i)), content(t, bundle.PartName(w, j))
			put(t, bundle.PartName(w, i), b)
			put(t, bundle.PartName(w, j), a)
		}
	}
	tests := []struct {
		name        string
		edit        func(whole string)
		sums, plain string // code and part with the sums file and without; without it "" names no part
	}{
		{"the first missing", remove(1), "part-missing .001", "part-missing .001"},
		{"one missing", remove(2), "part-missing .002", "part-missing .002"},
		{"the last missing", remove(4), "part-missing .004", "part-missing .004"},
		{"the last two missing", func(w string) { remove(3)(w); remove(4)(w) }, "part-missing .003",
			"part-missing .003"},
		{"one empty", edit(3, func(string) string { return "" }), "part-empty .003", "part-empty .003"},
		{"the first cut", edit(1, half), "part-sum .001", "part-size .001"},
		{"one cut", edit(3, half), "part-sum .003", "part-size .003"},
		{"the last cut", edit(4, half), "part-sum .004", "part-truncated .004"},
		{"one longer", edit(2, func(s string) string { return s + "x" }), "part-sum .002", "part-size .001"},
		{"the first changed", edit(1, flip), "part-sum .001", "part-damaged .001"},
		{"one changed", edit(2, flip), "part-sum .002", "part-damaged"},
		{"the last changed", edit(4, flip), "part-sum .004", "part-damaged .004"},
		{"two swapped", swap(2, 3), "part-sum .002", "part-damaged"},
		{"the first swapped", swap(1, 2), "part-sum .001", "part-damaged .001"},
		{"a stale one behind", func(w string) { put(t, bundle.PartName(w, 5), "old") }, "part-extra .005",
			"part-extra .005"},
		{"a whole stale one behind", func(w string) {
			put(t, bundle.PartName(w, 5), content(t, bundle.PartName(w, 1)))
		}, "part-extra .005", "part-extra .005"},
		{"a stale one behind a gap", func(w string) { put(t, bundle.PartName(w, 7), "old") }, "part-extra .007",
			"part-extra .007"},
		{"something at the end of the last", edit(4, func(s string) string { return s + "x" }), "part-sum .004",
			"part-damaged .004"},
	}
	for _, tt := range tests {
		for _, sums := range []bool{true, false} {
			name, want := tt.name+", sums", tt.sums
			if !sums {
				name, want = tt.name, tt.plain
			}
			t.Run(name, func(t *testing.T) {
				whole := split(t, data, size, sums)
				tt.edit(whole)
				_, err := bundle.Verify(context.Background(), whole, nil)
				got := code(t, whole, err)
				if part := event.AsFault(err).Args["part"]; part != "" {
					got += " " + strings.TrimPrefix(part, base)
				}
				if !strings.HasPrefix(got, "bundle."+want) {
					t.Errorf("%s: %v %v, want %s", got, err, event.AsFault(err).Args, want)
				}
				if _, err := bundle.Stage(context.Background(), whole, t.TempDir(), nil); err == nil {
					t.Error("staged")
				}
			})
		}
	}
}

func TestNamesOfParts(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	whole := split(t, data, len(data)/2+1, true)
	if _, err := bundle.Open(bundle.PartName(whole, 2)); code(t, bundle.PartName(whole, 2),
		err) != "bundle.part-first" {
		t.Error(err)
	}
	if _, err := bundle.Open(whole + ".0001"); event.AsFault(err).Code != "bundle.open" {
		t.Error(err)
	}
	// Joined again, the whole is read and the parts are not looked at.
	put(t, whole, string(data))
	put(t, bundle.PartName(whole, 1), "")
	if _, err := bundle.Verify(context.Background(), whole, nil); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(bundle.PartName(whole, 3), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := bundle.Beside(whole), []string(nil); !cmp.Equal(got, want) {
		t.Errorf("beside it: %v", got)
	}
	if got := bundle.PartName("x.tar.gz", 1234); got != "x.tar.gz.1234" {
		t.Error(got)
	}
}

// Browsers, file managers and wget change the names of files. Parts are found where it is clear which file is meant,
// and read to the end, which proves it; otherwise the fault names the files, and the name that one must get.
func TestPartsThatWereRenamed(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	const base = "test-amd64.tar.gz"
	move := func(n int, to string) func(string) {
		return func(w string) {
			if err := os.Rename(bundle.PartName(w, n), filepath.Join(filepath.Dir(w), to)); err != nil {
				t.Fatal(err)
			}
		}
	}
	also := func(n int, name string, f func(string) string) func(string) {
		return func(w string) { put(t, filepath.Join(filepath.Dir(w), name), f(content(t, bundle.PartName(w, n)))) }
	}
	same := func(s string) string { return s }
	half := func(s string) string { return s[:len(s)/2] }
	chrome := []func(string){move(1, base+" (1).001"), move(2, base+" (1).002"), move(3, base+" (1).003")}
	tests := []struct {
		name string
		edit []func(whole string)
		ask  string // "": the whole
		want string // code and the name to give, "" if it is read
	}{
		{"one by Chrome", []func(string){move(2, base+" (1).002")}, "", ""},
		{"all by Chrome", chrome, "", ""},
		{"all by Chrome, and one is named", chrome, base + " (1).001", ""},
		{"the name in front", []func(string){move(1, "test-amd64 (1).tar.gz.001")}, "test-amd64 (1).tar.gz.001", ""},
		{"each in its way", []func(string){move(1, base+".001 (1)"), move(2, base+".002.txt"),
			move(3, base+" - Copy.003")}, base + ".001 (1)", ""},
		{"by Safari and wget", []func(string){move(1, base+".001.download"), move(3, base+".003.1")}, "", ""},
		{"the first by its content", []func(string){move(1, base+".001.gz")}, base + ".001.gz", ""},
		{"a second one beside it", []func(string){also(2, base+" (1).002", half)}, "", ""},
		{"two sets, the second is named", []func(string){also(1, base+" (1).001", same), also(2, base+" (1).002", same),
			also(3, base+" (1).003", same), also(2, base+".002", half)}, base + " (1).001", ""},
		{"the second one is whole", []func(string){also(2, base+" (1).002", same), also(2, base+".002", half)}, "",
			"part-other .002"},
		{"two of a missing one", []func(string){also(2, base+" (1).002", same), move(2, base+" (2).002")}, "",
			"part-which .002"},
		{"a download that goes on", []func(string){move(3, base+".003.crdownload")}, "", "unfinished .003"},
		{"the second one is named", chrome, base + " (1).002", "part-first"},
	}
	for _, tt := range tests {
		for _, sums := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				whole := split(t, data, len(data)/3+1, sums)
				for _, edit := range tt.edit {
					edit(whole)
				}
				path := whole
				if tt.ask != "" {
					path = filepath.Join(filepath.Dir(whole), tt.ask)
				}
				_, err := bundle.Verify(context.Background(), path, nil)
				if a, openErr := bundle.Open(path); openErr == nil && len(a.Parts()) != 3 {
					t.Errorf("parts %v", a.Parts())
				}
				if tt.want == "" {
					if err != nil {
						t.Errorf("%v %v", err, event.AsFault(err).Args)
					}
					return
				}
				f := event.AsFault(err)
				want := "bundle." + strings.Replace(tt.want, " ", " "+base, 1)
				if got := f.Code + " " + f.Args["part"]; !strings.HasPrefix(got, want) {
					t.Errorf("%s: %v %v, want %s", got, err, f.Args, tt.want)
				}
			})
		}
	}
}

// A whole bundle under another name could be any: it is named, and not read.
func TestABundleThatWasRenamed(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	for name, want := range map[string]string{"test (1).tar.gz": "bundle.renamed",
		"test.tar.gz.download": "bundle.renamed", "test.tar.gz.crdownload": "bundle.unfinished",
		"other.tar.gz": "bundle.open"} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, name), string(data))
		_, err := bundle.Open(filepath.Join(dir, "test.tar.gz"))
		f := event.AsFault(err)
		if f == nil || f.Code != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := bundle.Verify(context.Background(), filepath.Join(dir, name), nil); err != nil {
			t.Errorf("%s under its own name: %v", name, err)
		}
	}
}

func TestBadSumsOfParts(t *testing.T) {
	_, members := sample(t)
	data := archive(t, members)
	for name, edit := range map[string]func(s string) string{
		"empty":            func(string) string { return "" },
		"another order":    func(s string) string { l := strings.SplitAfter(s, "\n"); return l[1] + l[0] },
		"another name":     func(s string) string { return strings.Replace(s, ".001", ".003", 1) },
		"a path":           func(s string) string { return strings.Replace(s, "  test", "  ../test", 1) },
		"no sums":          func(string) string { return "hello\n" },
		"an endless line":  func(string) string { return strings.Repeat("a", 100<<10) },
		"a binary's":       func(string) string { return "\x7fELF\x00\x00" },
		"upper-case sums":  strings.ToUpper,
		"something behind": func(s string) string { return s + "x\n" },
	} {
		t.Run(name, func(t *testing.T) {
			whole := split(t, data, len(data)/2+1, true)
			put(t, bundle.PartSumsName(whole), edit(content(t, bundle.PartSumsName(whole))))
			if _, err := bundle.Open(whole); code(t, whole, err) != "bundle.part-sums" {
				t.Error(err)
			}
		})
	}
	// sha256sum's mark for binary files is no fault.
	whole := split(t, data, len(data)/2+1, true)
	put(t, bundle.PartSumsName(whole), strings.ReplaceAll(content(t, bundle.PartSumsName(whole)), "  ", " *"))
	if _, err := bundle.Verify(context.Background(), whole, nil); err != nil {
		t.Error(err)
	}
}

// FuzzParts: a bundle in parts is accepted exactly when the whole is.
func FuzzParts(f *testing.F) {
	_, members := sample(f)
	data := archive(f, members)
	f.Add(data, uint(len(data)/2+1), true)
	f.Add(data, uint(len(data)/3+1), false)
	f.Add(append(bytes.Clone(data), "more"...), uint(len(data)), false)
	f.Fuzz(func(t *testing.T, data []byte, size uint, sums bool) {
		if size == 0 || uint(len(data))/size > 64 || len(data) == 0 {
			return
		}
		_, one := bundle.Verify(context.Background(), store(t, data), nil)
		whole := split(t, data, int(size), sums)
		_, many := bundle.Verify(context.Background(), whole, nil)
		if code(t, whole, many); (one == nil) != (many == nil) {
			t.Fatalf("the whole: %v; parts of %d: %v", one, size, many)
		}
	})
}
