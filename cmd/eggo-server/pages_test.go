package main

import (
	"io"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/clitest"
)

// What the help, the messages and the pages show can be typed: commands, flags and arguments are those of the program.
func TestCommandLinesOfHelpAndPages(t *testing.T) {
	t.Parallel()
	env := &environment{Stdout: io.Discard, Stderr: io.Discard, P: i18n.NewPrinter(i18n.English),
		Getenv: func(string) string { return "" }}
	root := newRoot(env)
	lines := append(clitest.Help(root), clitest.Mentioned(t, root, "en")...)
	lines = append(lines, clitest.Mentioned(t, root, "zh")...)
	for _, page := range clitest.Pages(t) {
		lines = append(lines, clitest.Of(t, page, "eggo-server")...)
	}
	if len(lines) < 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		clitest.Check(t, newRoot(env), l)
	}
}
