package widget

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks text into lines of at most w cells.
func Wrap(s string, w int) string { return strings.Join(Lines(s, w), "\n") }

// Marks that no line begins with, and that none ends with, as Chinese is set.
const (
	closing = "，。、；：！？）」』】》”’…～％,.;:!?)]}%"
	opening = "（「『【《“‘([{"
)

// Lines breaks text into lines of at most w cells: between words, and between the characters of Chinese, which has no
// blanks. A hyphen is no place to break at: it would tear options and paths apart. What is longer than a line is broken
// where it ends.
func Lines(s string, w int) []string {
	var out []string
	for part := range strings.SplitSeq(s, "\n") {
		switch {
		case w <= 0:
			out = append(out, "")
		case Width(part) <= w:
			out = append(out, part)
		case strings.Contains(part, "\x1b"): // styled
			out = append(out, strings.Split(ansi.Wrap(part, w, ""), "\n")...)
		default:
			out = broken(out, part, w)
		}
	}
	return out
}

// broken adds the lines of a text that is wider than one.
func broken(out []string, s string, w int) []string {
	start, at, used := 0, 0, 0 // of the line, in bytes; of the character; cells of the line
	may, left := -1, 0         // where the line may end, and the cells up to there
	last := ' '
	for at < len(s) {
		c, cells := first(s[at:])
		r, _ := utf8.DecodeRuneInString(c)
		if r == ' ' && c != " " { // with an accent upon it, it is no blank
			r = utf8.RuneError
		}
		if at > start && breaks(last, r) {
			may, left = at, used
		}
		for used+cells > w && used > 0 && r != ' ' { // once more where the rest of the line is still too wide
			if may <= start {
				may, left = at, used
			}
			out = append(out, strings.TrimRight(s[start:may], " "))
			start, used = may, used-left
			for start < at {
				if c, _ := first(s[start:]); c != " " {
					break
				}
				start, used = start+1, used-1
			}
			may = -1
		}
		at, used, last = at+len(c), used+cells, r
	}
	return append(out, strings.TrimRight(s[start:], " "))
}

// first is the first character of a text with the cells that it takes.
func first(s string) (string, int) {
	if c := s[0]; c >= 0x20 && c < 0x7f && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], 1
	}
	if c, cells := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth); c != "" {
		return c, cells
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size], 0
}

// breaks says whether a line may end between the two.
func breaks(last, next rune) bool {
	switch {
	case next == ' ':
		return false
	case last == ' ':
		return true
	case strings.ContainsRune(closing, next) || strings.ContainsRune(opening, last):
		return false
	}
	return wide(last) || wide(next)
}

// wide says whether it is a character of a script without blanks.
func wide(r rune) bool { return r >= 0x2e80 && r <= 0xffdc && Width(string(r)) == 2 }
