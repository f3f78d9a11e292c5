package rpm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestVercmp(t *testing.T) {
	// Most are the cases of rpm's own tests/rpmvercmp.at.
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0", 0}, {"1.0", "2.0", -1}, {"2.0", "1.0", 1}, {"2.0.1", "2.0.1", 0}, {"2.0", "2.0.1", -1},
		{"2.0.1a", "2.0.1", 1},
		{"5.5p1", "5.5p2", -1}, {"5.5p10", "5.5p1", 1}, {"10xyz", "10.1xyz", -1}, {"xyz10", "xyz10.1", -1},
		{"xyz.4", "8", -1}, {"xyz.4", "2", -1},
		{"5.5p2", "5.6p1", -1}, {"5.6p1", "6.5p1", -1}, {"6.0.rc1", "6.0", 1}, {"10b2", "10a1", 1},
		{"1.0aa", "1.0a", 1}, {"10.0001", "10.0039", -1},
		{"10.0001", "10.1", 0}, {"4.999.9", "5.0", -1}, {"20101121", "20101122", -1}, {"2_0", "2.0", 0}, {"a", "a+", 0},
		{"+", "_", 0}, {"a+a", "a_a", 0},
		{"1.0~rc1", "1.0", -1}, {"1.0", "1.0~rc1", 1}, {"1.0~rc1", "1.0~rc2", -1}, {"1.0~rc1~git123", "1.0~rc1", -1},
		{"1.0~rc1", "1.0arc1", -1},
		{"1.0^", "1.0", 1}, {"1.0^", "1.0^", 0}, {"1.0^git1", "1.0", 1}, {"1.0^git1", "1.0^git2", -1},
		{"1.0^git1", "1.01", -1}, {"1.0^20160101", "1.0.1", -1},
		{"1.0^20160102", "1.0^20160101^git1", 1}, {"1.0~rc1^git1", "1.0~rc1", 1}, {"1.0^git1~pre", "1.0^git1", -1},
		{"1.0^git1", "1.0^git1~pre", 1},
		{"1.900", "1.8000", -1}, {"FC5", "fc4", -1}, {"1b.fc17", "1.fc17", -1}, {"1g.fc17", "1.fc17", 1},
		{"1.1.α", "1.1.β", 0}, {"α", "1.1", -1}, {"", "1", -1}, {"", "~", 1},
		{"00012", "12", 0}, {"99999999999999999999999999", "100000000000000000000000000", -1},
	} {
		if got := Vercmp(c.a, c.b); got != c.want {
			t.Errorf("Vercmp(%q, %q) = %d", c.a, c.b, got)
		}
		if got := Vercmp(c.b, c.a); got != -c.want {
			t.Errorf("Vercmp(%q, %q) = %d", c.b, c.a, got)
		}
	}
}

func TestRangesOverlap(t *testing.T) {
	for _, c := range []struct {
		provided, required string
		want               bool
	}{
		{"a = 1-1", "a", true}, {"a", "a > 5", true}, {"a = 1-1", "a = 1", true}, {"a = 1-1", "a > 1", false},
		{"a = 1-1", "a >= 1", true}, {"a = 1-2", "a = 1-1", false},
		{"a = 1:1-1", "a > 2", true}, {"a = 1-1", "a >= 1:0", false}, {"a = 0:1-1", "a = 1-1", true},
		{"a < 3", "a > 2", true}, {"a < 3", "a > 3", false}, {"a <= 3", "a >= 3", true},
		{"a > 1", "a > 9", true}, {"a >= 1", "a < 1", false}, {"a = 1", "a < 1-5", true},
		{"a = 1.0~rc1-1", "a >= 1.0", false}, {"a = 1.0^1-1", "a > 1.0", true},
	} {
		p, err1 := ParseDep(c.provided)
		r, err2 := ParseDep(c.required)
		if err1 != nil || err2 != nil || r.overlaps(p) != c.want {
			t.Errorf("%s for %s: not %v (%v %v)", c.provided, c.required, c.want, err1, err2)
		}
	}
}

func TestClosure(t *testing.T) {
	for _, c := range []struct {
		name, roots, want string // want: packages, or "code: argument=value …" of the fault
		lines             []string
	}{
		{"requires", "a", "a b c", []string{"a 1-1; requires=b; requires=c", "b 1-1", "c 1-1", "d 1-1"}},
		{"newest", "a", "a=1:1-1", []string{"a 10-1", "a 1:1-1", "a 0:99-1"}},
		{"newest within the range", "a", "a b=1-1", []string{"a 1-1; requires=b < 2", "b 1-1", "b 2-1"}},
		{"foreign architectures are not there", "a", "rpm.unresolvable",
			[]string{"a 1-1 aarch64; requires=b", "b 1-1 x86_64"}},
		{"virtual", "a", "a c", []string{"a 1-1; requires=v >= 2", "b 1-1; provides=v = 1", "c 1-1; provides=v = 2"}},
		{"chosen provider satisfies", "a c", "a c", []string{"a 1-1; requires=v", "b 1-1; provides=v",
			"c 1-1; provides=v"}},
		{"chosen later satisfies too", "a", "a c d",
			[]string{"a 1-1; requires=v; requires=d", "b 1-1; provides=v", "c 1-1; provides=v", "d 1-1; requires=c"}},
		{"file", "a", "a b", []string{"a 1-1; requires=/usr/bin/x", "b 1-1; file=/usr/bin/x"}},
		{"rpmlib", "a", "a", []string{"a 1-1; requires=rpmlib(X) <= 1"}},
		{"a root by what it provides", "/usr/bin/x v(y)", "b c",
			[]string{"b 1-1; file=/usr/bin/x", "c 1-1; provides=v(y)"}},
		{"a root with a version", "b = 1", "b=1-1", []string{"b 1-1", "b 2-1"}},
		{"itself", "a", "a", []string{"a 1-1; requires=v; provides=v", "b 1-1; provides=v"}},
		{"circle", "a", "a b", []string{"a 1-1; requires=b", "b 1-1; requires=a"}},
		{"a candidate that cannot be installed is passed over", "a", "a c",
			[]string{"a 1-1; requires=v", "b 1-1; provides=v; requires=gone", "c 1-1; provides=v"}},
		{"an older one when the newest cannot be installed", "a", "a b=1-1",
			[]string{"a 1-1; requires=b", "b 1-1", "b 2-1; requires=gone"}},
		{"or", "a", "a b", []string{"a 1-1; requires=(b or c)", "b 1-1", "c 1-1"}},
		{"or, one is there", "a c", "a c", []string{"a 1-1; requires=(b or c)", "b 1-1", "c 1-1"}},
		{"and", "a", "a b c", []string{"a 1-1; requires=(b and c)", "b 1-1", "c 1-1"}},
		{"if not", "a", "a", []string{"a 1-1; requires=(b if c)", "b 1-1", "c 1-1"}},
		{"if", "a c", "a b c", []string{"a 1-1; requires=(b if c)", "b 1-1", "c 1-1"}},
		{"else, which dnf satisfies with what comes first by name", "a", "a b c",
			[]string{"a 1-1; requires=(b if c else d)", "b 1-1", "c 1-1", "d 1-1"}},
		{"unless", "a", "a b", []string{"a 1-1; requires=(b unless c)", "b 1-1", "c 1-1"}},
		{"with", "a", "a d", []string{"a 1-1; requires=(v with w)", "b 1-1; provides=v", "c 1-1; provides=w",
			"d 1-1; provides=v; provides=w"}},
		{"without", "a", "a b", []string{"a 1-1; requires=(v without w)", "d 1-1; provides=v; provides=w",
			"b 1-1; provides=v"}},
		{"nested", "a", "a b c", []string{"a 1-1; requires=((x(y) or b) and (c or d))", "b 1-1", "c 1-1", "d 1-1"}},
		{"weak dependencies are not followed", "a", "a",
			[]string{"a 1-1; recommends=b", "b 1-1", "c 1-1; supplements=a"}},
		{"but decide between equals", "a", "a c d", []string{"a 1-1; requires=v; requires=d", "b 1-1; provides=v",
			"c 1-1; provides=v", "d 1-1; recommends=c"}},
		{"obsoleted root", "old", "new", []string{"old 1-1", "new 1-1; obsoletes=old < 2"}},
		{"obsoleted dependency", "a", "a new", []string{"a 1-1; requires=old", "old 1-1",
			"new 1-1; obsoletes=old < 2; provides=old = 2"}},
		{"conflict", "a b",
			"rpm.conflict package=a-1-1.noarch other=b-1-1.noarch relation=Conflicts: b chain=a other_chain=b",
			[]string{"a 1-1; conflicts=b", "b 1-1"}},
		{"conflict below", "a d", "rpm.conflict chain=a → b other_chain=d",
			[]string{"a 1-1; requires=b", "b 1-1; conflicts=d < 2", "d 1-1"}},
		{"conflict avoided", "a", "a c", []string{"a 1-1; requires=v; conflicts=b", "b 1-1; provides=v",
			"c 1-1; provides=v"}},
		{"conflict with itself is none", "a", "a", []string{"a 1-1; conflicts=v; provides=v"}},
		{"obsoletes among the chosen", "a b", "rpm.conflict relation=Obsoletes: c",
			[]string{"a 1-1; requires=c = 1", "c 1-1", "b 1-1; obsoletes=c"}},
		{"two versions", "a b", "rpm.two-versions chain=a → c other_chain=b → c",
			[]string{"a 1-1; requires=c = 1", "b 1-1; requires=c = 2", "c 1-1", "c 2-1"}},
		{"rich conflict", "a b c", "rpm.conflict", []string{"a 1-1; conflicts=(b and c)", "b 1-1", "c 1-1"}},
		{"no root", "a nix", "rpm.no-package package=nix", []string{"a 1-1"}},
		{"no root at all", "(a", "rpm.root", []string{"a 1-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			roots := strings.Fields(c.roots)
			if strings.ContainsAny(c.roots, "=(") {
				roots = []string{c.roots}
			}
			if c.name == "a root by what it provides" {
				roots = strings.Fields(c.roots)
			}
			got, err := index(t, c.lines...).Closure(t.Context(), roots, Options{})
			check(t, c.want, got, err)
		})
	}
}

// check compares an answer with packages "name" or "name=version", or a fault "code argument=value…".
func check(t *testing.T, want string, got []*Package, err error) {
	t.Helper()
	if err != nil {
		f := faultOf(err)
		if f == nil || !strings.HasPrefix(want+" ", f.Code+" ") {
			t.Fatalf("%v %v", err, f)
		}
		for k, v := range f.Args {
			_, rest, ok := strings.Cut(want, " "+k+"=")
			if ok && !strings.HasPrefix(rest, v) {
				t.Errorf("%s is %q in %q", k, v, want)
			}
		}
		return
	}
	var list []string
	for i, p := range got {
		s := p.Name
		if i < len(strings.Fields(want)) && strings.Contains(strings.Fields(want)[i], "=") {
			s += "=" + p.EVR().String()
		}
		list = append(list, s)
	}
	if strings.Join(list, " ") != want {
		t.Errorf("got %v, want %s", list, want)
	}
}

func TestAllThatIsMissingIsTold(t *testing.T) {
	_, err := index(t, "a 1-1; requires=b; requires=gone >= 2", "b 1-1; requires=c",
		"c 1-1; requires=/lost; requires=(x or y)").
		Closure(t.Context(), []string{"a"}, Options{})
	var m MissingError
	if !errors.As(err, &m) {
		t.Fatal(err)
	}
	var got []string
	for _, x := range m {
		got = append(got, x.String())
	}
	slices.Sort(got)
	want := []string{"(x or y) (a → b → c)", "/lost (a → b → c)", "gone >= 2 (a)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if f := faultOf(err); f.Code != "rpm.unresolvable" || f.Args["count"] != "3" {
		t.Errorf("%v %v", f.Code, f.Args)
	}
}

func TestOptions(t *testing.T) {
	lines := []string{"a 1-1 aarch64; requires=libx.so; requires=b", "x 1-1 aarch64; provides=libx.so",
		"x 2-1 aarch64; provides=libx.so", "b 1-1; requires=c >= 2", "c 1-1", "c 2-1; requires=d",
		"d 1-1", "e 1-1; requires=x >= 2; requires=x-common", "x-common 1-1; requires=x = 1",
		"x-common 2-1; requires=x = 2", "old 1-1", "new 1-1; obsoletes=old; provides=old"}
	for _, c := range []struct {
		name, roots, baseline, want string
		o                           Options
	}{
		{"all", "a", "", "a b c d x=2-1", Options{}},
		{"what is installed is not packed", "a", "x 1-1 aarch64,c 2-1 noarch", "a b", Options{}},
		{"unless it is too old", "a", "x 1-1 aarch64,c 1-1 noarch", "a b c=2-1 d", Options{}},
		{"what goes with it is renewed too", "e", "x 1-1 aarch64,x-common 1-1 noarch", "e x=2-1 x-common=2-1",
			Options{}},
		{"a version that no repository has", "a", "c 3-1 noarch,d 9-1 noarch", "a b x", Options{}},
		{"an installed root is not packed", "a c", "a 1-1 aarch64,c 1-1 noarch", "", Options{}},
		{"roots alone", "a b", "", "a b", Options{NoDeps: true}},
		{"roots alone, not those installed", "a b", "b 1-1 noarch", "a", Options{NoDeps: true}},
		{"excluded", "a", "", "rpm.unresolvable", Options{Exclude: []string{"x*"}}},
		{"excluded by architecture", "c", "", "c d", Options{Exclude: []string{"*.aarch64"}}},
		{"bad pattern", "a", "", "rpm.exclude", Options{Exclude: []string{"["}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, b := range strings.Split(c.baseline, ",") {
				if f := strings.Fields(b); len(f) == 3 {
					e := ParseEVR(f[1])
					c.o.Baseline = append(c.o.Baseline, Installed{f[0], e, f[2]})
				}
			}
			got, err := index(t, lines...).Closure(t.Context(), strings.Fields(c.roots), c.o)
			check(t, c.want, got, err)
		})
	}
}

func TestPriorities(t *testing.T) {
	for _, c := range []struct {
		first, second int
		want          string
	}{{99, 99, "a=2-1 b"}, {10, 99, "a=1-1 b"}, {99, 10, "a=2-1 b"}} {
		x := NewIndex("aarch64")
		for i, text := range []string{primaryText(t, "a 1-1; requires=b"),
			primaryText(t, "a 2-1; requires=b", "b 1-1")} {
			if err := x.Add(strings.NewReader(text), fmt.Sprint(i), []int{c.first, c.second}[i]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := x.Closure(t.Context(), []string{"a"}, Options{})
		check(t, c.want, got, err)
	}
}

func TestModules(t *testing.T) {
	const yaml = `---
document: modulemd
version: 2
data: {name: node, stream: 18, artifacts: {rpms: ["node-1:18-1.noarch", "npm-0:1-1.noarch"]}}
---
document: modulemd
version: 2
data: {name: node, stream: "20", artifacts: {rpms: ["node-1:20-1.noarch", "npm-0:2-1.noarch"]}}
---
document: modulemd-defaults
version: 1
data: {module: node, stream: 18}
...
`
	for stream, want := range map[string]string{"": "node=1:18-1 npm=1-1", "20": "node=1:20-1 npm=2-1"} {
		x := index(t, "node 1:18-1; requires=npm", "node 1:20-1; requires=npm", "npm 1-1", "npm 2-1", "npm 3-1",
			"node 1:99-1")
		streams := map[string]string{}
		if stream != "" {
			streams["node"] = stream
		}
		if err := x.AddModules(strings.NewReader(yaml), "r", streams); err != nil {
			t.Fatal(err)
		}
		got, err := x.Closure(t.Context(), []string{"node"}, Options{})
		check(t, want, got, err)
	}
	if err := NewIndex("aarch64").AddModules(strings.NewReader("a: [b"), "r", nil); faultOf(err) == nil ||
		faultOf(err).Code != "rpm.modules" {
		t.Error(err)
	}
}

func TestFilelistsAreAskedForOnlyWhenNeeded(t *testing.T) {
	x := index(t, "a 1-1; requires=/usr/bin/x; requires=/opt/x", "b 1-1; file=/usr/bin/x", "c 1-1",
		"z 1-1; requires=/opt/z")
	wanted, err := x.Wanted(t.Context(), []string{"a"}, Options{})
	if err != nil || !slices.Equal(wanted, []string{"/opt/x"}) {
		t.Fatalf("%v %v", wanted, err)
	}
	list := fmt.Sprintf(
		`<filelists packages="1"><package pkgid="%064x" name="c" arch="noarch"><version epoch="0" ver="1" rel="1"/><file>/opt/x</file><file>/opt/y</file></package></filelists>`, 3)
	if err := x.AddFilelists(strings.NewReader(list), "http://repo.test", wanted); err != nil {
		t.Fatal(err)
	}
	got, err := x.Closure(t.Context(), []string{"a"}, Options{})
	check(t, "a b c", got, err)
	if meta := MetaOf(got[2]); !strings.Contains(meta, "<file>/opt/x</file>") || strings.Contains(meta, "/opt/y") {
		t.Errorf("the bundle's metadata lacks the path that was asked for: %s", meta)
	}
	if again, err := x.Wanted(t.Context(), []string{"a"}, Options{}); err != nil || again != nil {
		t.Errorf("%v %v", again, err)
	}
}

func TestAClosureCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := index(t, "a 1-1; requires=b", "b 1-1").Closure(ctx, []string{"a"}, Options{}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

func TestBaseline(t *testing.T) {
	list, err := ReadBaseline(strings.NewReader("# base\nglibc\t(none):2.34-1\taarch64\n\nbash\t1:5-2\taarch64\r\n" +
		"gpg-pubkey\t(none):b25e7f66-5d7e2a5c\t(none)\n"))
	if err != nil || len(list) != 2 || list[1] != (Installed{"bash", EVR{"1", "5", "2"}, "aarch64"}) {
		t.Fatalf("%v %v", list, err)
	}
	for _, bad := range []string{"glibc", "glibc 2.34", "glibc\t2.34-1\taarch64", "../x\t0:1-1\tnoarch",
		"a\t0:1\tnoarch", "a\t0:1-1\tno arch", strings.Repeat("x", 5000)} {
		if _, err := ReadBaseline(strings.NewReader(bad + "\n")); faultOf(err) == nil ||
			faultOf(err).Code != "rpm.baseline" {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

func TestRichSyntax(t *testing.T) {
	for _, good := range []string{"(a or b)", "(a and (b or c) and d)", "(a >= 1:2-3 if libc.so.6()(64bit) else c)",
		"(a)", "( a  with b )", "(a unless b)", "(a(x) without b = 1)"} {
		if _, err := parseRich(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "()", "(a", "(a or)", "(a xor b)", "(a or b and c)", "(a or b) c", "(a >= )",
		"(a if b if c)", "(a without b without c)", strings.Repeat("(", 40) + "a" + strings.Repeat(")", 40),
		"(" + strings.Repeat("a or ", 2000) + "a)"} {
		if _, err := parseRich(bad); err == nil {
			t.Errorf("%.60s was accepted", bad)
		}
	}
}
