package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sourced = `# rack 7
cluster-id: c
masters: # control planes
- {name: m1, ip: 192.0.2.11}
package-src:   # where the bundles are
  type: tar.gz
  # for the servers
  x86src: ./old.tar.gz  # of March
  armsrc: "/srv/old arm.tar.gz"
  distpath: /tmp
# the end
`

const sourcedNewer = `masters: [{name: m1, ip: 192.0.2.11}]
workers: [{name: w1, ip: 192.0.2.21, arch: arm64}]
install: # all of it
  package-source:
    type: tar.gz
    srcpath:
      x86: /old.tar.gz # of March
      arm64: /old-arm.tar.gz
  addition:
    master: []
eggo:
  hostname: set
  bundles: [/more.tar.gz]
`

func of(amd64, arm64 string, more ...string) PackageSource {
	p := PackageSource{Bundles: map[string]string{}, More: more}
	for arch, path := range map[string]string{"amd64": amd64, "arm64": arm64} {
		if path != "" {
			p.Bundles[arch] = path
		}
	}
	return p
}

func TestOnlyTheLinesOfTheBundlesChange(t *testing.T) {
	for name, tc := range map[string]struct {
		file      string
		to        PackageSource
		gone, new []string
	}{
		"both": {sourced, of("/new.tar.gz", "/new arm.tar.gz"),
			[]string{"  x86src: ./old.tar.gz # of March",
				`  armsrc: "/srv/old arm.tar.gz"`},
			[]string{"  x86src: /new.tar.gz # of March", `  armsrc: "/new arm.tar.gz"`}},
		"one less, and one for another system": {sourced, of("/new.tar.gz", "", "/rhel.tar.gz"),
			[]string{"  x86src: ./old.tar.gz # of March", `  armsrc: "/srv/old arm.tar.gz"`},
			[]string{"  x86src: /new.tar.gz # of March", "eggo:", "  bundles:", "    - /rhel.tar.gz"}},
		"the same": {sourced, of("./old.tar.gz", "/srv/old arm.tar.gz"), nil, nil},
		"the newer layout": {sourcedNewer, of("/new.tar.gz", "/new-arm.tar.gz"),
			[]string{"      x86: /old.tar.gz # of March", "      arm64: /old-arm.tar.gz", "  bundles: [/more.tar.gz]"},
			[]string{"      x86: /new.tar.gz # of March", "      arm64: /new-arm.tar.gz"}},
		"no bundle yet": {"masters: [{name: m1, ip: 192.0.2.11}]\neggo: {bundles: [/a.tar.gz]}\n", of("/b.tar.gz", ""),
			[]string{"eggo: {bundles: [/a.tar.gz]}"}, []string{"eggo: {}", "package-src:", "  x86src: /b.tar.gz"}},
		"in one line": {"masters: [{name: m1, ip: 192.0.2.11}]\npackage-src: {type: tar.gz, x86src: /a.tar.gz}\n",
			of("/b.tar.gz", "/c.tar.gz", "/d.tar.gz"), []string{"package-src: {type: tar.gz, x86src: /a.tar.gz}"},
			[]string{"package-src: {type: tar.gz, x86src: /b.tar.gz, armsrc: /c.tar.gz}", "eggo:", "  bundles:",
				"    - /d.tar.gz"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, problems, err := SetSources([]byte(tc.file), "deploy.yaml", tc.to)
			if err != nil || problems.HasErrors() {
				t.Fatalf("%v %+v\n%s", err, problems, out)
			}
			gone, added := lineDiff(tc.file, string(out))
			if d := cmp.Diff(tc.gone, gone); d != "" {
				t.Errorf("lines that are gone: %s\n%s", d, out)
			}
			if d := cmp.Diff(tc.new, added); d != "" {
				t.Errorf("lines that are new: %s\n%s", d, out)
			}
			c, _ := Load(out, "deploy.yaml")
			if c == nil || !sameSources(c.Source, tc.to) {
				t.Errorf("%+v\n%s", c, out)
			}
			if again, _, err := SetSources(out, "deploy.yaml", tc.to); err != nil || string(again) != string(out) {
				t.Errorf("not the same again: %v\n%s", err, again)
			}
			if tc.gone != nil && !SameButSources([]byte(tc.file), out, "deploy.yaml") {
				t.Errorf("another cluster\n%s", out)
			}
		})
	}
}

// The lines of a copy are returned; those that are right from the directory of the copy are not among them.
func TestTheLinesOfACopy(t *testing.T) {
	to := of("/srv/new.tar.gz", "/srv/old arm.tar.gz", "/srv/more.tar.gz")
	want := []SourceLine{{8, "package-src.x86src", "/srv/new.tar.gz"}, {0, "eggo.bundles", "/srv/more.tar.gz"}}
	if d := cmp.Diff(want, SourceLines([]byte(sourced), "/srv/deploy.yaml", to)); d != "" {
		t.Error(d)
	}
	to = of("/srv/old.tar.gz", "")
	want = []SourceLine{{9, "package-src.armsrc", ""}}
	if d := cmp.Diff(want, SourceLines([]byte(sourced), "/srv/deploy.yaml", to)); d != "" {
		t.Error(d)
	}
	want = []SourceLine{{8, "install.package-source.srcpath.arm64", ""},
		{13, "eggo.bundles", ""}}
	if d := cmp.Diff(want, SourceLines([]byte(sourcedNewer), "/srv/deploy.yaml", of("/old.tar.gz", ""))); d != "" {
		t.Error(d)
	}
	if got := SourceLines([]byte("["), "f", to); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestSameButSources(t *testing.T) {
	for text, want := range map[string]bool{
		sourced: true, strings.ReplaceAll(sourced, "old", "new"): true,
		strings.Replace(sourced, "# rack 7", "# rack 8", 1):                           true,
		strings.Replace(sourced, "cluster-id: c", "cluster-id: d", 1):                 false,
		strings.Replace(sourced, "192.0.2.11", "192.0.2.12", 1):                       false,
		strings.Replace(sourced, "distpath: /tmp", "distpath: /root/.eggo", 1):        false,
		sourced + "runtime: docker\n":                                                 false,
		"masters: []\n":                                                               false,
		sourced + "eggo: {bundles: [/a.tar.gz]}\n":                                    true,
		strings.Replace(sourced, "type: tar.gz", "type: 'tar.gz'", 1):                 true,
		strings.Replace(sourced, "{name: m1, ip: 192.0.2.11}", "{ip: 192.0.2.11}", 1): false,
	} {
		if got := SameButSources([]byte(sourced), []byte(text), "/f"); got != want {
			t.Errorf("%v\n%s", got, text)
		}
	}
}

func TestSourcesThatCannotBeWritten(t *testing.T) {
	if _, _, err := SetSources([]byte("["), "f", of("/a", "")); err == nil {
		t.Error("a broken text")
	}
	if out, problems, err := SetSources([]byte("masters: []\n"), "f", of("/a", "")); out != nil || err != nil ||
		!problems.HasErrors() {
		t.Error(out, problems, err)
	}
	if _, problems, err := SetSources([]byte(sourced), "f", of("/a\x1b[2J", "")); err == nil && !problems.HasErrors() {
		t.Error("a path that is none")
	}
}

func FuzzSetSources(f *testing.F) {
	f.Add(sourced, "/a b.tar.gz", "/c.tar.gz")
	f.Add(sourcedNewer, "/a: b.tar.gz", "")
	f.Add("{masters: [{name: m1, ip: 192.0.2.11}], package-src: {x86src: /x.tar.gz}}\n", "/y", "/z")
	f.Fuzz(func(t *testing.T, text, path, more string) {
		to := of(path, "")
		if more != "" {
			to.More = []string{more}
		}
		out, problems, err := SetSources([]byte(text), "f", to)
		if err != nil || problems.HasErrors() || path == "" {
			return
		}
		if c, _ := Load(out, "f"); c == nil || !sameSources(c.Source, to) {
			t.Errorf("%q\n%s", path, out)
		}
	})
}
