// Package uitest drives screens in tests: keys in, screens out.
package uitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Shape is a terminal that a screen is drawn on.
type Shape struct {
	W, H  int
	Lang  i18n.Lang
	ASCII bool
}

// String names the shape, for files of goldens.
func (s Shape) String() string {
	return fmt.Sprintf("%dx%d-%s-%s", s.W, s.H, s.Lang, map[bool]string{true: "ascii", false: "unicode"}[s.ASCII])
}

// Shapes are all that screens have goldens of: three sizes, both languages, Unicode and ASCII.
func Shapes() []Shape {
	var out []Shape
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			for _, ascii := range []bool{false, true} {
				out = append(out, Shape{size[0], size[1], lang, ascii})
			}
		}
	}
	return out
}

// Crossed are half of the shapes: every two of size, language and glyphs come together in one of them.
func Crossed() []Shape {
	return []Shape{{80, 24, i18n.English, false}, {80, 24, i18n.Chinese, true}, {120, 40, i18n.Chinese, false},
		{120, 40, i18n.English, true}, {200, 60, i18n.English, false}, {200, 60, i18n.Chinese, true}}
}

// For is the shapes for a screen with n machines: all with few, else the crossed ones.
func For(n int) []Shape {
	if n <= 3 {
		return Shapes()
	}
	return Crossed()
}

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
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "tab": tea.KeyTab}
	if c, ok := named[key]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	switch {
	case len(key) == 2 && key[0] == 'f': // f1 to f9
		return tea.KeyPressMsg{Code: tea.KeyF1 + rune(key[1]-'1')}
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

// screen is what is seen; a sentence that lacks an argument is an error wherever it is seen.
func screen(t testing.TB, m tea.Model) string {
	t.Helper()
	got := Screen(m)
	Filled(t, got)
	return got
}

var hole = regexp.MustCompile(`\{[a-z][a-z0-9_-]*[}:]`)

// Filled wants no sentence with an argument missing.
func Filled(t testing.TB, text string) {
	t.Helper()
	if strings.Contains(text, i18n.Missing()) || hole.MatchString(text) {
		t.Errorf("a sentence lacks an argument:\n%s", text)
	}
}

// Has wants each of the words on the screen.
func Has(t testing.TB, m tea.Model, words ...string) {
	t.Helper()
	got := screen(t, m)
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not on the screen:\n%s", w, got)
		}
	}
}

// Lacks wants none of the words on the screen.
func Lacks(t testing.TB, m tea.Model, words ...string) {
	t.Helper()
	got := screen(t, m)
	for _, w := range words {
		if strings.Contains(got, w) {
			t.Errorf("%q is on the screen:\n%s", w, got)
		}
	}
}

// Fills wants exactly h lines of exactly w cells, with nothing in them that steers a terminal but colours.
func Fills(t testing.TB, m tea.Model, w, h int) {
	t.Helper()
	content := m.View().Content
	if strings.Contains(content, i18n.Missing()) { // what a person types may have braces
		t.Fatalf("a sentence lacks an argument:\n%s", ansi.Strip(content))
	}
	if bad := steers.FindString(colours.ReplaceAllString(content, "")); bad != "" {
		t.Fatalf("%dx%d: %q is drawn", w, h, bad)
	}
	lines := strings.Split(content, "\n")
	if len(lines) != h {
		t.Fatalf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != w {
			t.Fatalf("%dx%d: line %d has %d cells: %q", w, h, i, n, ansi.Strip(l))
		}
	}
}

var (
	colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	steers  = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\p{Cf}]`)
)

// Golden compares the screen with testdata/NAME.golden; with -update it writes it.
func Golden(t testing.TB, m tea.Model, name string) {
	t.Helper()
	GoldenText(t, screen(t, m)+"\n", name)
}

// GoldenText compares text with testdata/NAME.golden; with -update it writes it.
func GoldenText(t testing.TB, got, name string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
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
		t.Errorf("the screen is another than %s (go test -update writes it):\n%s", file, got)
	}
}
