// Package ptytest gives tests a pseudo-terminal, compares what a command shows on one with what a pipe gets, and has a
// writer that tests of the interface line by line wait on. It imports nothing of this module.
package ptytest

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// Columns is how wide the terminal is that Shown writes to.
const Columns = 60

// New is a terminal with its two ends: that of its user, and that of a program. Where a machine gives none, the test is
// skipped. The user's end keeps deadlines.
func New(t testing.TB) (user, tty *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine gives no terminals: ", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	raw, err := user.SyscallConn() // Fd would take the deadlines
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var of error
	err = raw.Control(func(fd uintptr) {
		if of = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); of == nil {
			n, of = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || of != nil {
		t.Fatal(err, of)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return user, tty
}

// Shown is what a terminal gets of what is written to it.
func Shown(t testing.TB, write func(tty *os.File)) string {
	t.Helper()
	user, tty := New(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: Columns, Row: 24}); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 1)
	go func() { // as it comes: a terminal keeps little
		data, _ := io.ReadAll(user) // ends with an error when nobody has the other end
		seen <- string(data)
	}()
	write(tty)
	_ = tty.Close()
	return strings.ReplaceAll(<-seen, "\r\n", "\n")
}

// Compare wants lines that fit and colours on a terminal, whole lines without colours in a pipe, and the same words.
func Compare(t testing.TB, command, shown, piped string) {
	t.Helper()
	if !strings.Contains(shown, "\x1b[") || strings.Contains(piped, "\x1b") {
		t.Errorf("%s: colours:\n%q\n%q", command, shown, piped)
	}
	longest := 0
	for l := range strings.Lines(piped) {
		longest = max(longest, ansi.StringWidth(l))
	}
	if longest <= Columns {
		t.Errorf("%s: no line of a pipe is long: %q", command, piped)
	}
	for l := range strings.Lines(shown) {
		whole := len(strings.Fields(l)) == 1 || strings.HasPrefix(l, "  eggo-") // to be copied
		if w := ansi.StringWidth(l); w > Columns && !whole {
			t.Errorf("%s: %d columns: %q", command, w, l)
		}
	}
	same := func(s string) string { return strings.Join(strings.Fields(ansi.Strip(s)), "") }
	if same(shown) != same(piped) {
		t.Errorf("%s: a terminal gets\n%s\na pipe\n%s", command, shown, piped)
	}
}
