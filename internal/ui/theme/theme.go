// Package theme is how the screen looks: colours by meaning, for light and dark terminals, and glyphs with an ASCII stand-in for each. No
// state is told by colour alone: every colour goes with a glyph and a word.
package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Theme is a set of styles and glyphs. Make it by New; it does not change.
type Theme struct {
	Text, Dim, Faint widget.Ink // what is read, what stands beside it, what only holds the place
	Strong, Title    widget.Ink
	Yolk             widget.Ink // the house's own colour
	Good, Busy, Warn widget.Ink
	Bad, Idle        widget.Ink
	Key, KeyWord     widget.Ink // of the footer
	Border, Chosen   widget.Ink
	Cursor           widget.Ink // the row that the keys act on
	Found            widget.Ink // what was searched for
	BarFull, BarRest widget.Ink
	Added, Removed   widget.Ink // of differences

	Glyphs Glyphs
	// Mono: there are no colours, so that what is told by one has to be told otherwise too.
	Mono bool
	// ASCII: the terminal or its font has nothing else.
	ASCII bool
}

// Glyphs take one cell each. Of the Unicode ones, those that stand before text are narrow in every terminal; lines and bars are wide where a
// terminal shows ambiguous characters wide, and there the ASCII set is right.
type Glyphs struct {
	OK, Changed, Failed, Running, Waiting, Skipped, Blocked, Unknown, Stopped, Ignored string
	BarFull, BarRest, Rule, Cut, Pointer, Prompt, Bullet, Arrow, Trail, Yolk           string
	TopLeft, TopRight, BottomLeft, BottomRight, Horizontal, Vertical                   string
}

// Unicode is the usual set.
func Unicode() Glyphs {
	return Glyphs{
		OK: "✔", Changed: "✔", Failed: "✘", Running: "▸", Waiting: "◌", Skipped: "»", Blocked: "⊘", Unknown: "?", Stopped: "■", Ignored: "!",
		BarFull: "━", BarRest: "─", Rule: "─", Cut: "…", Pointer: "▌", Prompt: "❯", Trail: "›", Yolk: "●", Bullet: "•", Arrow: "→",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Horizontal: "─", Vertical: "│",
	}
}

// ASCII is for terminals and fonts that have nothing else.
func ASCII() Glyphs {
	return Glyphs{
		OK: "+", Changed: "*", Failed: "X", Running: ">", Waiting: ".", Skipped: "-", Blocked: "/", Unknown: "?", Stopped: "=", Ignored: "!",
		BarFull: "#", BarRest: ".", Rule: "-", Cut: "~", Pointer: ">", Prompt: ">", Trail: ">", Yolk: "o", Bullet: "*", Arrow: ">",
		TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+", Horizontal: "-", Vertical: "|",
	}
}

// Options of a theme.
type Options struct {
	Dark  bool // the terminal's background
	ASCII bool
	Mono  bool // no colours
}

// New makes a theme. Blue and orange stand for what green and red do elsewhere, so that those who do not tell these apart see the same.
func New(o Options) *Theme {
	pick := func(light, dark string) color.Color {
		if o.Dark {
			return lipgloss.Color(dark)
		}
		return lipgloss.Color(light)
	}
	fg := func(light, dark string) widget.Ink {
		if o.Mono {
			return ""
		}
		return widget.NewInk(lipgloss.NewStyle().Foreground(pick(light, dark)))
	}
	yolk := fg("#B45F06", "#FFB84D")
	t := &Theme{
		Text:    "",
		Dim:     fg("#5F6470", "#9BA1AE"),
		Faint:   fg("#7D8490", "#6F7683"),
		Strong:  widget.Ink("").Bold(),
		Title:   yolk.Bold(),
		Yolk:    yolk,
		Good:    fg("#00705A", "#5FD7AF"),
		Busy:    fg("#0B5CAD", "#6CB6FF"),
		Warn:    fg("#8A5A00", "#FFC861"),
		Bad:     fg("#B3261E", "#FF7A6B").Bold(),
		Idle:    fg("#747A86", "#7A818E"),
		Key:     fg("#0B5CAD", "#8CC4FF").Bold(),
		KeyWord: fg("#5F6470", "#9BA1AE"),
		Border:  fg("#C2C6CE", "#454B57"),
		Chosen:  yolk,
		Cursor:  widget.NewInk(lipgloss.NewStyle().Background(pick("#FCE9CC", "#3A3222"))),
		Found:   widget.NewInk(lipgloss.NewStyle().Foreground(pick("#FFFFFF", "#15171C")).Background(pick("#B45F06", "#FFB84D"))),
		BarFull: yolk,
		BarRest: fg("#D5D8DE", "#3A3F4A"),
		Added:   fg("#00705A", "#5FD7AF"),
		Removed: fg("#B3261E", "#FF7A6B"),
		Glyphs:  Unicode(),
		Mono:    o.Mono,
		ASCII:   o.ASCII,
	}
	if o.Mono {
		t.Cursor = widget.NewInk(lipgloss.NewStyle().Reverse(true))
		t.Found = widget.NewInk(lipgloss.NewStyle().Bold(true).Underline(true))
	}
	if o.ASCII {
		t.Glyphs = ASCII()
	}
	return t
}

// Outcome gives the glyph and the style of an outcome; "" is what has not begun.
func (t *Theme) Outcome(o event.Outcome) (string, widget.Ink) {
	g := t.Glyphs
	switch o {
	case event.OK:
		return g.OK, t.Good
	case event.Changed:
		return g.Changed, t.Good
	case event.Skipped:
		return g.Skipped, t.Idle
	case event.Failed:
		return g.Failed, t.Bad
	case event.Ignored:
		return g.Ignored, t.Warn
	case event.Unknown:
		return g.Unknown, t.Bad
	case event.Interrupted:
		return g.Stopped, t.Warn
	case event.Blocked:
		return g.Blocked, t.Warn
	}
	return g.Waiting, t.Idle
}
