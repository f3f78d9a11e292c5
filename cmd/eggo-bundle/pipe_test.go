package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// onBoth runs a command line with its output on a terminal of 60 columns, and in a pipe.
func onBoth(t *testing.T, args ...string) (screen, pipe string) {
	t.Helper()
	person, tty := newTerminal(t)
	master := person.(io.Reader)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 60, Row: 24}); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1)
	go func() { // as it comes: a terminal keeps little
		data, _ := io.ReadAll(master) // ends with an error when nobody has the other end
		seen <- string(data)
	}()
	env, _ := completionEnv(args...)
	env.Stdout, env.Stderr = tty, tty
	run(context.Background(), env)
	tty.Close()
	env, out := completionEnv(args...)
	said := new(bytes.Buffer)
	env.Stderr = said
	run(context.Background(), env)
	return strings.ReplaceAll(<-seen, "\r\n", "\n"), out.String() + said.String()
}

// On a terminal lines fit and have colours; in a pipe they are whole and have none. What is said is the same.
func TestWhatATerminalGetsAndAPipeDoesNot(t *testing.T) {
	for _, line := range []string{"build --help", "build --help --lang zh",
		"build --mirror-preset cn --dry-run", "inspect nowhere-at-all.tar.gz"} {
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
