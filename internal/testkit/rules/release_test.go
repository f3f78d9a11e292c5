package rules

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// releases is what of .goreleaser.yaml says which programs and files an archive has.
type releases struct {
	Builds []struct {
		ID, Binary string
	}
	Archives []struct {
		ID    string
		IDs   []string `yaml:"ids"`
		Files []struct{ Src string }
	}
}

// extras are what .ci/extras writes for a program, by program; eggo is the other name of eggo-tui.
func extras() map[string][]string {
	of := func(name string) []string {
		return []string{
			"bin/extras/man/" + name + ".1.gz", "bin/extras/completions/bash/" + name,
			"bin/extras/completions/zsh/_" + name, "bin/extras/completions/fish/" + name + ".fish",
		}
	}
	return map[string][]string{
		"eggo-tui":    slices.Concat(of("eggo-tui"), of("eggo"), []string{"bin/extras/man/eggo-tui-deploy.1.gz"}),
		"eggo-bundle": append(of("eggo-bundle"), "bin/extras/man/eggo-bundle-build.1.gz"),
		"eggo-server": append(of("eggo-server"), "bin/extras/man/eggo-server-serve.1.gz"),
	}
}

// An archive has the manual pages and completion scripts of its own programs, all of them and no others.
func TestAnArchiveHasTheExtrasOfItsPrograms(t *testing.T) {
	text, err := os.ReadFile("../../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all releases
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Archives) < 2 || len(all.Builds) < 3 {
		t.Fatalf("%+v", all)
	}
	for _, a := range all.Archives {
		for program, files := range extras() {
			has := false
			for _, b := range all.Builds {
				has = has || b.Binary == program && slices.Contains(a.IDs, b.ID)
			}
			for _, file := range files {
				if packed := packed(t, a.Files, file); packed != has {
					t.Errorf("archive %s has %s: %t, and has %s: %t", a.ID, program, has, file, packed)
				}
			}
		}
	}
}

func packed(t *testing.T, files []struct{ Src string }, file string) bool {
	t.Helper()
	for _, f := range files {
		matched, err := path.Match(strings.ReplaceAll(f.Src, "/**/", "/*/"), file)
		if err != nil {
			t.Fatal(err)
		}
		if matched {
			return true
		}
	}
	return false
}
