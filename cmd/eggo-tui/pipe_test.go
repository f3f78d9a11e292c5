package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/event"
)

// onTTY is what a terminal of 60 columns gets of what is written to it.
func onTTY(t *testing.T, write func(tty *os.File)) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine gives no terminals: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	tty := slave(t, master)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 60, Row: 24}); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1)
	go func() { // as it comes: a terminal keeps little
		data, _ := io.ReadAll(master) // ends with an error when nobody has the other end
		seen <- string(data)
	}()
	write(tty)
	tty.Close()
	return strings.ReplaceAll(<-seen, "\r\n", "\n")
}

// onBoth runs a command line with its output on a terminal of 60 columns, and in a pipe.
func onBoth(t *testing.T, args ...string) (screen, pipe string) {
	t.Helper()
	screen = onTTY(t, func(tty *os.File) {
		env, _ := completionEnv(t, args...)
		env.Stdout, env.Stderr = tty, tty
		run(context.Background(), env)
	})
	env, out := completionEnv(t, args...)
	said := new(bytes.Buffer)
	env.Stderr = said
	run(context.Background(), env)
	return screen, out.String() + said.String()
}

// On a terminal lines fit and have colours; in a pipe they are whole and have none. What is said is the same.
func TestWhatATerminalGetsAndAPipeDoesNot(t *testing.T) {
	root, _ := twoClusters(t)
	for _, line := range []string{"deploy --help", "deploy --help --lang zh",
		"list --state-dir " + root, "deploy --fiel x", "signers --help"} {
		screen, pipe := onBoth(t, strings.Fields(line)...)
		if !strings.Contains(screen, "\x1b[") || strings.Contains(pipe, "\x1b") {
			t.Errorf("%s: colours:\n%q\n%q", line, screen, pipe)
		}
		longest := 0
		for l := range strings.Lines(pipe) {
			longest = max(longest, ansi.StringWidth(l))
		}
		if longest <= 60 {
			t.Errorf("%s: no line of a pipe is long: %q", line, pipe)
		}
		for l := range strings.Lines(screen) {
			whole := len(strings.Fields(l)) == 1 || strings.HasPrefix(l, "  eggo-") // to be copied
			if w := ansi.StringWidth(l); w > 60 && !whole {
				t.Errorf("%s: %d columns: %q", line, w, l)
			}
		}
		same := func(s string) string { return strings.Join(strings.Fields(ansi.Strip(s)), "") }
		if same(screen) != same(pipe) {
			t.Errorf("%s: a terminal is told\n%s\na pipe\n%s", line, screen, pipe)
		}
	}
}

// When a run has begun, nobody waits for stderr any more; it is the same terminal still.
func TestErrorsOfARunFitTheTerminal(t *testing.T) {
	err := event.NewFault(event.ClassUsage, "config.readable-secret", nil, "file", "deploy.yaml", "mode", "0644")
	got := onTTY(t, func(tty *os.File) {
		env, _ := completionEnv(t)
		env.Stderr = newUnhurried(tty)
		printError(env, err)
	})
	if !strings.HasPrefix(got, "\x1b[1m\x1b[31m") {
		t.Errorf("no colours: %q", got)
	}
	if first, _, _ := strings.Cut(got, "\n"); ansi.StringWidth(first) > 60 {
		t.Errorf("the line does not fit: %q", got)
	}
}
