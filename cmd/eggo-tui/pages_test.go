package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

// reader is a user at a pipe, in a home directory of their own.
func reader(t *testing.T, lang i18n.Lang, args ...string) *environment {
	t.Helper()
	home := t.TempDir()
	return &environment{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
		Args: append([]string{"eggo-tui"}, args...), P: i18n.NewPrinter(lang), State: filepath.Join(home, "state"),
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
}

// What the help, the messages and the pages show can be typed: commands, flags and arguments are those of the program.
func TestCommandLinesOfHelpAndPages(t *testing.T) {
	t.Parallel()
	var lines []clitest.Line
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		root := newRootCmd(reader(t, lang))
		lines = append(append(lines, clitest.Help(root)...), clitest.Mentioned(t, root, string(lang))...)
	}
	for _, page := range clitest.Pages(t) {
		lines = append(lines, clitest.Of(t, page, "eggo-tui", "eggo")...)
	}
	if len(lines) < 100 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		clitest.Check(t, newRootCmd(reader(t, i18n.English)), l)
	}
}

// Those that need no machine are run, in the order of their page.
func TestCommandLinesThatNeedNoMachineRun(t *testing.T) {
	safe := []string{"template", "validate", "version", "completion", "list", "signers"}
	ran := 0
	for _, page := range clitest.Pages(t) {
		page, err := filepath.Abs(page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			lines := clitest.Of(t, page, "eggo-tui", "eggo")
			t.Chdir(t.TempDir())
			state := t.TempDir()
			for _, l := range lines {
				if !l.Whole || len(l.Args) == 0 || !slices.Contains(safe, l.Args[0]) ||
					slices.Contains(l.Args, "add") || strings.Contains(l.Text, "[") {
					continue
				}
				ran++
				env, said := reader(t, i18n.English, l.Args...), new(bytes.Buffer)
				env.State, env.Stderr = state, said
				if code := run(t.Context(), env); code != 0 {
					t.Errorf("%s: %s: exit code %d\n%s", l.Where, l.Text, code, said)
				}
			}
		})
	}
	if ran < 2 {
		t.Errorf("%d lines were run", ran)
	}
}

// The default of --lang is no language: it comes from the environment.
func TestHelpOfLangNamesNoDefaultLanguage(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		out := new(bytes.Buffer)
		env := reader(t, lang, "--lang", string(lang), "--help")
		env.Stdout = out
		if code := run(t.Context(), env); code != 0 {
			t.Fatal(code)
		}
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "--lang") && !strings.Contains(line, "EGGO_LANG, LC_ALL") &&
				!strings.Contains(line, "EGGO_LANG、LC_ALL") {
				t.Error(line)
			}
		}
	}
}

// A page that a message names is in the packages, where the message says.
func TestPagesThatMessagesName(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		text, err := os.ReadFile("../../internal/output/i18n/sentences/" + string(lang) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		release, err := os.ReadFile("../../.goreleaser.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range strings.Split(string(text), "docs/")[1:] {
			page, _, is := strings.Cut(m, ".md")
			before, _, _ := strings.Cut(string(text), "docs/"+m)
			if !is || strings.ContainsAny(page, " \"") {
				continue
			}
			if !strings.HasSuffix(before, "/usr/share/doc/eggo/") {
				t.Errorf("%s: docs/%s.md is a path that packages do not have", lang, page)
			}
			if _, err := os.Stat("../../docs/" + page + ".md"); err != nil {
				t.Error(err)
			}
			dir := filepath.Dir("docs/" + page)
			if want := "{src: \"" + dir + "/*.md\", dst: /usr/share/doc/eggo/" + dir + "/"; !strings.Contains(
				string(release), want) {
				t.Errorf("packages lack %s", want)
			}
		}
	}
}
