package widget

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/plaintext"
)

// Field is one line that is typed into. It knows its cells: the cursor is where the terminal's own has to be, so that
// an input method opens its window there.
type Field struct {
	Secret bool // shown as stars
	Narrow bool // full-width letters and digits become plain ones: for addresses, ports, paths and names

	text []rune
	at   int // where the next character goes
}

// fieldMost is how much is taken: more than any value of a deploy.yaml may have.
const fieldMost = 8192

// Value is the text.
func (f *Field) Value() string { return string(f.text) }

// Set puts another text in, with the cursor at its end. The same text leaves the cursor where it is.
func (f *Field) Set(s string) {
	if s == string(f.text) {
		return
	}
	f.text = []rune(s)
	f.at = len(f.text)
}

// Insert puts text in at the cursor. What cannot be printed is left out; a line break, whichever it is, becomes a
// space, but for those at the end.
func (f *Field) Insert(s string) {
	clean := f.clean(strings.TrimRight(Breaks(s), "\n"), nil)
	clean = clean[:min(len(clean), max(0, fieldMost-len(f.text)))]
	f.text = append(f.text[:f.at:f.at], append(clean, f.text[f.at:]...)...)
	f.at += len(clean)
}

func (f *Field) clean(s string, out []rune) []rune {
	if f.Narrow {
		s = strings.ReplaceAll(s, "。", ".") // typed key by key, it has no neighbor yet
		s = plaintext.Narrow(s)
	}
	for _, r := range strings.ToValidUTF8(s, "") {
		switch {
		case r == '\n' || r == '\t' || plaintext.Blank(r):
			out = append(out, ' ')
		case unicode.IsPrint(r):
			out = append(out, r)
		}
	}
	return out
}

// Key takes a key; false: it is none of a line's.
func (f *Field) Key(m tea.KeyPressMsg) bool {
	text, at, ok := edit(f.text, f.at, m)
	if f.text, f.at = text, at; ok {
		return true
	}
	if m.Text == "" || m.Mod&(tea.ModCtrl|tea.ModAlt) != 0 {
		return false
	}
	f.Insert(m.Text)
	return true
}

// Around is the text before and behind the cursor.
func (f *Field) Around() (before, after string) { return string(f.text[:f.at]), string(f.text[f.at:]) }

// Shown is the text as it is drawn in w cells, and the cell of the cursor, which is always in sight.
func (f *Field) Shown(w int) (string, int) {
	if w <= 0 {
		return "", 0
	}
	all, before := string(f.text), string(f.text[:f.at])
	if f.Secret {
		all, before = strings.Repeat("*", len(f.text)), strings.Repeat("*", f.at)
	}
	x := Width(before)
	if x < w {
		if Width(all) > w && x < w-1 { // what is not in sight is said to be there, but not in the cursor's place
			return Cut(all, w, Ellipsis), x
		}
		return Cut(all, w, ""), x
	}
	rest := strings.TrimPrefix(all, before)
	cut := Tail([]rune(before), w)
	if len(cut) < len(before) && w > 4 {
		cut = Ellipsis + Tail([]rune(cut), w-1)
	}
	if at := Width(cut); Width(cut+rest) > w && at < w-1 {
		return Cut(cut+rest, w, Ellipsis), at
	}
	return Cut(cut+rest, w, ""), Width(cut)
}

// Tail is as much of the end of a text as takes less than w cells; it looks at no more of it.
func Tail(text []rune, w int) string {
	from, used := len(text), 0
	for from > 0 {
		if used += Width(string(text[from-1])); used >= w {
			break
		}
		from--
	}
	return string(text[from:])
}

// Area is text of several lines.
type Area struct {
	lines    [][]rune
	row, col int
	top      int // the first line that was drawn
}

// Value is the text, its lines with line breaks between them.
func (a *Area) Value() string {
	out := make([]string, len(a.lines))
	for i, l := range a.lines {
		out[i] = string(l)
	}
	return strings.Join(out, "\n")
}

// Set puts another text in.
func (a *Area) Set(s string) {
	a.lines, a.row, a.col, a.top = nil, 0, 0, 0
	a.Insert(s)
}

func (a *Area) fill() {
	if len(a.lines) == 0 {
		a.lines = [][]rune{nil}
	}
	a.row = min(max(a.row, 0), len(a.lines)-1)
	a.col = min(max(a.col, 0), len(a.lines[a.row]))
}

// Insert puts text in at the cursor; tabs become two spaces.
func (a *Area) Insert(s string) {
	a.fill()
	s = strings.ReplaceAll(Breaks(s), "\t", "  ")
	for i, part := range strings.Split(s, "\n") {
		if i > 0 {
			a.enter("")
		}
		clean := (&Field{}).clean(part, nil)
		l := a.lines[a.row]
		if len(l)+len(clean) > fieldMost || len(a.lines) > fieldMost {
			return
		}
		a.lines[a.row] = append(l[:a.col:a.col], append(clean, l[a.col:]...)...)
		a.col += len(clean)
	}
}

func (a *Area) enter(indent string) {
	l := a.lines[a.row]
	rest := append([]rune(indent), l[a.col:]...)
	a.lines[a.row] = l[:a.col:a.col]
	a.lines = append(a.lines[:a.row+1:a.row+1], append([][]rune{rest}, a.lines[a.row+1:]...)...)
	a.row, a.col = a.row+1, len([]rune(indent))
}

// Key takes a key; false: it is none of a text's.
func (a *Area) Key(m tea.KeyPressMsg) bool {
	a.fill()
	l := a.lines[a.row]
	switch m.String() {
	case "enter":
		text := string(l[:a.col])
		a.enter(text[:len(text)-len(strings.TrimLeft(text, " "))]) // a new line begins where this one did
	case "up":
		a.row--
	case "down":
		a.row++
	case "left", "alt+b", "ctrl+left", "alt+left":
		if a.col == 0 && a.row > 0 {
			a.row--
			a.col = len(a.lines[a.row])
			break
		}
		a.edit(m)
	case "right", "alt+f", "ctrl+right", "alt+right":
		if a.col == len(l) && a.row+1 < len(a.lines) {
			a.row, a.col = a.row+1, 0
			break
		}
		a.edit(m)
	case "tab":
		a.Insert("  ")
	case "backspace", "ctrl+h", "alt+backspace", "ctrl+backspace", "ctrl+w":
		if a.col > 0 || a.row == 0 {
			a.edit(m)
			break
		}
		before := a.lines[a.row-1]
		a.lines = append(a.lines[:a.row-1:a.row-1], append([][]rune{append(before[:len(before):len(before)], l...)},
			a.lines[a.row+1:]...)...)
		a.row, a.col = a.row-1, len(before)
	case "delete", "alt+d", "ctrl+delete", "alt+delete":
		if a.col < len(l) || a.row+1 == len(a.lines) {
			a.edit(m)
			break
		}
		a.lines = append(a.lines[:a.row:a.row], append([][]rune{append(l[:len(l):len(l)], a.lines[a.row+1]...)},
			a.lines[a.row+2:]...)...)
	default:
		switch {
		case a.edit(m):
		case m.Text == "" || m.Mod&(tea.ModCtrl|tea.ModAlt) != 0:
			return false
		default:
			a.Insert(m.Text)
		}
	}
	a.fill()
	return true
}

// edit takes a key for the line of the cursor.
func (a *Area) edit(m tea.KeyPressMsg) bool {
	text, at, ok := edit(a.lines[a.row], a.col, m)
	a.lines[a.row], a.col = text, at
	return ok
}

// Shown are the lines as they are drawn in w×h cells, and the cell of the cursor.
func (a *Area) Shown(w, h int) (lines []string, x, y int) {
	a.fill()
	a.top = min(max(a.top, a.row-h+1), a.row)
	for i := a.top; i < len(a.lines) && i < a.top+h; i++ {
		f := Field{text: a.lines[i]}
		if i == a.row {
			f.at = a.col
		}
		s, at := f.Shown(w)
		if i == a.row {
			x, y = at, i-a.top
		}
		lines = append(lines, s)
	}
	return lines, x, y
}
