package widget

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Ink is a style for text on one line: the escape sequence that the text begins with, "" for none. Making it costs what
// lipgloss needs for a style, using it costs a copy: a screen is drawn in a few hundred pieces, many times a second.
type Ink string

// plain is where every ink ends.
const plain = "\x1b[m"

// Reverse is reverse video.
const Reverse Ink = "\x1b[7m"

// NewInk makes the ink that looks as the style does. Styles that do more than colour and weight, such as borders or
// margins, are none.
func NewInk(st lipgloss.Style) Ink {
	on, _, _ := strings.Cut(st.Render("x"), "x")
	return Ink(on)
}

// tint is how inks begin that are black on a light colour: those of sixteen colours that are too bright for text on a
// light background.
const tint = "\x1b[30;10"

// on is the ink for a text: blanks in a tint say nothing, where the mark of a row that is not chosen is a blank.
func (k Ink) on(text string) Ink {
	if strings.HasPrefix(string(k), tint) && strings.TrimSpace(text) == "" {
		return ""
	}
	return k
}

// Render gives the text in this ink. Nothing stays nothing.
func (k Ink) Render(text string) string {
	if k = k.on(text); k == "" || text == "" {
		return text
	}
	return string(k) + text + plain
}

// Bold is the same ink, in bold.
func (k Ink) Bold() Ink {
	if k == "" {
		return "\x1b[1m"
	}
	codes, _ := strings.CutPrefix(string(k), "\x1b[")
	if codes == "1m" || strings.HasPrefix(codes, "1;") {
		return k
	}
	return Ink("\x1b[1;" + codes)
}
