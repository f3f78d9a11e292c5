package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMoreBundles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":             {"eggo: {bundles: []}\n", ""},
		"two":              {"eggo: {bundles: [./rpm.tar.gz, /srv/other.tar.gz]}\n", ""},
		"twice":            {"eggo: {bundles: [./rpm.tar.gz, ./rpm.tar.gz]}\n", "config.twice-in-list"},
		"no path":          {"eggo: {bundles: ['--force']}\n", "config.local-path"},
		"not a list":       {"eggo: {bundles: {a: b}}\n", "config.want-list"},
		"a map in a list":  {"eggo: {bundles: [{a: b}]}\n", "config.want-value"},
		"a path upwards":   {"eggo: {bundles: [a/../../b]}\n", "config.local-path"},
		"a word too many":  {"eggo: {bundle: [a.tar.gz]}\n", "config.misspelt-key"},
		"a control letter": {"eggo: {bundles: [\"a\\u001bb\"]}\n", "config."},
	} {
		_, problems := Load([]byte(minimal+c.text), "f")
		var got []string
		for _, p := range problems {
			got = append(got, p.Code)
		}
		if c.want == "" && len(got) > 0 || c.want != "" &&
			!slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, c.want) }) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// Of what architecture a further bundle is, it says itself; paths start at the file.
func TestMoreBundlesStandForEveryArchitecture(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "deploy.yaml")
	text := "masters: [{name: m0, ip: 192.168.0.1, arch: arm64}]\nnodes: [{name: w, ip: 192.168.0.2}]\npackage-src: " +
		"{x86src: a.tar.gz}\neggo: {bundles: [sub/b.tar.gz, /c.tar.gz]}\nprivate-key-path: /k\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, problems, err := LoadFile(file)
	if err != nil || c == nil {
		t.Fatal(err, dump(problems))
	}
	want := []BundleSource{{"amd64", "amd64", filepath.Join(dir, "a.tar.gz")},
		{"extra-1", "", filepath.Join(dir, "sub/b.tar.gz")}, {"extra-2", "", "/c.tar.gz"}}
	if got := c.Bundles(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	out, err := AbsolutePaths([]byte(text), file, dir)
	if err != nil || !strings.Contains(string(out), filepath.Join(dir, "sub/b.tar.gz")) {
		t.Errorf("%v\n%s", err, out)
	}
}
