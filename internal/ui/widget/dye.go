package widget

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Dye is Style.Render for one line of text in a style that has colours and weight only, as those of themes: it skips all that boxes need, which
// takes most of the time of a screen. Other styles are rendered as ever.
func Dye(st lipgloss.Style, text string) string {
	if text == "" {
		return ""
	}
	if st.GetUnderline() || st.GetReverse() || st.GetItalic() || st.GetFaint() || st.GetBlink() || st.GetStrikethrough() {
		return st.Render(text)
	}
	var s ansi.Style
	if st.GetBold() {
		s = s.Bold()
	}
	if c := st.GetForeground(); c != (lipgloss.NoColor{}) {
		s = s.ForegroundColor(c)
	}
	if c := st.GetBackground(); c != (lipgloss.NoColor{}) {
		s = s.BackgroundColor(c)
	}
	if len(s) == 0 {
		return text
	}
	return s.Styled(text)
}
