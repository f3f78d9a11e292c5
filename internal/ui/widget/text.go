// Package widget has the pieces that screens are made of: text that fits its place, bars, boxes. They measure in
// terminal cells, never in bytes: a Chinese character takes two.
package widget

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many cells a text takes; escape sequences take none.
func Width(s string) int {
	if n, ok := quick(s); ok {
		return n
	}
	return ansi.StringWidth(s)
}

// quick measures what nearly all lines are made of: ASCII, colours, lines and bars, Chinese. false: it takes a closer
// look.
func quick(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= 0x20 && c < 0x7f:
			n, i = n+1, i+1
		case c == 0x1b:
			end := i + 2
			if end > len(s) || s[i+1] != '[' {
				return 0, false
			}
			for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';') {
				end++
			}
			if end == len(s) || s[end] != 'm' {
				return 0, false
			}
			i = end + 1
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			cells := quickRune(r)
			if cells == 0 {
				return 0, false
			}
			n, i = n+cells, i+size
		}
	}
	return n, true
}

// Cut shortens plain or styled text to at most w cells, with tail as its end when something was left out.
func Cut(s string, w int, tail string) string {
	if w <= 0 {
		return ""
	}
	have, usual := quick(s)
	if !usual {
		have = ansi.StringWidth(s)
	}
	if have <= w {
		return s
	}
	end := Width(tail)
	if end > w {
		tail, end = "", 0
	}
	if usual && strings.IndexByte(s, 0x1b) < 0 {
		return quickCut(s, w-end) + tail
	}
	return ansi.Truncate(s, w, tail)
}

// quickCut gives the first w cells of what quick measures and has no colours.
func quickCut(s string, w int) string {
	n := 0
	for i := 0; i < len(s); {
		size, cells := 1, 1
		if s[i] > 0x7f {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			cells = quickRune(r)
		}
		if n+cells > w {
			return s[:i]
		}
		n, i = n+cells, i+size
	}
	return s
}

// quickRune is how many cells one of the usual characters takes; 0: it is none of them.
func quickRune(r rune) int {
	switch {
	case r >= 0x2500 && r <= 0x25fb, r >= 0x2800 && r <= 0x28ff, r == 0x2026, r == 0x2022, r >= 0x2190 && r <= 0x2193,
		r == 0x2714, r == 0x2718, r == 0x2298, r == 0xb7, r == 0xbb, r == 0xd7, r >= 0x201c && r <= 0x201d:
		return 1
	case r >= 0x4e00 && r <= 0x9fff, r >= 0x3001 && r <= 0x3011, r >= 0xff01 && r <= 0xff5e:
		return 2
	}
	return 0
}

// From leaves out the first n cells, with lead in place of the last of them.
func From(s string, n int, lead string) string {
	if n <= 0 {
		return s
	}
	return ansi.TruncateLeft(s, n, lead)
}

// Ellipsis ends what was cut where the caller has no sign of its own for it.
const Ellipsis = "…"

// Fit cuts or pads text to exactly w cells. What is cut ends with tail, or with an ellipsis: nothing is cut in silence.
func Fit(s string, w int, tail string) string {
	have := Width(s)
	if have > w {
		s = Cut(s, w, cmp.Or(tail, Ellipsis))
		have = Width(s)
	}
	if have == w {
		return s
	}
	return s + Spaces(w-have)
}

// FitRight is Fit with the text at the right edge.
func FitRight(s string, w int, tail string) string {
	s = Cut(s, w, cmp.Or(tail, Ellipsis))
	return Spaces(w-Width(s)) + s
}

// Spaces is n spaces, none when n is negative.
func Spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

// Line builds one line out of styled pieces and knows how wide it is.
type Line struct {
	b   strings.Builder
	w   int
	end int // no piece reaches past it; 0: there is none
}

// Until keeps pieces from reaching past the cell w; what does not fit is cut off, with an ellipsis.
func (l *Line) Until(w int) *Line {
	l.end = w
	return l
}

// Grow makes room for n bytes, where one knows that there will be many.
func (l *Line) Grow(n int) *Line {
	l.b.Grow(n)
	return l
}

// Add appends text in a style. Text must be plain and clean.
func (l *Line) Add(st Ink, text string) *Line {
	cells := Width(text)
	if l.end > 0 && l.w+cells > l.end {
		text = Cut(text, l.end-l.w, Ellipsis)
		cells = Width(text)
	}
	if text == "" {
		return l
	}
	st = st.on(text)
	if l.b.Cap() == 0 {
		l.b.Grow(256)
	}
	if st != "" {
		l.b.WriteString(string(st))
	}
	l.b.WriteString(text)
	if st != "" {
		l.b.WriteString(plain)
	}
	l.w += cells
	return l
}

// Raw appends text that has its styles already.
func (l *Line) Raw(text string) *Line {
	cells := Width(text)
	if l.end > 0 && l.w+cells > l.end {
		text = Cut(text, l.end-l.w, Ellipsis)
		cells = Width(text)
	}
	l.b.WriteString(text)
	l.w += cells
	return l
}

// Space appends n cells.
func (l *Line) Space(n int) *Line {
	if l.end > 0 {
		n = min(n, l.end-l.w)
	}
	for l.w += max(0, n); n > len(blanks); n -= len(blanks) {
		l.b.WriteString(blanks)
	}
	l.b.WriteString(blanks[:max(0, n)])
	return l
}

const blanks = "                                                                "

// To fills with spaces up to the cell w.
func (l *Line) To(w int) *Line { return l.Space(w - l.w) }

// Width is how many cells the line takes so far.
func (l *Line) Width() int { return l.w }

// String is the line with its styles.
func (l *Line) String() string { return l.b.String() }

// Paint gives a line of styled text the style of its row, a background as a rule, over all of w cells. In reverse video
// the text loses its own colours: they would become backgrounds, on which nobody has made sure that anything can be
// read.
func Paint(st Ink, line string, w int, tail string) string {
	line = Fit(line, w, tail)
	if st == Reverse {
		line = ansi.Strip(line)
	}
	if st == "" {
		return line
	}
	return st.Render(strings.ReplaceAll(line, plain, plain+string(st)))
}

// Bar draws how much of a whole is done in w cells; part is from 0 to 1.
func Bar(full, rest Ink, fullGlyph, restGlyph string, w int, part float64) string {
	if w <= 0 {
		return ""
	}
	n := int(min(1, max(0, part))*float64(w) + 0.5)
	if part < 1 && n == w { // full means done
		n = w - 1
	}
	if part > 0 && n == 0 {
		n = 1
	}
	n = min(n, w)
	return full.Render(strings.Repeat(fullGlyph, n)) + rest.Render(strings.Repeat(restGlyph, w-n))
}

// Block makes exactly h lines of exactly w cells out of lines; what is too much is cut off, and where lines are, the
// last one says so. Nothing that is drawn through it can reach past the screen's edge.
func Block(lines []string, w, h int, tail string) []string {
	tail = cmp.Or(tail, Ellipsis)
	out := make([]string, 0, max(0, h))
	for i := 0; i < h; i++ {
		switch {
		case i >= len(lines):
			out = append(out, Spaces(w))
		case i == h-1 && !blank(lines[h:]):
			last := strings.TrimRight(lines[i], " ")
			if end := Width(tail); Width(last)+1+end <= w {
				last += " " + tail
			} else if !strings.HasSuffix(ansi.Strip(last), tail) {
				last = Cut(last, w-end, "") + tail
			}
			out = append(out, Fit(last, w, tail))
		default:
			out = append(out, Fit(lines[i], w, tail))
		}
	}
	return out
}

// blank says whether there is nothing to be read in the lines.
func blank(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(ansi.Strip(l)) != "" {
			return false
		}
	}
	return true
}

// Over lays text over a line of w cells, beginning at the cell x. A wide character that is half covered becomes a
// space.
func Over(line, text string, x, w int) string {
	tw := Width(text)
	left, right := ansi.Cut(line, 0, x), ansi.Cut(line, x+tw, w)
	rest := max(0, w-x-tw)
	return Fit(Cut(left, x, ""), x, "") + text + FitRight(Cut(right, rest, ""), rest, "")
}
