package widget

import (
	"testing"

	"charm.land/lipgloss/v2"
)

func TestDyeIsRender(t *testing.T) {
	fg := lipgloss.NewStyle().Foreground(lipgloss.Color("#FFB84D"))
	for _, st := range []lipgloss.Style{lipgloss.NewStyle(), fg, fg.Bold(true), lipgloss.NewStyle().Bold(true), fg.Background(lipgloss.Color("#3A3222")), fg.Underline(true), fg.Faint(true)} {
		for _, text := range []string{"x", "一段 text", "  spaces  ", "───"} {
			if got, want := Dye(st, text), st.Render(text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

func BenchmarkDye(b *testing.B) {
	st := lipgloss.NewStyle().Foreground(lipgloss.Color("#FFB84D")).Bold(true)
	b.Run("Dye", func(b *testing.B) {
		for b.Loop() {
			Dye(st, "some text")
		}
	})
	b.Run("Render", func(b *testing.B) {
		for b.Loop() {
			st.Render("some text")
		}
	})
}
