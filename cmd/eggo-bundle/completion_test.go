package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

func completionEnv(args ...string) (*environment, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return &environment{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: new(bytes.Buffer),
		Args: append([]string{"eggo-bundle"}, args...), P: i18n.NewPrinter(i18n.English),
		Getenv: func(string) string { return "" },
	}, out
}

// A flag that is new has to say what it takes, and what is said has to be of a flag or verb that there is.
func TestEveryFlagSaysWhatItTakes(t *testing.T) {
	env, _ := completionEnv()
	if list := clitest.WithoutCompletion(newRoot(env)); len(list) > 0 {
		t.Errorf("completion.go does not say what these take: %s", strings.Join(list, ", "))
	}
	if unused := completions().Apply(newRoot(env)); len(unused) > 0 {
		t.Errorf("there are none of these: %s", strings.Join(unused, ", "))
	}
}

// The last word of each line is the one that is being typed.
func TestShellsCompleteValues(t *testing.T) {
	for line, want := range map[string]string{
		"build --arch amd64,": "amd64,arm64 :6",
		"build --os debian-":  "debian-12 debian-13 :4",
		"build --out ":        ":16",
		"keygen --out ":       ":0",
		"diff --output j":     "json :4",
		"verify ":             ":0",
		"version ":            ":4",
		"completion ":         "bash zsh fish :4",
		"--lang z":            "zh :4",
	} {
		env, out := completionEnv(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if code := run(context.Background(), env); code != 0 {
			t.Errorf("%q: exit code %d: %s", line, code, env.Stderr)
		}
		if got := strings.Join(strings.Split(strings.TrimSpace(out.String()), "\n"), " "); got != want {
			t.Errorf("%q:\n got %q\nwant %q", line, got, want)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		env, out := completionEnv("completion", shell)
		if code := run(context.Background(), env); code != 0 || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: exit code %d: %.80q", shell, code, out)
		}
	}
	env, _ := completionEnv("completion", "csh")
	if code := run(context.Background(), env); code != 2 {
		t.Errorf("csh: exit code %d", code)
	}
}

// --output is one name with one set of values and one sentence in both programs, and -o is --out.
func TestOutputIsTheSameEverywhere(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		env, _ := completionEnv()
		env.P = i18n.NewPrinter(lang)
		for _, flag := range clitest.DifferentOutput(newRoot(env), env.P.T("cli.flag.output")) {
			t.Error(flag)
		}
	}
}

// Each verb that the help shows has a page, with its flags.
func TestTheManualHasEveryVerb(t *testing.T) {
	dir := t.TempDir()
	env, _ := completionEnv("man", dir)
	if code := run(context.Background(), env); code != 0 {
		t.Fatalf("exit code %d: %s", code, env.Stderr)
	}
	root := newRoot(env)
	if list := clitest.MissingInManual(root, dir); len(list) > 0 {
		t.Errorf("the manual lacks: %s", strings.Join(list, ", "))
	}
}

// What a flag takes is said in a word of the user's, FILE or DURATION, in both languages.
func TestNoFlagShowsAType(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		env, _ := completionEnv()
		env.P = i18n.NewPrinter(lang)
		if list := clitest.WithoutWord(newRoot(env)); len(list) > 0 {
			t.Errorf("%s: %s", lang, strings.Join(list, ", "))
		}
	}
}
