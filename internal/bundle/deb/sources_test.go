package deb

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// someSources has one of each kind.
func someSources() fstest.MapFS {
	const key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEYwh\n -----END PGP PUBLIC KEY BLOCK-----"
	return fstest.MapFS{
		"etc/apt/sources.list": {Data: []byte(`# the archive
deb http://deb.debian.org/debian bookworm main contrib # and no more
deb-src http://deb.debian.org/debian bookworm main

deb [ arch=amd64,arm64 signed-by=/usr/share/keyrings/x.gpg trusted=yes ] https://user:secret@example.org/apt/ stable/updates main
deb cdrom:[Debian GNU/Linux 12 _Bookworm_ # 1]/ bookworm main
deb mirror+file:/etc/apt/mirrors bookworm main
deb [trusted=yes check-valid-until=no] file:/srv/repo ./
deb https://example.org/flat dir/$(ARCH)/
deb https://pkgs.k8s.io/core:/stable:/v1.34/deb/ /
`)},
		"etc/apt/sources.list.d/b.sources": {Data: []byte(`# comment

Types: deb deb-src
URIs: https://example.org/b
Suites: one two
Components: main
Architectures: arm64
Signed-By: ` + key + `

Enabled: no
Types: deb
URIs: https://example.org/off
Suites: x
Components: main
`)},
		"etc/apt/sources.list.d/a.list":               {Data: []byte(`deb "https://example.org/a b" s main`)},
		"etc/apt/sources.list.d/c.list.disabled":      {Data: []byte(`nonsense`)},
		"etc/apt/sources.list.d/d.sources.disabled-x": {Data: []byte(`nonsense`)},
		"etc/apt/sources.list.d/e e.list":             {Data: []byte(`nonsense`)},
	}
}

func TestParseSources(t *testing.T) {
	list, err := ParseSources(someSources())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sources.list:2 http://deb.debian.org/debian/dists/bookworm/ [main contrib] [] [] ",
		"sources.list:3 http://deb.debian.org/debian/dists/bookworm/ [main] [] [] source",
		"sources.list:5 https://user:secret@example.org/apt/dists/stable/updates/ [main] [amd64 arm64] " +
			"[/usr/share/keyrings/x.gpg] trusted",
		"sources.list:6 cdrom:[Debian GNU/Linux 12 _Bookworm_ # 1]/dists/bookworm/ [main] [] [] cdrom",
		"sources.list:7 mirror+file:/etc/apt/mirrors/dists/bookworm/ [main] [] [] mirror+file",
		"sources.list:8 file:/srv/repo/ [] [] [] flat trusted old",
		"sources.list:9 https://example.org/flat/dir/arm64/ [] [] [] flat",
		"sources.list:10 https://pkgs.k8s.io/core:/stable:/v1.34/deb/ [] [] [] flat",
		"a.list:1 https://example.org/a b/dists/s/ [main] [] [] ",
		"b.sources:3 https://example.org/b/dists/one/ [main] [arm64] [] key",
		"b.sources:3 https://example.org/b/dists/two/ [main] [arm64] [] key",
		"b.sources:3 https://example.org/b/dists/one/ [main] [arm64] [] source key",
		"b.sources:3 https://example.org/b/dists/two/ [main] [arm64] [] source key",
		"b.sources:13 https://example.org/off/dists/x/ [main] [] [] disabled",
	}
	for i, e := range list {
		e, ok := e.For("arm64")
		var flags []string
		if e.Skip != "" {
			flags = append(flags, e.Skip)
		}
		if ok != (e.Skip == "") {
			t.Errorf("%v: %v", e, ok)
		}
		for _, f := range []struct {
			name string
			is   bool
		}{{"flat", e.Flat}, {"trusted", e.Trusted}, {"old", e.IgnoreExpiry}, {"key", len(e.Key) > 0}} {
			if f.is {
				flags = append(flags, f.name)
			}
		}
		got := fmt.Sprintf("%s:%d %s %v %v %v %s", e.File[strings.LastIndex(e.File, "/")+1:], e.Line, e.Base(),
			e.Components, e.Architectures, e.SignedBy, strings.Join(flags, " "))
		if i >= len(want) || got != want[i] {
			t.Errorf("%d: %s", i, got)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d entries, want %d", len(list), len(want))
	}
	if k := string(list[9].Key); k != "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEYwh\n-----END PGP PUBLIC KEY "+
		"BLOCK-----\n" {
		t.Errorf("key %q", k)
	}
	if _, ok := list[2].For("riscv64"); ok {
		t.Error("taken for an architecture that it is not for")
	}
}

func TestBadSources(t *testing.T) {
	for _, line := range []string{"nonsense", "deb http://user:secret@x", "deb [arch=amd64 http://user:secret@x y main",
		"deb http://user:secret@x ../y main", "deb http://user:secret@x y",
		"deb http://user:secret@x ./ main", `deb "http://user:secret@x y main`, "deb user y main",
		"deb http://user:secret@x%zz y main", "deb http://user:secret@x y ../../main"} {
		_, err := ParseSources(fstest.MapFS{"etc/apt/sources.list": {Data: []byte("\n" + line)}})
		f := event.AsFault(err)
		if err == nil || f.Code != "deb.sources" || f.Args["line"] != "2" || strings.Contains(f.Error(), "secret") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if list, err := ParseSources(fstest.MapFS{}); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func FuzzSources(f *testing.F) {
	f.Add("deb [arch=amd64 trusted=yes] http://x y main # c",
		"Types: deb\nURIs: http://x\nSuites: ./\nSigned-By:\n -----BEGIN\n .\n")
	f.Fuzz(func(t *testing.T, lines, paragraphs string) {
		for name, text := range map[string]string{"etc/apt/sources.list": lines,
			"etc/apt/sources.list.d/x.sources": paragraphs} {
			list, err := ParseSources(fstest.MapFS{name: {Data: []byte(text)}})
			if err != nil {
				continue
			}
			for _, e := range list {
				if e.URL == "" || badPath(e.Suite) || e.Flat == (len(e.Components) > 0) {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
