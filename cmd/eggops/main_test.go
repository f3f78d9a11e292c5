package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

func environmentOf(args ...string) (*environment, *bytes.Buffer) {
	var out bytes.Buffer
	return &environment{Stdout: &out, Stderr: &out, Args: append([]string{"eggops"}, args...),
		P: i18n.NewPrinter(i18n.English), Getenv: func(string) string { return "" }}, &out
}

// What the help and the pages show can be typed.
func TestCommandLinesOfHelpAndPages(t *testing.T) {
	env, _ := environmentOf()
	env.Stdout, env.Stderr = io.Discard, io.Discard
	root := newRoot(env)
	lines := append(clitest.Help(root), clitest.Mentioned(t, root, "en")...)
	for _, page := range clitest.Pages(t) {
		lines = append(lines, clitest.Of(t, page, "eggops")...)
	}
	for _, l := range lines {
		clitest.Check(t, newRoot(env), l)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "/no/such/file")
	t.Setenv("HOME", t.TempDir())
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"version", 0, "eggops "},
		{"--help", 0, "run "},
		{"run", 2, "namespace"},
		{"run --namespace ns", 2, "operation"},
		{"run --namespace ns --operation op --what", 2, "--what"},
		{"deploy", 2, "deploy"},
		{"run --namespace ns --operation op", 2, "cannot be reached"},
	} {
		env, out := environmentOf(strings.Fields(tc.args)...)
		if code := run(context.Background(), env); code != tc.code || !strings.Contains(out.String(), tc.says) {
			t.Errorf("%s: exit %d\n%s", tc.args, code, out)
		}
	}
}
