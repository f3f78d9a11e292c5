package event

import (
	"fmt"
	"strings"
	"unicode"
)

// marksMost is how many combining marks a character keeps: scripts need two, a tower of them reaches over other lines.
const marksMost = 2

// Clean drops control characters (C0 but tab, C1, DEL), escape sequences' leaders, all that is there to change how
// other text is shown (bidirectional overrides, joiners, variation selectors, marks beyond the second) and invalid
// UTF-8, so that text from a node can be shown and stored, and takes the same number of cells whoever counts them.
// Letters that are written from right to left are named by their code (\u05d0): a terminal that turns them round takes
// what stands between two of them along, over the borders of panes. Newlines become " / ".
func Clean(s string) string {
	s = strings.TrimRight(s, "\r\n")
	if plainASCII(s) {
		return s
	}
	marks := marksMost // none without a character before it
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\n", " / ")
	if strings.ContainsFunc(s, rightToLeft) {
		s = named(s)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == 0x2028 || r == 0x2029:
			r = ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return -1
		case r < 0x300 && r != 0xad:
		case unicode.Is(unicode.Cf, r), r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x1f3fb &&
			r <= 0x1f3ff:
			return -1
		case r >= 0x1f1e6 && r <= 0x1f1ff: // letters of flags: wide or narrow as the terminal likes
			r += 'A' - 0x1f1e6
		case unicode.Is(unicode.M, r):
			if marks++; marks > marksMost {
				return -1
			}
			return r
		}
		marks = 0
		return r
	}, s)
}

// rightToLeft says whether a character is of a script that is written from right to left, or of a block that is kept
// for such.
func rightToLeft(r rune) bool {
	switch {
	case r < 0x590 || unicode.Is(unicode.Cf, r):
		return false
	case r <= 0x8ff, r >= 0xfb1d && r <= 0xfdff, r >= 0xfe70 && r <= 0xfefe, r >= 0x10800 && r <= 0x10fff,
		r >= 0x1e800 && r <= 0x1efff:
		return true
	}
	return false
}

// named puts the codes of characters that are written from right to left in their places.
func named(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !rightToLeft(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// plainASCII says whether there is nothing but printable ASCII, as in nearly every line.
func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
