// Package theme is how the screen looks: colours by meaning, for light and dark terminals, and glyphs with an ASCII
// stand-in for each. No state is told by colour alone: every colour goes with a glyph and a word.
package theme

import (
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/progress"
	"charm.land/bubbles/v2/spinner"
	"charm.land/lipgloss/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Theme is a set of styles and glyphs. Make it by New; it does not change.
type Theme struct {
	Text, Dim, Faint widget.Ink // what is read, what stands beside it, what only holds the place
	Strong, Title    widget.Ink
	Brand            widget.Ink // of the logo
	Accent           widget.Ink // what stands out and is no state: marks, counts, fingerprints
	Good, Busy, Warn widget.Ink
	Bad, Idle        widget.Ink
	Key, KeyWord     widget.Ink // of the footer
	Border, Chosen   widget.Ink // Chosen is what has the focus
	Edge             widget.Ink // of the pane that has the focus: Chosen, but where that would be a coloured band
	Cursor           widget.Ink // the row that the keys act on
	Found            widget.Ink // what was searched for
	BarFull, BarRest widget.Ink
	Added, Removed   widget.Ink // of differences

	Glyphs Glyphs
	// NoGrey: nothing can be told by a shade of grey, for there are no colours or only sixteen.
	NoGrey bool
	// ASCII: the terminal or its font has nothing else.
	ASCII bool

	progress progress.Model
	help     help.Styles
}

// Glyphs take one cell each. Of the Unicode ones, those that stand before text are narrow in every terminal; lines and
// bars are wide where a terminal shows ambiguous characters wide, and there the ASCII set is right.
type Glyphs struct {
	OK, Changed, Failed, Running, Waiting, Skipped, Blocked, Unknown, Stopped, Ignored string
	BarFull, BarRest, Rule, Cut, Pointer, Prompt, Bullet, Arrow, Trail, Yolk           string
	TopLeft, TopRight, BottomLeft, BottomRight, Horizontal, Vertical                   string
}

// Unicode is the usual set.
func Unicode() Glyphs {
	return Glyphs{
		OK: "✔", Changed: "✔", Failed: "✘", Running: "▸", Waiting: "◌", Skipped: "»", Blocked: "⊘", Unknown: "?",
		Stopped: "■", Ignored: "!",
		BarFull: "━", BarRest: "─", Rule: "─", Cut: "…", Pointer: "▌", Prompt: "❯", Trail: "›", Yolk: "●", Bullet: "•",
		Arrow:   "→",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Horizontal: "─", Vertical: "│",
	}
}

// ASCII is for terminals and fonts that have nothing else.
func ASCII() Glyphs {
	return Glyphs{
		OK: "+", Changed: "*", Failed: "X", Running: ">", Waiting: ".", Skipped: "-", Blocked: "/", Unknown: "?",
		Stopped: "=", Ignored: "!",
		BarFull: "#", BarRest: ".", Rule: "-", Cut: "~", Pointer: ">", Prompt: ">", Trail: ">", Yolk: "o", Bullet: "*",
		Arrow:   ">",
		TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+", Horizontal: "-", Vertical: "|",
	}
}

// Options of a theme.
type Options struct {
	Dark    bool // the terminal's background
	ASCII   bool
	Colours Colours
}

// New makes a theme.
func New(o Options) *Theme {
	c := paletteOf(o.Colours, o.Dark)
	bold := func(k widget.Ink) widget.Ink {
		if o.Colours == Sixteen { // many terminals draw bold text in another of the sixteen
			return k
		}
		return k.Bold()
	}
	t := &Theme{
		Text:    "",
		Dim:     ink(c.Dim),
		Faint:   ink(c.Faint),
		Strong:  widget.Ink("").Bold(),
		Title:   widget.Ink("").Bold(),
		Brand:   bold(ink(c.Brand)),
		Accent:  ink(c.Accent),
		Good:    ink(c.Good),
		Busy:    ink(c.Busy),
		Warn:    ink(c.Warn),
		Bad:     bold(ink(c.Bad)),
		Idle:    ink(c.Idle),
		Key:     bold(ink(c.Key)),
		KeyWord: ink(c.Dim),
		Border:  ink(c.Border),
		Chosen:  ink(c.Brand),
		Edge:    ink(c.Brand),
		Cursor:  ink(c.Cursor),
		Found:   ink(c.Found),
		BarFull: ink(c.Busy),
		BarRest: ink(c.Rest),
		Added:   ink(c.Good),
		Removed: ink(c.Bad),
		Glyphs:  Unicode(),
		NoGrey:  o.Colours >= Sixteen,
		ASCII:   o.ASCII,
	}
	if strings.Contains(c.Brand, "/") {
		t.Edge = ""
	}
	if t.Cursor == "" {
		t.Cursor = widget.Reverse
	}
	if t.Found == "" {
		t.Found = widget.NewInk(lipgloss.NewStyle().Bold(true).Underline(true))
	}
	if o.ASCII {
		t.Glyphs = ASCII()
	}
	t.progress = progress.New(progress.WithoutPercentage(), progress.WithFillCharacters(
		[]rune(t.Glyphs.BarFull)[0], []rune(t.Glyphs.BarRest)[0]), progress.WithColors(lipgloss.Color(c.Busy)))
	t.progress.EmptyColor = lipgloss.Color(c.Rest)
	t.help.FullKey = lipgloss.NewStyle().Foreground(lipgloss.Color(c.Key)).Bold(o.Colours != Sixteen)
	return t
}

// Help is how the list of keys looks.
func (t *Theme) Help() help.Styles { return t.help }

// Progress is the bar of a transfer in w cells. It is full when all is there and not before, and not empty once
// something is.
func (t *Theme) Progress(w int, part float64) string {
	if w <= 0 {
		return ""
	}
	cells := int(min(1, max(0, part))*float64(w) + 0.5)
	switch {
	case part < 1 && cells == w:
		cells--
	case part > 0 && cells == 0:
		cells = 1
	}
	bar := t.progress
	bar.SetWidth(w)
	return bar.ViewAs(float64(cells) / float64(w))
}

// Spinner is what moves beside a step that runs: a cell wide in every frame.
func (t *Theme) Spinner() spinner.Spinner {
	if t.ASCII {
		return spinner.Line
	}
	return spinner.MiniDot
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
