package widget

import (
	"image/color"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
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
	var room [44]byte
	code := append(room[:0], '\x1b', '[')
	if st.GetBold() {
		code = append(code, '1')
	}
	for _, x := range [2]struct {
		code string
		c    color.Color
	}{{"38;2;", st.GetForeground()}, {"48;2;", st.GetBackground()}} {
		switch c := x.c.(type) {
		case nil, lipgloss.NoColor:
		case color.RGBA:
			if len(code) > 2 {
				code = append(code, ';')
			}
			code = append(code, x.code...)
			code = append(strconv.AppendUint(code, uint64(c.R), 10), ';')
			code = append(strconv.AppendUint(code, uint64(c.G), 10), ';')
			code = strconv.AppendUint(code, uint64(c.B), 10)
		default: // one of the terminal's own
			return st.Render(text)
		}
	}
	if len(code) == 2 {
		return text
	}
	code = append(code, 'm')
	var b strings.Builder
	b.Grow(len(code) + len(text) + 3)
	b.Write(code)
	b.WriteString(text)
	b.WriteString("\x1b[m")
	return b.String()
}
