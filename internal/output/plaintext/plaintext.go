// Package plaintext makes text plain that was pasted or typed: out of web pages, spreadsheets, chat programs and with
// Chinese input methods come blanks, dashes, quotes and digits that look like those of ASCII, and characters that are
// not seen at all. It may import nothing of this module.
package plaintext

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Blank reports whether r looks like a space and is none: a no-break space, the space of a Chinese input method, a
// thin space.
func Blank(r rune) bool {
	switch r {
	case ' ':
		return false
	case 0x2800, 0x3164, 0xffa0, 0x115f, 0x1160: // a braille pattern without dots, fillers of Hangul
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

// Invisible reports whether r takes no room: a zero-width space, a joiner, a mark of direction, a byte order mark, a
// soft hyphen.
func Invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || r == 0x34f || r >= 0xfe00 && r <= 0xfe0f
}

// Blanks returns the text with each blank as a space, each line separator of Unicode as a line break, and without
// invisible characters.
func Blanks(s string) string {
	if ascii(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case Blank(r):
			return ' '
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			return '\n'
		case Invisible(r):
			return -1
		}
		return r
	}, s)
}

// Narrow returns the text as a keyboard without an input method would have typed it: Blanks, and letters, digits and
// signs of ASCII for those in full width, dashes and quotes of a word processor. An ideographic full stop between
// letters or digits is a dot; at the end of a sentence it separates words.
func Narrow(s string) string {
	if ascii(s) {
		return s
	}
	list := []rune(Blanks(s))
	for i, r := range list {
		if wide := width.LookupRune(r); wide.Kind() == width.EastAsianFullwidth {
			list[i] = wide.Narrow()
			continue
		}
		switch r {
		case '。', '｡':
			list[i] = ' '
			if i+1 < len(list) && (unicode.IsLetter(list[i+1]) || unicode.IsDigit(list[i+1])) {
				list[i] = '.'
			}
		case '‐', '‑', '‒', '–', '—', '―', '−', '﹣':
			list[i] = '-'
		case '“', '”', '„', '‟', '«', '»', '「', '」':
			list[i] = '"'
		case '‘', '’', '‚', '‛':
			list[i] = '\''
		}
	}
	return string(list)
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
