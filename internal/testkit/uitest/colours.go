package uitest

import (
	"image/color"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Palette is what a kind of terminal gets.
type Palette struct {
	Name    string
	profile colorprofile.Profile
	back    color.Color
	has     string
	lacks   []string
}

// Palettes are all of them but for 256 colours, which the board's goldens have.
func Palettes() []Palette {
	return []Palette{
		{"dark", colorprofile.TrueColor, color.Black, "38;2;", []string{"38;5;"}},
		{"light", colorprofile.TrueColor, color.White, "38;2;", []string{"38;5;"}},
		{"16-dark", colorprofile.ANSI, color.Black, "\x1b[9", []string{"38;"}},
		{"16-light", colorprofile.ANSI, color.White, "\x1b[3", []string{"38;"}},
		{"none", colorprofile.ASCII, color.Black, "\x1b[1m", []string{"38;", "\x1b[3", "\x1b[9"}},
	}
}

// Begin makes the terminal of m one of this kind.
func (p Palette) Begin(t testing.TB, m tea.Model) {
	t.Helper()
	Drive(t, m, tea.ColorProfileMsg{Profile: p.profile})
	Drive(t, m, tea.BackgroundColorMsg{Color: p.back})
}

// Golden compares what m shows with a golden, escape sequences too (cat shows it): nothing is in it that the terminal
// does not have, and nothing runs on into the next line.
func (p Palette) Golden(t testing.TB, m tea.Model, name string) {
	t.Helper()
	content := m.View().Content
	GoldenText(t, content+"\n", "colours-"+name+"-"+p.Name)
	if !strings.Contains(content, p.has) {
		t.Errorf("%s has no %q", name, p.has)
	}
	for _, x := range p.lacks {
		if strings.Contains(content, x) {
			t.Errorf("%s has %q", name, x)
		}
	}
	for l := range strings.SplitSeq(content, "\n") {
		if at := strings.LastIndex(l, "\x1b["); at >= 0 && !strings.HasPrefix(l[at:], "\x1b[m") {
			t.Errorf("%s: an ink does not end: %q", name, ansi.Strip(l))
		}
	}
}
