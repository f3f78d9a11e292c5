package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	states "github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Without any run attach says so, instead of looking for one without a name.
func TestAttachWithoutRuns(t *testing.T) {
	t.Parallel()
	for _, cluster := range []string{"", "prod"} {
		_, err := operation.FindRun(t.Context(), states.Dir{Root: t.TempDir()}, cluster, "")
		if f := event.AsFault(err); f == nil || f.Code != "usage.no-runs" {
			t.Errorf("%q: %v", cluster, err)
		}
	}
	_, err := operation.FindRun(t.Context(), states.Dir{Root: t.TempDir()}, "", "2026")
	if f := event.AsFault(err); f == nil || f.Code != "usage.no-run" {
		t.Error(err)
	}
}

// The demo advises nothing about a cluster that is not there.
func TestTheDemoAdvisesNothing(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		said := new(bytes.Buffer)
		env := &environment{P: i18n.NewPrinter(lang), Args: []string{"eggo-tui"}, Stdout: said, Stderr: said,
			Stdin: strings.NewReader(""), Getenv: func(string) string { return "" }}
		if err := demo(context.Background(), env, 1e9, false, true); err != nil {
			t.Fatal(err)
		}
		says(t, said.String(), map[i18n.Lang]string{i18n.English: "This was a recording",
			i18n.Chinese: "录制"}[lang])
		for _, bad := range []string{"eggo-tui cleanup", "admin.conf", "kubectl --kubeconfig"} {
			if strings.Contains(said.String(), bad) {
				t.Errorf("%s is said:\n%s", bad, said)
			}
		}
		if hole := regexp.MustCompile(`\{[a-z_-]+\}`).FindString(said.String()); hole != "" {
			t.Errorf("%s was not filled in:\n%s", hole, said)
		}
	}
}

// The template claims of no runtime that it cannot be installed.
func TestTheTemplateOfRuntimes(t *testing.T) {
	t.Parallel()
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		text := i18n.NewPrinter(lang).T("template.runtime")
		if strings.Contains(text, "not yet") || strings.Contains(text, "不能") ||
			!strings.Contains(text, "cri-dockerd") {
			t.Error(text)
		}
	}
}
