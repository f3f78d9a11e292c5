package widget

import (
	"testing"

	"charm.land/lipgloss/v2"
)

func TestInkLooksAsTheStyleDoes(t *testing.T) {
	fg := lipgloss.NewStyle().Foreground(lipgloss.Color("#FFB84D"))
	if got := Ink("\x1b[1m").Render(""); got != "" {
		t.Errorf("nothing became %q", got)
	}
	for _, st := range []lipgloss.Style{lipgloss.NewStyle(), fg, fg.Bold(true), lipgloss.NewStyle().Bold(true),
		fg.Background(lipgloss.Color("#3A3222")), fg.Reverse(true), fg.Faint(true)} {
		for _, text := range []string{"x", "一段 text", "  spaces  ", "───"} {
			if got, want := NewInk(st).Render(text), st.Render(text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			if got, want := NewInk(st).Bold().Render(text), st.Bold(true).Render(text); got != want {
				t.Errorf("bold %q, want %q", got, want)
			}
		}
	}
}

func BenchmarkInk(b *testing.B) {
	st := lipgloss.NewStyle().Foreground(lipgloss.Color("#FFB84D")).Bold(true)
	ink := NewInk(st)
	b.Run("Ink", func(b *testing.B) {
		for b.Loop() {
			ink.Render("some text")
		}
	})
	b.Run("Style", func(b *testing.B) {
		for b.Loop() {
			st.Render("some text")
		}
	})
}

// A blank in a tint is a blank: the mark of a row that is not chosen.
func TestABlankHasNoTint(t *testing.T) {
	for text, want := range map[string]string{" ": " ", "x": "\x1b[30;103mx\x1b[m", "": ""} {
		if got := Ink("\x1b[30;103m").Render(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
		if got := new(Line).Add("\x1b[30;103m", text).String(); got != want {
			t.Errorf("%q in a line: %q", text, got)
		}
	}
	if got := Reverse.Render(" "); got != "\x1b[7m \x1b[m" {
		t.Errorf("a cursor is lost: %q", got)
	}
}
