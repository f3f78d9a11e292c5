package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
)

// On a terminal lines fit and have colours; in a pipe they are whole and have none. What is said is the same.
func TestWhatATerminalGetsAndAPipeDoesNot(t *testing.T) {
	for _, line := range []string{"build --help", "build --help --lang zh",
		"build --mirror-preset cn --dry-run", "inspect nowhere-at-all.tar.gz"} {
		args := strings.Fields(line)
		shown := ptytest.Shown(t, func(tty *os.File) {
			env, _ := completionEnv(args...)
			env.Stdout, env.Stderr = tty, tty
			run(context.Background(), env)
		})
		env, out := completionEnv(args...)
		said := new(bytes.Buffer)
		env.Stderr = said
		run(context.Background(), env)
		ptytest.Compare(t, line, shown, out.String()+said.String())
	}
}
