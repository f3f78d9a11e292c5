package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// minimal is the smallest valid file; tests change one thing of it.
const minimal = `cluster-id: k8s
masters:
- name: m0
  ip: 192.168.0.1
nodes:
- name: m0
  ip: 192.168.0.1
package-src:
  x86src: /srv/eggo-amd64.tar.gz
`

func codes(ps Problems) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%d:%s", p.Line, p.Code))
	}
	return strings.Join(out, " ")
}

func TestMinimalIsValid(t *testing.T) {
	if c, ps := Load([]byte(minimal), "f"); c == nil || len(ps) > 0 {
		t.Fatalf("%s", dump(ps))
	}
}

// Bytes that are no deploy.yaml get one clear problem with its line, and get it soon.
func TestHostileFilesAreRefusedWithALine(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	bomb := "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"
	for name, tc := range map[string]struct{ data, want string }{
		"empty":             {"", "1:config.empty"},
		"blank":             {" \n\n", "1:config.empty"},
		"only comments":     {"# nothing\n", "1:config.empty"},
		"null":              {"~\n", "1:config.empty"},
		"binary":            {"\x7fELF\x02\x01\x01\x00\x00\x00", "1:config.binary"},
		"NUL in line 2":     {"cluster-id: a\nusername: r\x00t\n", "2:config.binary"},
		"gzip":              {"\x1f\x8b\x08\x00\x00", "1:config.binary"},
		"too large":         {strings.Repeat("# comment\n", 1<<20), "1:config.too-large"},
		"byte order mark":   {"\xef\xbb\xbf" + minimal, "1:config.bom"},
		"CR LF":             {strings.ReplaceAll(minimal, "\n", "\r\n"), "1:config.crlf"},
		"tabs":              {"masters:\n\t- name: m0\n", "2:config.tab"},
		"not UTF-8":         {"cluster-id: a\nusername: \xb9\xdc\xc0\xed\n", "2:config.utf8"},
		"escape sequence":   {"cluster-id: a\nusername: \x1b[31mroot\n", "2:config.control"},
		"lone CR":           {"cluster-id: a\rusername: b\n", "1:config.control"},
		"bidi override":     {"cluster-id: a\nusername: \u202eroot\n", "2:config.control"},
		"not YAML":          {"cluster-id: a\nmasters: [\n", "2:config.syntax"},
		"two documents":     {minimal + "---\n" + minimal, "10:config.documents"},
		"alias bomb":        {bomb, "1:config.alias 2:config.alias 3:config.alias"},
		"unknown alias":     {minimal + "# *secret\nusername: a*secret\npassword: *secret\n", "12:config.alias"},
		"alias in a list":   {"cluster-id: a\naddons: [x, *y]\n", "2:config.alias"},
		"YAML 1.2":          {"# ours\n%YAML 1.2\n---\n" + minimal, "2:config.directive"},
		"YAML of OpenCV":    {"%YAML:1.0\n---\n" + minimal, "1:config.directive"},
		"colon in Chinese":  {"cluster-id: a\nusername： root\n", "2:config.full-width"},
		"key in Chinese":    {minimal + "etcds: [{name: m0, ip：::1}]\n", "10:config.missing 10:config.full-width"},
		"item in Chinese":   {"cluster-id: a\nmasters:\n- name：m0\n", "3:config.full-width"},
		"deep":              {"addons: " + deep + "\n", "1:config.depth"},
		"tag":               {"cluster-id: !!binary aGVsbG8=\n", "1:config.tag"},
		"merge key":         {"x: &x {port: 22}\n<<: *x\n", "1:config.alias 2:config.alias"},
		"a list":            {"- a\n", "1:config.want-map"},
		"a word":            {"hello\n", "1:config.want-map"},
		"newline in string": {"cluster-id: \"a\\nb\"\n", "1:config.no-masters 1:config.control-in-value"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c, ps := Load([]byte(tc.data), "f")
			if c != nil || !ps.HasErrors() {
				t.Fatal("it was accepted")
			}
			got := codes(ps)
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// Whatever a megabyte of YAML is made of, it is answered in bounded time and with a bounded number of problems.
func TestAMegabyteOfAnythingEndsSoon(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	for _, unit := range []string{"[", "{", "- ", "? ", "a: ", "&a ", "'", "x", "- a\n", "a: b\n", "{a: ", "//\n",
		"- {name: a, ip: 1.1.1.1}\n"} {
		doc := "masters:\n" + strings.Repeat(unit, (MaxSize-20)/len(unit))
		before := cpu(t)
		_, ps := Load([]byte(doc), "f")
		if took := cpu(t) - before; took > 30*time.Second {
			t.Errorf("%q: took %v of CPU", unit, took)
		}
		if !ps.HasErrors() || len(ps) > maxProblems+1 {
			t.Errorf("%q: %d problems", unit, len(ps))
		}
	}
}

// cpu is the time that this process has computed: what else the machine does does not count.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

// A file that was cut off anywhere is a file with problems, or a shorter file, but never a panic. The manual's example
// is cut at every byte of what is not comment, and with its comments at every few bytes, in the middle of Chinese
// characters too.
func TestCutAtEveryByte(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	commented := strings.Replace(manual(t), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1)
	bare := regexp.MustCompile(` *//[^\n]*`).ReplaceAllString(commented, "")
	for _, tc := range []struct {
		text string
		step int
	}{{bare, 1}, {commented, 17}, {newLayout, 1}} {
		for n := 0; n <= len(tc.text); n += tc.step {
			cut := []byte(tc.text[:n])
			c, ps := Load(cut, "f")
			if (c == nil) != ps.HasErrors() {
				t.Fatalf("cut at %d: cluster %v with %s", n, c != nil, codes(ps))
			}
			checkLines(t, cut, ps)
		}
	}
}

func checkLines(t *testing.T, data []byte, ps Problems) {
	t.Helper()
	lines := bytes.Count(data, []byte("\n")) + 1
	for _, p := range ps {
		if p.Line < 1 || p.Line > lines || p.Col < 1 || p.Code == "" {
			t.Fatalf("a problem outside of the %d lines: %s", lines, dump(Problems{p}))
		}
	}
}

func TestSlashCommentsKeepLinesAndValues(t *testing.T) {
	for in, want := range map[string]string{
		"a: b // c":                 "a: b #  c",
		"a: b\t// c":                "a: b\t#  c",
		"// all\na: b":              "#  all\na: b",
		"a: https://x/y":            "a: https://x/y",
		"a: unix:///run/x.sock":     "a: unix:///run/x.sock",
		"a: \"x // y\" // z":        "a: \"x // y\" #  z",
		"a: 'it''s // x' // y":      "a: 'it''s // x' #  y",
		"a: \"\\\" // x\" // y":     "a: \"\\\" // x\" #  y",
		"a: it's // z":              "a: it's #  z",
		"a: b # see // there":       "a: b # see // there",
		"a: [\"x // y\"] // z":      "a: [\"x // y\"] #  z",
		"a: \"x\n  // y\" // z":     "a: \"x\n  // y\" #  z",
		"a: b//c":                   "a: b//c",
		"- 'x // y'\n- z // w":      "- 'x // y'\n- z #  w",
		"a: {\"b\": 'c // d'} // e": "a: {\"b\": 'c // d'} #  e",
	} {
		got, _, _ := slashComments([]byte(in))
		if string(got) != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
	if _, first, count := slashComments([]byte("a: b\nc: d // x\ne: f // y\n")); first != 2 || count != 2 {
		t.Errorf("first %d, count %d", first, count)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(manual(f)))
	f.Add([]byte(strings.Replace(manual(f), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1)))
	f.Add([]byte(minimal))
	f.Add([]byte(newLayout))
	f.Add([]byte("masters: [{name: a, ip: '::1'}, *x]\nservice: {cidr: 0.0.0.0/0}\nnetwork: {podcidr: '::/0'}\n"))
	f.Add([]byte("loadbalance: [{}]\nnodes: ~\nworkers: []\npacakges: {node: [{name: 'a,b', type: bin, dst: /tmp}]}\n"))
	f.Add([]byte("a: \"\\\n// x\n'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := Load(data, "f")
		if (c == nil) != ps.HasErrors() {
			t.Fatalf("cluster %v with %s", c != nil, codes(ps))
		}
		checkLines(t, data, ps)
		if c != nil {
			checkLines(t, data, Unsupported(c))
		}
	})
}
