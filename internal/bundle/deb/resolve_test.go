package deb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// stanzas is the text of a Packages file from lines as index takes them.
func stanzas(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		f := strings.SplitN(l, " ", 3)
		arch := "amd64"
		fmt.Fprintf(&b, "Package: %s\nVersion: %s\n", f[0], f[1])
		if len(f) == 3 {
			for _, x := range strings.Split(f[2], "; ") {
				k, v, _ := strings.Cut(x, "=")
				if k == "Architecture" {
					arch = v
					continue
				}
				fmt.Fprintf(&b, "%s: %s\n", k, v)
			}
		}
		fmt.Fprintf(&b, "Architecture: %s\nFilename: pool/%s_%s.deb\nSize: 1\nSHA256: %064d\n\n", arch, f[0],
			strings.ReplaceAll(f[1], ":", "%3a"), 0)
	}
	return b.String()
}

func names(list []*Package) string {
	var s []string
	for _, p := range list {
		s = append(s, p.Name+"="+p.Version)
	}
	return strings.Join(s, " ")
}

func TestPriorities(t *testing.T) {
	tests := []struct {
		name, first, second string // as "priority: package version"
		want                string
	}{
		{"higher version of equals", "500: a 1", "500: a 2", "second a=2"},
		{"higher priority over version", "900: a 1", "500: a 2", "first a=1"},
		{"later and higher", "500: a 2", "900: a 1", "second a=1"},
		{"same version: the first", "500: a 1", "500: a 1", "first a=1"},
		{"same version: the higher", "500: a 1", "501: a 1", "second a=1"},
		{"never from a negative one", "-1: a 2", "100: a 1", "second a=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := NewIndex("amd64")
			for i, s := range []string{tt.first, tt.second} {
				repo := Repository{URL: []string{"first", "second"}[i]}
				prio, line, _ := strings.Cut(s, ": ")
				if _, err := fmt.Sscan(prio, &repo.Priority); err != nil {
					t.Fatal(err)
				}
				if err := x.AddFrom(strings.NewReader(stanzas(line)), repo); err != nil {
					t.Fatal(err)
				}
			}
			list, err := x.Closure([]string{"a"})
			if err != nil || len(list) != 1 || list[0].Repository+" "+names(list) != tt.want {
				t.Fatalf("%s from %s, %v; want %s", names(list), list[0].Repository, err, tt.want)
			}
		})
	}
}

func TestOnlyNegativeRepositories(t *testing.T) {
	x := NewIndex("amd64")
	if err := x.AddFrom(strings.NewReader(stanzas("a 1")), Repository{Priority: -5}); err != nil {
		t.Fatal(err)
	}
	if list, err := x.Closure([]string{"a"}); err == nil {
		t.Fatalf("%v was chosen", list)
	}
}

func TestRootsWithVersions(t *testing.T) {
	x := index(t, "a 1", "a 2", "a 3", "b 1 Depends=a (<< 3)")
	for roots, want := range map[string]string{"a": "a=3", "a=1": "a=1", "a (<< 3)": "a=2", "a=9": "deb.no-package",
		"a=1,a=2": "deb.root", "a b": "deb.root",
		"a,b": "a=2 b=1", "": "deb.root"} {
		list, err := x.Closure(strings.Split(roots, ","))
		got := names(list)
		if err != nil {
			got = event.AsFault(err).Code
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%v)", roots, got, want, err)
		}
	}
}

func TestModeNone(t *testing.T) {
	list, err := index(t, "a 1 Depends=b", "b 1").Resolve(Request{Roots: []string{"a"}, Mode: None})
	if err != nil || names(list) != "a=1" {
		t.Fatalf("%v %v", list, err)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	x := index(t, "a 1 Depends=b, x1 | x2", "b 1 Depends=gone", "c 1 Depends=lost (>= 2)", "lost 1", "d 1 Conflicts=e",
		"e 1")
	_, err := x.Closure([]string{"a", "c", "d", "e", "nowhere"})
	var got []string
	for _, f := range Problems(err) {
		got = append(got, strings.TrimPrefix(f.Code, "deb.")+" "+inWords(f))
	}
	slices.Sort(got)
	want := []string{"conflict d ⨯ e (e)", "no-package nowhere", "unresolved a → b → gone", "unresolved a → x1 | x2",
		"unresolved c → lost (>= 2)"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q\nwant %q", got, want)
	}
	if f := event.AsFault(err); f.Code != "deb.unresolvable" || f.Args["count"] != "5" {
		t.Fatalf("%v %v", f.Code, f.Args)
	}
}

func TestChains(t *testing.T) {
	list, err := index(t, "a 1 Depends=b", "b 1 Depends=c", "c 1").Closure([]string{"a"})
	if err != nil || strings.Join(list[2].Chain, " ") != "a b c" {
		t.Fatalf("%v %v", list, err)
	}
}

func TestBaseline(t *testing.T) {
	repo := []string{"a 1 Depends=libc6 (>= 2)", "libc6 3", "b 1 Depends=libc6", "libc-dev 3 Depends=libc6 (= 3)",
		"awk-user 1 Depends=awk", "mawk 2 Provides=awk",
		"gawk 2 Provides=awk; Priority=required", "breaker 1 Breaks=libc6 (<< 3)", "hater 1 Conflicts=mawk"}
	status := stanzas("libc6 1", "libc-dev 1 Depends=libc6 (= 1)")
	tests := []struct{ name, base, roots, want string }{
		{"what is there is not packed", "libc6\t2\tamd64\tinstall ok installed\n", "a", "a=1"},
		{"a newer one is needed", "libc6\t1\tamd64\tinstall ok installed\n", "a", "a=1 libc6=3"},
		{"of another state", "libc6\t2\tamd64\tdeinstall ok config-files\n", "a", "a=1 libc6=3"},
		{"of another architecture", "libc6\t2\tarm64\tinstall ok installed\n", "a", "a=1 libc6=3"},
		{"what needs the replaced version exactly", "libc6\t1\tamd64\nlibc-dev\t1\tamd64\n", "a",
			"a=1 libc-dev=3 libc6=3"},
		{"the same from a status file", status, "a", "a=1 libc-dev=3 libc6=3"},
		{"nothing needs it", "libc6\t1\tamd64\nlibc-dev\t1\tamd64\n", "b", "b=1"},
		{"a provider is there", "# base system\n\nmawk=1\n", "awk-user", "awk-user=1"},
		{"names alone", "libc6\nmawk\n", "a,awk-user", "a=1 awk-user=1"},
		{"what only the target has", "own-thing\t1\tall\n", "b", "b=1 libc6=3"},
		{"a root that is there", "b\t1\tall\n", "b", ""},
		{"breaks an old one", "libc6\t2\tamd64\n", "breaker", "breaker=1 libc6=3"},
		{"excludes what is there", "mawk\t2\tamd64\n", "hater", "deb.conflict"},
		{"held back", "libc6\t1\tamd64\thold ok installed\n", "a", "deb.unresolved"},
		{"nothing in it", "# only words\n", "a", "deb.baseline"},
		{"not a list", "a b c\n", "a", "deb.baseline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base, err := ReadBaseline(strings.NewReader(tt.base))
			var list []*Package
			if err == nil {
				list, err = index(t, repo...).Resolve(Request{Roots: strings.Split(tt.roots, ","), Baseline: base})
			}
			got := names(list)
			if err != nil {
				got = event.AsFault(err).Code
			}
			if got != tt.want {
				t.Fatalf("%s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

// TestBaselineIsApts holds what is packed beside a baseline against apt with that baseline as its dpkg status.
func TestBaselineIsApts(t *testing.T) {
	needApt(t)
	repo := stanzas("a 1 Depends=libc6 (>= 2), tool | other", "libc6 3", "libc-dev 3 Depends=libc6 (= 3)", "tool 1",
		"other 2", "user 1 Depends=awk", "mawk 2 Provides=awk",
		"gawk 2 Provides=awk; Priority=required", "breaker 1 Breaks=libc6 (<< 3)")
	status := stanzas("libc6 1 Status=install ok installed",
		"libc-dev 1 Status=install ok installed; Depends=libc6 (= 1)",
		"mawk 1 Status=install ok installed; Provides=awk",
		"other 1 Status=install ok installed")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(repo), 0o644); err != nil {
		t.Fatal(err)
	}
	apt := newApt(t, "amd64", "deb [trusted=yes] file:"+dir+" ./\n")
	if err := os.WriteFile(filepath.Join(apt.root, "var/lib/dpkg/status"), []byte(status), 0o644); err != nil {
		t.Fatal(err)
	}
	base, err := ReadBaseline(strings.NewReader(status))
	if err != nil {
		t.Fatal(err)
	}
	x := NewIndex("amd64")
	if err := x.Add(strings.NewReader(repo), ""); err != nil {
		t.Fatal(err)
	}
	for _, roots := range [][]string{{"a"}, {"user"}, {"breaker"}, {"gawk"}, {"a", "user", "tool"}} {
		want, problem := apt.closure(t, roots)
		list, err := x.Resolve(Request{Roots: roots, Baseline: base})
		if err != nil || problem != "" || !same(t, list, want) {
			t.Errorf("%v: %v %v, apt %v %s", roots, names(list), err, want, problem)
		}
	}
}

func TestMetas(t *testing.T) {
	list, err := index(t, "a 1 Depends=b; Description=first\n second\n .\n third", "b 1").Closure([]string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	var metas []string
	for _, p := range list {
		metas = append(metas, MetaOf(p, p.File()))
	}
	if text, err := PackagesFromMetas(metas); err != nil || string(text) != flatRepository(list) {
		t.Fatalf("%v\n%s\nis not\n%s", err, text, flatRepository(list))
	}
	if p, err := CheckMeta(metas[0], "a.deb", list[0].SHA256, list[0].Size); err != nil || p.Name != "a" {
		t.Fatal(p, err)
	}
	for _, member := range []string{"b.deb", "../a.deb", ""} {
		if _, err := CheckMeta(metas[0], member, list[0].SHA256, list[0].Size); err == nil {
			t.Errorf("taken as %q", member)
		}
	}
	good := metas[0]
	for name, bad := range map[string]string{
		"empty": "", "two stanzas": good + "\n" + metas[1], "no newline": strings.TrimSuffix(good, "\n"),
		"an escape":         strings.Replace(good, "first", "\x1b[2J", 1),
		"a carriage return": strings.Replace(good, "first", "fi\rrst", 1),
		"not UTF-8":         strings.Replace(good, "first", "\xff", 1),
		"another file":      strings.Replace(good, "./a.deb", "./../a.deb", 1),
		"a directory":       strings.Replace(good, "./a.deb", "./x/a.deb", 1),
		"absolute":          strings.Replace(good, "./a.deb", "/a.deb", 1), "a field twice": good + "package: b\n",
		"no sum":    strings.Replace(good, "SHA256", "SHA1", 1),
		"a comment": "# x\n" + good, "twice the same": good + "",
	} {
		list := []string{bad}
		if name == "twice the same" {
			list = append(list, good)
		}
		if _, err := PackagesFromMetas(list); err == nil || event.AsFault(err).Code != "deb.meta" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
