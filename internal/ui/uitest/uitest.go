// Package uitest drives screens in tests: keys in, screens out.
package uitest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Drive feeds a message, runs the commands that come of it and feeds what they say.
func Drive(t testing.TB, m tea.Model, msg tea.Msg) {
	t.Helper()
	_, c := m.Update(msg)
	Run(t, m, c)
}

// Run runs a command and all that come of it.
func Run(t testing.TB, m tea.Model, c tea.Cmd) {
	t.Helper()
	if c == nil {
		return
	}
	switch msg := c().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			Run(t, m, c)
		}
	default:
		Drive(t, m, msg)
	}
}

// Keys presses one key after the other.
func Keys(t testing.TB, m tea.Model, keys ...string) {
	t.Helper()
	for _, k := range keys {
		Drive(t, m, Press(k))
	}
}

// Type types a text.
func Type(t testing.TB, m tea.Model, text string) {
	t.Helper()
	for _, r := range text {
		Drive(t, m, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// Press is a key by the name that bindings have for it.
func Press(key string) tea.KeyPressMsg {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "tab": tea.KeyTab}
	if c, ok := named[key]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	switch {
	case key == "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case key == "shift+tab":
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	case strings.HasPrefix(key, "ctrl+"):
		return tea.KeyPressMsg{Code: rune(key[len("ctrl+")]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
}

// Screen is what is seen, without colours.
func Screen(m tea.Model) string { return ansi.Strip(m.View().Content) }

// Has wants each of the words on the screen.
func Has(t testing.TB, m tea.Model, words ...string) {
	t.Helper()
	got := Screen(m)
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not on the screen:\n%s", w, got)
		}
	}
}

// Lacks wants none of the words on the screen.
func Lacks(t testing.TB, m tea.Model, words ...string) {
	t.Helper()
	got := Screen(m)
	for _, w := range words {
		if strings.Contains(got, w) {
			t.Errorf("%q is on the screen:\n%s", w, got)
		}
	}
}

// Fills wants exactly h lines of exactly w cells.
func Fills(t testing.TB, m tea.Model, w, h int) {
	t.Helper()
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			t.Fatalf("%dx%d: line %d has %d cells: %q", w, h, i, n, ansi.Strip(l))
		}
	}
}

// Golden compares the screen with testdata/NAME.golden; with -update it writes it.
func Golden(t testing.TB, m tea.Model, name string) {
	t.Helper()
	got, file := Screen(m)+"\n", filepath.Join("testdata", name+".golden")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("the screen is another than %s (go test -update writes it anew):\n%s", file, got)
	}
}
