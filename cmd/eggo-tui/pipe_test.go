package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
)

// On a terminal lines fit and have colours; in a pipe they are whole and have none. What is said is the same.
func TestWhatATerminalGetsAndAPipeDoesNot(t *testing.T) {
	root, _ := twoClusters(t)
	for _, line := range []string{"deploy --help", "deploy --help --lang zh",
		"list --state-dir " + root, "deploy --fiel x", "signers --help"} {
		args := strings.Fields(line)
		shown := ptytest.Shown(t, func(tty *os.File) {
			env, _ := completionEnv(t, args...)
			env.Stdout, env.Stderr = tty, tty
			run(context.Background(), env)
		})
		env, out := completionEnv(t, args...)
		said := new(bytes.Buffer)
		env.Stderr = said
		run(context.Background(), env)
		ptytest.Compare(t, line, shown, out.String()+said.String())
	}
}

// When a run has begun, nobody waits for stderr any more; it is the same terminal still.
func TestErrorsOfARunFitTheTerminal(t *testing.T) {
	err := event.NewFault(event.ClassUsage, "config.readable-secret", nil, "file", "deploy.yaml", "mode", "0644")
	got := ptytest.Shown(t, func(tty *os.File) {
		env, _ := completionEnv(t)
		env.Stderr = newUnhurried(tty)
		printError(env, err)
	})
	if !strings.HasPrefix(got, "\x1b[1m\x1b[31m") {
		t.Errorf("no colours: %q", got)
	}
	if first, _, _ := strings.Cut(got, "\n"); ansi.StringWidth(first) > ptytest.Columns {
		t.Errorf("the line does not fit: %q", got)
	}
}
