package rpm

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func repomdText(change func(string) string) []byte {
	s := `<?xml version="1.0" encoding="UTF-8"?>
<repomd xmlns="http://linux.duke.edu/metadata/repo" xmlns:rpm="http://linux.duke.edu/metadata/rpm">
  <revision>17</revision><tags><content>x</content></tags>
  <data type="primary"><checksum type="sha512">` + strings.Repeat("a", 128) +
		`</checksum><open-checksum type="sha256">` + strings.Repeat("b", 64) + `</open-checksum>
    <location href="repodata/p.xml.gz"/><timestamp>1</timestamp><size>10</size><open-size>20</open-size></data>
  <data type="primary_db"><checksum type="md5">x</checksum><location href="../../etc/passwd"/></data>
  <data type="filelists"><checksum type="sha256">` + strings.Repeat("c", 64) +
		`</checksum><location href="repodata/f.xml.zst"/></data>
</repomd>`
	return []byte(change(s))
}

func same(s string) string { return s }

func TestRepomd(t *testing.T) {
	m, err := ParseRepomd(repomdText(same), "r")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := m.Choose(Primary)
	f, ok := m.Choose(Filelists)
	_, modules := m.Choose(Modules)
	if p.Sum.Type != "sha512" || p.Size != 10 || p.OpenSize != 20 || p.Location != "repodata/p.xml.gz" ||
		m.Revision != "17" || !ok || f.Size != -1 || modules {
		t.Errorf("%+v %+v", p, f)
	}
	for _, c := range [][2]string{
		{`type="sha512"`, `type="md5"`}, {`type="sha512"`, `type="sha"`}, {"aaaa", "aaa"}, {"aaaa", "AAAA"},
		{"repodata/p.xml.gz", "/etc/p.xml.gz"}, {"repodata/p.xml.gz", "../p.xml.gz"},
		{"repodata/p.xml.gz", "http://x.test/p.xml.gz"},
		{`href="repodata/p.xml.gz"`, `href="p.xml.gz" xml:base="http://x.test"`}, {"<size>10", "<size>-1"},
		{"<size>10", "<size>x"},
		{`type="filelists"`, `type="primary"`}, {"<repomd", "<!DOCTYPE a [<!ENTITY b 'c'>]><repomd"}, {"17", "&b;"},
		{"</repomd>", ""}, {"</repomd>", "</repomd><x/>"},
		{"</repomd>", "</repomd>x"}, {"repomd", "metadata"}, {`"primary"`, `"other"`},
		{"<tags>", strings.Repeat("<a>", 20)},
	} {
		_, err := ParseRepomd(repomdText(func(s string) string { return strings.Replace(s, c[0], c[1], 1) }), "r")
		if err == nil || faultOf(err).Code != "rpm.repomd" {
			t.Errorf("%q was accepted: %v", c[1], err)
		}
	}
}

func TestOpenChecksWhatItUnpacks(t *testing.T) {
	text := []byte(strings.Repeat("some text\n", 1000))
	var gz, x, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	xw, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, xw, z} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for ext, data := range map[string][]byte{".gz": gz.Bytes(), ".xz": x.Bytes(), ".zst": zst.Bytes(), "": text} {
		for name, c := range map[string]struct {
			size int64
			sum  string
			ok   bool
		}{
			"good": {int64(len(text)), sum256(text), true}, "size unknown": {-1, sum256(text), true},
			"no sum": {int64(len(text)), "", true},
			"bomb":   {int64(len(text)) - 1, "", false}, "another": {-1, sum256(nil), false},
		} {
			e := Entry{Type: Primary, Location: "p.xml" + ext, OpenSize: c.size, OpenSum: Sum{"sha256", c.sum}}
			r, err := e.Open(bytes.NewReader(data))
			if err == nil {
				var got []byte
				got, err = io.ReadAll(r)
				if err == nil && !bytes.Equal(got, text) {
					err = errors.New("another text")
				}
				_ = r.Close()
			}
			if (err == nil) != c.ok {
				t.Errorf("%s%s: %v", name, ext, err)
			}
		}
	}
	if _, err := (Entry{Type: Primary, Location: "p.sqlite.bz2"}).Open(bytes.NewReader(nil)); err == nil {
		t.Error("bz2 was accepted")
	}
}

func TestHostilePrimary(t *testing.T) {
	good := primaryText(t, "a 1-1; requires=b >= 1; file=/usr/bin/a")
	if err := NewIndex("aarch64").Add(strings.NewReader(good), "r", 99); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"<name>a<", "<name>../a<"}, {"<name>a<", "<name>a b<"}, {"<name>a<", "<name>-a<"}, {"<name>a<", "<name><"},
		{"<name>a<", "<name>" + strings.Repeat("a", 300) + "<"},
		{`ver="1"`, `ver="1/2"`}, {`ver="1"`, `ver=""`}, {`rel="1"`, `rel="1-2"`}, {`epoch="0"`, `epoch="-1"`},
		{"a-1-1.noarch.rpm", "/etc/a.rpm"}, {"a-1-1.noarch.rpm", "../a.rpm"},
		{"a-1-1.noarch.rpm", "a.sh"}, {"a-1-1.noarch.rpm", "a;b.rpm"}, {`type="sha256"`, `type="sha"`},
		{`package="1"`, `package="-1"`}, {`package="1"`, `package="x"`}, {`package="1"`, `package="0"`},
		{`flags="GE"`, `flags="XX"`}, {`name="b"`, `name=""`}, {`name="b"`, "name=\"b\x07\""}, {"<file>/", "<file>"},
		{"<file>", `<file type="device">`}, {"<metadata", "<!DOCTYPE x><metadata"},
		{"<summary>s", "<summary>&x;"}, {"<summary>s", "<summary>" + strings.Repeat("s", 2<<20)}, {"</package>", ""},
		{"</metadata>", ""}, {"<arch>", "<arch"}, {`ver="1"`, `ver=1`},
		{`<location href="`, `<location xml:base="file:///" href="`}, {"<description>", strings.Repeat("<d>", 50)},
		{"<description>", "<d " + strings.Repeat(`x="1" `, 50) + "/><description>"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if text == good {
			t.Fatalf("%q is not there", c[0])
		}
		if err := NewIndex("aarch64").Add(strings.NewReader(text), "r", 99); err == nil ||
			faultOf(err).Code != "rpm.primary" {
			t.Errorf("%.60q was accepted: %v", c[1], err)
		}
	}
	// A tag full of ">" in quotes is read once, not again for each.
	tag := `<description a="` + strings.Repeat(">", 1<<19) + `"/>`
	if err := NewIndex("aarch64").Add(strings.NewReader(strings.Replace(good, "<description>d</description>", tag, 1)),
		"r", 99); err != nil {
		t.Error(err)
	}
}

func TestMetaComesBackAsItWas(t *testing.T) {
	x := index(t,
		"a 2:1.0~rc1^git-1.oe aarch64; requires=(b or c >= 1:2-3); requires=lib<x>&'y' = 3; provides=v < 2; "+
			"conflicts=d; obsoletes=e <= 3; file=/usr/bin/a; file=/a&amp;b c", "b 1-1", "c 9-1")
	var metas []string
	for _, p := range x.list {
		metas = append(metas, MetaOf(p))
	}
	for _, m := range metas {
		p, err := PackageOfMeta(m)
		if err != nil || MetaOf(p) != m {
			t.Errorf("%v\n%s", err, m)
		}
	}
	data, err := RepodataFromMetas(metas)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(metas)
	again, err := RepodataFromMetas(metas)
	if err != nil {
		t.Fatal(err)
	}
	for name := range data {
		if !bytes.Equal(data[name], again[name]) {
			t.Errorf("%s depends on the order", name)
		}
	}
	md, err := ParseRepomd(data[RepomdPath], "bundle")
	if err != nil {
		t.Fatal(err)
	}
	e, _ := md.Choose(Primary)
	if e.Sum.Hex != sum256(data[PrimaryPath]) || e.Size != int64(len(data[PrimaryPath])) {
		t.Error("repomd.xml has another sum or size")
	}
	in, err := e.Open(bytes.NewReader(data[e.Location]))
	if err != nil {
		t.Fatal(err)
	}
	y := NewIndex("aarch64")
	if err := y.Add(in, "bundle", 99); err != nil {
		t.Fatal(err)
	}
	got, err := y.Closure(t.Context(), []string{"b"}, Options{})
	check(t, "b", got, err)
	if y.Len() != 3 || y.byName["a"][0].Location != "a-1.0~rc1^git-1.oe.aarch64.rpm" {
		t.Errorf("%d %q", y.Len(), y.byName["a"][0].Location)
	}

	bad := []string{"", "x", metas[0] + " ", strings.Replace(metas[0], "<summary>", "<summary> ", 1),
		strings.Replace(metas[0], "<packager/>", "", 1),
		strings.Replace(metas[0], "</package>", "</package><package/>", 1), strings.Replace(metas[0], ".rpm", "", 1),
		strings.Replace(metas[0], `href="`, `href="../`, 1),
		strings.Replace(metas[0], "<name>", "<!-- --><name>", 1)}
	for _, m := range bad {
		if _, err := RepodataFromMetas([]string{m}); err == nil || faultOf(err).Code != "rpm.meta" {
			t.Errorf("accepted: %s", m)
		}
	}
	twice := MetaOf(index(t, "b 1:1-1").list[0])
	if _, err := RepodataFromMetas([]string{metas[1], twice}); err == nil || faultOf(err).Code != "rpm.same-file" {
		t.Error(err)
	}
}

// Many packages with the same long list of candidates, and long chains: nothing grows with the square.
func TestLargeClosures(t *testing.T) {
	var lines []string
	const n = 3000
	for i := range n {
		lines = append(lines,
			fmt.Sprintf("p%d 1-1; provides=all; requires=p%d; requires=all >= 1; requires=(all or none)", i, (i+1)%n))
	}
	got, err := index(t, lines...).Closure(t.Context(), []string{"p0"}, Options{})
	if err != nil || len(got) != n {
		t.Errorf("%d %v", len(got), err)
	}
}

func FuzzPrimary(f *testing.F) {
	f.Add(primaryText(f,
		"a 1:1-1 aarch64; requires=b; requires=(c if d else e); provides=v = 2; file=/x; obsoletes=c; conflicts=d",
		"b 1-1; recommends=a; supplements=c"))
	f.Fuzz(func(t *testing.T, text string) {
		x := NewIndex("aarch64")
		if x.Add(strings.NewReader(text), "r", 99) != nil {
			return
		}
		var roots, metas []string
		for _, p := range x.list {
			roots, metas = append(roots, p.Name), append(metas, MetaOf(p))
		}
		_, _ = x.Closure(t.Context(), roots, Options{})
		if _, err := RepodataFromMetas(metas); err != nil && faultOf(err).Code != "rpm.same-file" {
			t.Fatal(err)
		}
	})
}

func FuzzRepomd(f *testing.F) {
	f.Add(repomdText(same))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ParseRepomd(data, "r"); err == nil {
			if _, ok := m.Choose(Primary); !ok {
				t.Fatal("without packages")
			}
		}
	})
}

// FuzzScanner holds the scanner against encoding/xml: what it accepts is the same document.
func FuzzScanner(f *testing.F) {
	f.Add(`<?xml version="1.0"?><a b="c &amp; d" e='f>g'><!-- x --><h/>text<![CDATA[<raw>]]>&#65;</a>`)
	f.Fuzz(func(t *testing.T, text string) {
		ours, err := events(text)
		if err != nil {
			return
		}
		theirs, err := stdEvents(text)
		if err != nil {
			return // more is refused there: characters, names
		}
		if ours != theirs {
			t.Fatalf("%q:\n%s\n%s", text, ours, theirs)
		}
	})
}

func events(text string) (string, error) {
	x := newScanner(strings.NewReader(text))
	var b strings.Builder
	for {
		t, err := x.next()
		if err != nil {
			return "", err
		}
		switch t {
		case tokEOF:
			return b.String(), nil
		case tokStart:
			fmt.Fprintf(&b, "<%s", x.name)
			for _, a := range x.attrs {
				fmt.Fprintf(&b, " %s=%q", a.name, strings.ReplaceAll(strings.ReplaceAll(string(a.value), "\r\n", "\n"),
					"\r", "\n"))
			}
			b.WriteString(">")
		case tokEnd:
			b.WriteString("</>")
		case tokText:
			if len(x.marks) > 0 {
				b.WriteString(strings.ReplaceAll(strings.ReplaceAll(string(x.text), "\r\n", "\n"), "\r", "\n"))
			}
		}
	}
}

func stdEvents(text string) (string, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	var b strings.Builder
	depth := 0
	for {
		t, err := d.RawToken()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			if strings.Contains(t.Name.Local, ":") {
				return "", errors.New("two colons")
			}
			fmt.Fprintf(&b, "<%s", t.Name.Local)
			for _, a := range t.Attr {
				fmt.Fprintf(&b, " %s=%q", a.Name.Local, a.Value)
			}
			b.WriteString(">")
		case xml.EndElement:
			depth--
			b.WriteString("</>")
		case xml.CharData:
			if depth > 0 {
				b.Write(t)
			}
		}
	}
}

func FuzzDep(f *testing.F) {
	f.Add("(a or (b >= 1:2-3~rc if libc.so()(64bit) else c))")
	f.Add("a = 1.0^git")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDep(s)
		if err != nil {
			return
		}
		if e, err := parseRich(d.Name); d.rich() && (err != nil || e == nil) {
			t.Fatal(err)
		}
		d.overlaps(d)
	})
}

func FuzzVercmp(f *testing.F) {
	f.Add("1.0~rc1^git2", "1.0a", "1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if Vercmp(a, b) != -Vercmp(b, a) {
			t.Errorf("%q %q", a, b)
		}
		Compare(ParseEVR(a), ParseEVR(b))
		Compare(ParseEVR(b), ParseEVR(c))
	})
}

func FuzzBaseline(f *testing.F) {
	f.Add("glibc\t(none):2.34-1\taarch64\n")
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ReadBaseline(strings.NewReader(s))
		if err != nil {
			return
		}
		if _, err := index(t, "a 1-1; requires=b", "b 1-1").Closure(t.Context(), []string{"a"},
			Options{Baseline: list}); err != nil && faultOf(err) == nil {
			t.Fatal(err)
		}
	})
}

// large is a repository of n packages with the mix of a distribution's: sonames, files, requirements that many share.
func large(t testing.TB, n int) string {
	t.Helper()
	lines := make([]string, 0, n)
	for i := range n {
		l := fmt.Sprintf("package-%d-devel 1.%d.0-3.oe2203 aarch64; provides=package-%d-devel(aarch-64) = "+
			"1.%d.0-3.oe2203; file=/usr/bin/package-%d; file=/etc/package-%d/package.conf", i, i, i, i, i, i)
		for j := range 6 {
			l += fmt.Sprintf("; provides=libpackage%d.so.%d()(64bit)", i, j)
		}
		for j := range 12 {
			l += fmt.Sprintf("; requires=libpackage%d.so.%d()(64bit)", (i*7+j*j)%min(n, 2000), j%6)
		}
		lines = append(lines, l)
	}
	return primaryText(t, lines...)
}

func BenchmarkPrimary(b *testing.B) {
	text := large(b, 20000)
	b.SetBytes(int64(len(text)))
	var x *Index
	for b.Loop() {
		x = NewIndex("aarch64")
		if err := x.Add(strings.NewReader(text), "r", 99); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc-uint64(len(text)))/1e6, "MB-index")
	runtime.KeepAlive(x)
}

func BenchmarkClosure(b *testing.B) {
	x := index(b, "x 1-1")
	if err := x.Add(strings.NewReader(large(b, 20000)), "r", 99); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		list, err := x.Closure(b.Context(), []string{"package-1-devel", "package-19999-devel"}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n = len(list)
		x.ready = false
	}
	b.ReportMetric(float64(n), "packages")
}
