package machines

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	numbered = regexp.MustCompile(`\A(?:[-+>]+[ \t]*|\*+[ \t]*|\[[ xX]?\][ \t]*|\[[0-9]{1,4}\][ \t]+|` +
		`\([0-9a-zA-Z]{1,4}\)[ \t]*|[0-9a-zA-Z]{1,4}\)[ \t]*|[0-9]{1,4}[、､][ \t]*|[0-9]{1,4}[.:][ \t]+|` +
		`[0-9]{1,4}(?:\.[0-9]{1,4}){1,2}[.):]?[ \t]+|[0-9]\x{20e3}[ \t]*|[一二三四五六七八九十]{1,3}[、､.][ \t]*|第[0-9]{1,4}[台行][:、]?[ \t]*)`)
	glued = regexp.MustCompile(`\A[0-9]{1,4}\.([0-9]{1,3}(?:\.[0-9]{1,3}){3})(?:[^.0-9]|\z)`) // 1.10.0.0.1
	plain = regexp.MustCompile(`\A([0-9]{1,4})[ \t,;|]+`)
	sepOf = regexp.MustCompile(`(?i)\A"?sep=.?"?\z`)
)

// withoutBullet is a line without the signs and numbers that a list has before its items: •, -, 1., 2), （3）, ①, [ ].
func withoutBullet(text string) string {
	for range 4 { // - [ ] 1. web
		was := text
		text = strings.TrimLeftFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) ||
				r >= 0x80 && (unicode.IsSymbol(r) || unicode.IsPunct(r) || unicode.Is(unicode.No, r))
		})
		if m := glued.FindStringSubmatchIndex(text); m != nil {
			text = text[m[2]:]
		} else if m := numbered.FindString(text); m != "" && !strings.HasPrefix(text[len(m):], ".") &&
			!strings.HasPrefix(text, "- {") { // *.example.com
			text = text[len(m):]
		}
		if text == was {
			break
		}
	}
	return text
}

// withoutNumbers are the lines without bullets, and without numbers where they count the lines: 1 10.0.0.7.
func withoutNumbers(text []string) []string {
	out := make([]string, len(text))
	count, next, first := 0, 0, true
	for i, raw := range text {
		out[i] = withoutBullet(narrow(raw))
		if isEmpty(out[i]) || first && isHeader(out[i]) {
			continue
		}
		first = false
		m := plain.FindStringSubmatch(out[i])
		if m == nil {
			return unnumbered(out, text, i)
		}
		n, _ := strconv.Atoi(m[1]) // digits
		if count == 0 && n > 1 || count > 0 && n != next {
			return unnumbered(out, text, i)
		}
		count, next = count+1, n+1
	}
	for i := range out {
		out[i] = plain.ReplaceAllString(out[i], "")
	}
	return out
}

// unnumbered takes the bullets off the rest of the lines, which nothing counts.
func unnumbered(out, text []string, from int) []string {
	for i := from; i < len(text); i++ {
		out[i] = withoutBullet(narrow(text[i]))
	}
	return out
}

// isEmpty reports whether a line says nothing: a comment, cells without a value, the frame of a table, a row for a
// spreadsheet program.
func isEmpty(text string) bool {
	return strings.HasPrefix(text, "#") || strings.HasPrefix(text, "//") || sepOf.MatchString(text) ||
		!strings.ContainsFunc(text, isWordy)
}
