package deb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// index makes one from lines "name version [Field=value; …]".
func index(t testing.TB, lines ...string) *Index {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		f := strings.SplitN(l, " ", 3)
		fmt.Fprintf(&b, "Package: %s\nVersion: %s\n", f[0], f[1])
		arch := "Architecture: amd64\n"
		if len(f) == 3 {
			for _, x := range strings.Split(f[2], "; ") {
				k, v, _ := strings.Cut(x, "=")
				if k == "Architecture" {
					arch = ""
				}
				fmt.Fprintf(&b, "%s: %s\n", k, v)
			}
		}
		fmt.Fprintf(&b, "%sFilename: pool/%s.deb\nSize: 1\nSHA256: %064d\n\n", arch, f[0], 0)
	}
	x := NewIndex("amd64")
	if err := x.Add(strings.NewReader(b.String()), "http://repo.test"); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestClosure(t *testing.T) {
	tests := []struct {
		name, roots, want string // want: packages, or "code: …" of the fault
		lines             []string
	}{
		{"depends and pre-depends", "a", "a b c", []string{"a 1 Depends=b; Pre-Depends=c", "b 1", "c 1", "d 1"}},
		{"newest version", "a", "a=2:1", []string{"a 10", "a 2:1", "a 1:99"}},
		{"newest within the relation", "a", "a b=1", []string{"a 1 Depends=b (<< 2)", "b 1", "b 2"}},
		{"tilde is before", "a", "a=1", []string{"a 1~rc1", "a 1"}},
		{"first alternative that exists", "a", "a c", []string{"a 1 Depends=b | c | d", "c 1", "d 1"}},
		{"chosen already satisfies", "a d", "a d", []string{"a 1 Depends=b | d", "b 1", "d 1"}},
		{"real package before provider", "a", "a b", []string{"a 1 Depends=b", "c 1 Provides=b", "b 1"}},
		{"provider", "a", "a c", []string{"a 1 Depends=b", "c 1 Provides=b"}},
		{"chosen provider satisfies", "a c", "a c", []string{"a 1 Depends=b", "b 1", "c 1 Provides=b"}},
		{"provider of higher priority", "a", "a d", []string{"a 1 Depends=b", "c 1 Provides=b; Priority=optional",
			"d 1 Provides=b; Priority=important"}},
		{"versioned relation wants versioned provides", "a", "a d",
			[]string{"a 1 Depends=b (>= 2)", "c 1 Provides=b", "d 1 Provides=b (= 3)"}},
		{"unversioned provides do not do", "a", "code: deb.unresolved",
			[]string{"a 1 Depends=b (>= 2)", "c 1 Provides=b"}},
		{"any needs Multi-Arch allowed", "a", "a python",
			[]string{"a 1 Depends=python:any", "python 1 Multi-Arch=allowed"}},
		{"any without Multi-Arch allowed", "a", "code: deb.unresolved",
			[]string{"a 1 Depends=python:any", "python 1 Multi-Arch=foreign"}},
		{"qualifier of this architecture", "a", "a b", []string{"a 1 Depends=b:amd64", "b 1"}},
		{"qualifier of another", "a", "code: deb.unresolved", []string{"a 1 Depends=b:i386", "b 1"}},
		{"architecture all", "a", "a b", []string{"a 1 Depends=b", "b 1 Architecture=all"}},
		{"foreign architecture is not there", "a", "code: deb.unresolved",
			[]string{"a 1 Depends=b", "b 1 Architecture=arm64"}},
		{"a circle", "a", "a b", []string{"a 1 Depends=b", "b 1 Depends=a"}},
		{"root missing", "z", "code: deb.no-package", []string{"a 1"}},
		{"conflict", "a", "code: deb.conflict", []string{"a 1 Depends=b, c", "b 1 Conflicts=c", "c 1"}},
		{"breaks an older one", "a", "code: deb.conflict", []string{"a 1 Depends=b, c", "b 1 Breaks=c (<< 2)", "c 1"}},
		{"does not break this one", "a", "a b c", []string{"a 1 Depends=b, c", "b 1 Breaks=c (<< 2)", "c 2"}},
		{"conflict with what it provides itself", "a", "a b",
			[]string{"a 1 Depends=b", "b 1 Provides=mta; Conflicts=mta"}},
		{"two of one kind", "a", "code: deb.conflict",
			[]string{"a 1 Depends=b, c", "b 1 Provides=mta; Conflicts=mta", "c 1 Provides=mta"}},
		{"two versions cannot both be", "a", "code: deb.unresolved",
			[]string{"a 1 Depends=b (= 1), c", "b 1", "b 2", "c 1 Depends=b (= 2)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := index(t, tt.lines...).Closure(strings.Fields(tt.roots))
			if want, ok := strings.CutPrefix(tt.want, "code: "); ok {
				if err == nil || event.AsFault(err).Code != want {
					t.Fatalf("%v, %v; want %s", got, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for i, w := range strings.Fields(tt.want) {
				if i < len(got) && strings.Contains(w, "=") {
					have = append(have, got[i].Name+"="+got[i].Version)
				} else if i < len(got) {
					have = append(have, got[i].Name)
				}
			}
			if !slices.Equal(have, strings.Fields(tt.want)) || len(got) != len(have) {
				t.Fatalf("%v, want %s", got, tt.want)
			}
		})
	}
}

func TestUnresolvedNamesTheChain(t *testing.T) {
	_, err := index(t, "a 1 Depends=b", "b 1 Depends=c", "c 1 Depends=gone (>= 2) | lost").Closure([]string{"a"})
	f := event.AsFault(err)
	if f.Args["chain"] != "a → b → c" || f.Args["needs"] != "gone (>= 2) | lost" {
		t.Fatalf("%v", f.Args)
	}
}

func TestHostilePackages(t *testing.T) {
	good := "Package: a\nVersion: 1\nArchitecture: amd64\nFilename: pool/a.deb\nSize: 1\nSHA256: " + strings.Repeat("0",
		64) + "\n"
	if err := NewIndex("amd64").Add(strings.NewReader(good), ""); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"Package: a", "Package: ../a"}, {"Package: a", "Package: a b"}, {"pool/a.deb", "../../etc/a.deb"},
		{"pool/a.deb", "/etc/a.deb"}, {"pool/a.deb", "pool/a;rm.deb"},
		{"pool/a.deb", "pool/a.sh"}, {"Size: 1", "Size: -1"}, {"Size: 1", "Size: x"}, {"SHA256: 00", "SHA256: zz"},
		{"SHA256: 00", "MD5sum: 00"},
		{"Version: 1", "Version: 1\nDepends: b ("}, {"Version: 1", "Version: 1\nDepends: b <!nocheck>"},
	} {
		if err := NewIndex("amd64").Add(strings.NewReader(strings.Replace(good, change[0], change[1], 1)),
			""); err == nil {
			t.Errorf("%q was accepted", change[1])
		}
	}
}

// TestHalfAnArchive: what was read before an error can be resolved, and its stanzas are whole.
func TestHalfAnArchive(t *testing.T) {
	x := NewIndex("amd64")
	good := stanzas("a 1", "b 1")
	if err := x.Add(strings.NewReader(good+"Package: c\nArchitecture: amd64\n\n"+good), ""); err == nil {
		t.Fatal("taken")
	}
	if err := x.Add(strings.NewReader(stanzas("d 1")), ""); err != nil {
		t.Fatal(err)
	}
	if list, err := x.Closure([]string{"a", "b", "d"}); err != nil || names(list) != "a=1 b=1 d=1" {
		t.Fatalf("%v %v", list, err)
	}
}

// flatRepository returns the metadata of a flat repository that apt reads, with the packages in the given order.
func flatRepository(list []*Package) string {
	var out strings.Builder
	for _, p := range list {
		out.WriteString(MetaOf(p, p.File()) + "\n")
	}
	return out.String()
}

func TestMetadataOfAPackage(t *testing.T) {
	x := index(t, "a 1 Depends=b | c; Description=first\n second line\n .\n third")
	list, err := x.Resolve(Request{Roots: []string{"a"}, Mode: None})
	if err != nil {
		t.Fatal(err)
	}
	out := flatRepository(list)
	for _, want := range []string{"Filename: ./a.deb\n", "Depends: b | c\n",
		"Description: first\n second line\n .\n third\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing from\n%s", want, out)
		}
	}
	if err := NewIndex("amd64").Add(strings.NewReader(out), ""); err != nil {
		t.Errorf("what was written cannot be read: %v", err)
	}
}

// apt installs a phased update on some machines only. What is in a bundle was chosen already, also by a lock that an
// earlier release wrote with the field.
func TestPhasedUpdatesAreForAllNodes(t *testing.T) {
	x := index(t, "a 1 Phased-Update-Percentage=10; Description=first")
	list, err := x.Resolve(Request{Roots: []string{"a"}, Mode: None})
	if err != nil {
		t.Fatal(err)
	}
	meta := MetaOf(list[0], "a.deb")
	if strings.Contains(meta, "Phased") {
		t.Errorf("it is in\n%s", meta)
	}
	old := metaOf(list[0], "a.deb", true)
	for name, m := range map[string]string{"now": meta, "earlier": old} {
		text, err := PackagesFromMetas([]string{m})
		if err != nil || string(text) != meta+"\n" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if _, err := CheckMeta(m, "a.deb", list[0].SHA256, list[0].Size); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(old, "Phased-Update-Percentage: 10\n") {
		t.Errorf("an earlier release wrote\n%s", old)
	}
}

func FuzzPackages(f *testing.F) {
	f.Add("Package: a\nVersion: 1\nArchitecture: all\nFilename: pool/a.deb\nSize: 1\nSHA256: " + strings.Repeat("0",
		64) + "\nDepends: b | c:any (>= 1), d\nProvides: e (= 1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		x := NewIndex("amd64")
		if x.Add(strings.NewReader(text), "") != nil {
			return
		}
		var roots []string
		for _, n := range x.names {
			if n.entries >= 0 {
				roots = append(roots, n.text)
			}
		}
		_, _ = x.Closure(roots)
		list, err := x.Resolve(Request{Roots: roots, Mode: None})
		if err != nil {
			t.Fatal(err)
		}
		y := NewIndex("amd64")
		if err := y.Add(strings.NewReader(flatRepository(list)), ""); err != nil || y.Len() != len(list) {
			t.Fatalf("written and read again: %d of %d, %v", y.Len(), len(list), err)
		}
		for i, p := range list {
			text, err := PackagesFromMetas([]string{MetaOf(p, fmt.Sprint(i, ".deb"))})
			if err != nil {
				t.Fatalf("%v of\n%s", err, text)
			}
		}
	})
}

func FuzzRelation(f *testing.F) {
	f.Add("a:any (>= 1:2-3~) [amd64 !i386] | b, c")
	f.Fuzz(func(t *testing.T, s string) {
		cs, err := ParseRelations(s, "amd64")
		if err != nil {
			return
		}
		for _, c := range cs {
			for _, r := range c {
				r.holds("1.0-1")
			}
			again, err := ParseRelations(c.String(), "amd64")
			if err != nil || len(again) != 1 || again[0].String() != c.String() {
				t.Fatalf("%q became %v: %v", c.String(), again, err)
			}
		}
	})
}
