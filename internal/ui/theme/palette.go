package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Colours is how many colours the terminal has.
type Colours int

// The kinds of terminals. None is that of NO_COLOR.
const (
	Millions Colours = iota
	Hundreds         // 256
	Sixteen
	None
)

// ColoursOf is what a terminal of that profile has.
func ColoursOf(p colorprofile.Profile) Colours {
	switch p {
	case colorprofile.NoTTY, colorprofile.ASCII:
		return None
	case colorprofile.ANSI:
		return Sixteen
	case colorprofile.ANSI256:
		return Hundreds
	}
	return Millions
}

// palette holds a colour for each meaning: "#rrggbb", an index, "" for the terminal's own, or text/background. The
// number of colours decides which palette is taken; nothing is converted from one to another, for the nearest of
// sixteen to amber is red.
type palette struct {
	Dim, Faint, Idle     string
	Brand, Accent, Busy  string // Brand is of the logo and of what has the focus, of nothing else
	Good, Warn, Bad, Key string
	Border, Rest         string
	Cursor, Found        string // Cursor "" is reverse video
}

// palettes by number of colours, dark and light. What is read has a contrast of 4.5:1 at least with usual backgrounds
// and with Cursor, and the hues of Brand, Good, Warn and Bad are apart: a test computes both. Of the sixteen, the light
// ones among them are too bright for text on a light background; there black stands on them.
func palettes() map[Colours][2]palette {
	return map[Colours][2]palette{
		Millions: {
			{
				Dim: "#A7ADBA", Faint: "#949BA9", Idle: "#949BA9", Brand: "#FFB84D", Accent: "#8CC4FF", Busy: "#6CB6FF",
				Good: "#5FD7AF", Warn: "#C9A0FF",
				Bad: "#FF8577", Key: "#8CC4FF", Border: "#454B57", Rest: "#3A3F4A", Cursor: "/#332D20",
				Found: "#15171C/#8CC4FF",
			},
			{
				Dim: "#565B66", Faint: "#666C77", Idle: "#666C77", Brand: "#8F5200", Accent: "#0B5CAD", Busy: "#0B5CAD",
				Good: "#00705A", Warn: "#7A35C0",
				Bad: "#B3261E", Key: "#0B5CAD", Border: "#C2C6CE", Rest: "#D5D8DE", Cursor: "/#FCEFD8",
				Found: "#FFFFFF/#0B5CAD",
			},
		},
		Hundreds: {
			{
				Dim: "248", Faint: "247", Idle: "247", Brand: "214", Accent: "117", Busy: "75", Good: "79", Warn: "141",
				Bad: "210", Key: "117", Border: "240", Rest: "238", Cursor: "/236", Found: "16/117",
			},
			{
				Dim: "240", Faint: "242", Idle: "242", Brand: "94", Accent: "25", Busy: "25", Good: "22", Warn: "92",
				Bad: "124", Key: "25", Border: "250", Rest: "252", Cursor: "/230", Found: "231/25",
			},
		},
		Sixteen: {
			{
				Dim: "7", Faint: "7", Idle: "7", Brand: "11", Accent: "14", Busy: "14", Good: "10", Warn: "13",
				Bad: "9", Key: "14", Border: "8", Rest: "8", Found: "0/6",
			},
			{
				Brand: "0/11", Accent: "4", Busy: "4", Good: "0/10", Warn: "5", Bad: "1", Key: "4", Border: "8",
				Rest: "7", Found: "15/4",
			},
		},
	}
}

// paletteOf is the palette of a terminal; that of None is empty.
func paletteOf(c Colours, dark bool) palette {
	if dark {
		return palettes()[c][0]
	}
	return palettes()[c][1]
}

// ink makes the ink of a palette's colour.
func ink(colour string) widget.Ink {
	if colour == "" {
		return ""
	}
	st := lipgloss.NewStyle()
	fg, bg, _ := strings.Cut(colour, "/")
	if fg != "" {
		st = st.Foreground(lipgloss.Color(fg))
	}
	if bg != "" {
		st = st.Background(lipgloss.Color(bg))
	}
	return widget.NewInk(st)
}
