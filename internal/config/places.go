package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/eggo-k8s/eggo/internal/output/plaintext"
)

// place is where a byte of a file is.
type place byte

const (
	inBare    place = iota // neither of the others: what YAML has a meaning for
	inQuotes               // between quotes, with them
	inComment              // behind # or //
)

// places returns the place of each byte, and where comments with // begin: outside quotes and comments, and only after
// white space or at the start of a line, so that https:// stays.
func places(data []byte) (list []place, slashes []int) {
	list = make([]place, len(data))
	var quote byte // the quote that is open, also across lines
	remark := false
	last := byte(0) // last byte of the line that was not white space
	for i := 0; i < len(data); i++ {
		c := data[i]
		blank := i == 0 || data[i-1] == ' ' || data[i-1] == '\t' || data[i-1] == '\n'
		switch {
		case c == '\n':
			if remark = false; quote == 0 {
				last = 0
			}
			continue
		case remark:
			list[i] = inComment
			continue
		case quote != 0:
			list[i] = inQuotes
			escape := quote == '"' && c == '\\' ||
				quote == '\'' && c == '\'' && i+1 < len(data) && data[i+1] == '\'' // '' inside '…' is one quote
			switch {
			case escape && i+1 < len(data):
				i++
				list[i] = inQuotes
			case c == quote:
				quote, last = 0, c
			}
			continue
		case blank && c == '#':
			list[i], remark = inComment, true
			continue
		case blank && c == '/' && i+1 < len(data) && data[i+1] == '/':
			list[i], remark = inComment, true
			slashes = append(slashes, i)
			continue
		case (c == '"' || c == '\'') && strings.IndexByte("\x00:,[{-?", last) >= 0:
			list[i], quote = inQuotes, c
			continue
		}
		if c != ' ' && c != '\t' {
			last = c
		}
	}
	return list, slashes
}

// slashComments turns the manual's // comments into YAML's. Lines and columns stay where they were. It returns the
// first such line and how many there are.
func slashComments(data []byte) (out []byte, first, count int) {
	out = bytes.Clone(data)
	_, slashes := places(data)
	for _, i := range slashes {
		out[i], out[i+1] = '#', ' '
	}
	if len(slashes) > 0 {
		first = positionOf(data, slashes[0]).line
	}
	return out, first, len(slashes)
}

// positionOf is the line and the column, in characters, of a byte.
func positionOf(data []byte, i int) position {
	begin := bytes.LastIndexByte(data[:i], '\n') + 1
	return position{bytes.Count(data[:begin], []byte("\n")) + 1, utf8.RuneCount(data[begin:i]) + 1}
}

// visible reports characters that look like spaces, and such that are not seen: YAML takes them for parts of words.
// Comments may have both, and a quoted password may have a blank; other values are checked where they are read.
func (l *loader) visible(data []byte) bool {
	list, _ := places(data)
	ok, begin := true, 0
	for n, line := range l.text {
		at := begin
		begin += len(line) + 1
		for i, r := range string(line) {
			code := ""
			switch {
			case r < 0x80 || list[at+i] == inComment:
				continue
			case plaintext.Invisible(r):
				code = "config.invisible"
			case plaintext.Blank(r) && list[at+i] == inBare:
				code = "config.blank"
			default:
				continue
			}
			col := utf8.RuneCount(line[:i]) + 1
			l.errAt(position{n + 1, col}, "", code, "char", fmt.Sprintf("%U", r))
			ok = false
			break // one problem for each line
		}
	}
	return ok
}

// unseen finds a blank or an invisible character in a value, and where it is written.
func (l *loader) unseen(v spot, text string) (char string, at position, found bool) {
	is := func(r rune) bool { return plaintext.Blank(r) || plaintext.Invisible(r) }
	i := strings.IndexFunc(text, is)
	if i < 0 {
		return "", at, false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	at = v.pos
	if n := at.line - 1; n >= 0 && n < len(l.text) {
		list := []rune(string(l.text[n]))
		for col := max(0, at.col-1); col < len(list); col++ {
			if is(list[col]) {
				at.col = col + 1
				break
			}
		}
	}
	return fmt.Sprintf("%U", r), at, true
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`(?s)unknown anchor '(.*)' referenced`)
	// badSecret is a password that begins with a sign of YAML.
	badSecret = regexp.MustCompile("(?m)^[ \\t]*(?:-[ \\t]+)?((?:sudo-)?password)[ \\t]*:[ \\t]+" +
		"([][{}>|@`%*&!?,'\"-])")
	// beginsValue matches the text before a value: nothing, or a sign of YAML.
	beginsValue = regexp.MustCompile(`(?:\A|[\s,\[{])\z`)
	directive   = regexp.MustCompile(`(?m)\A(?:[ \t]*(?:#.*)?\n)*(%[^\s:]*)`)
)

// syntax reports the parser's error. What it says of anchors may contain a part of an unquoted secret, so that is
// omitted.
func (l *loader) syntax(err error, data []byte) {
	line, cause := 1, err.Error()
	if m := yamlError.FindStringSubmatch(cause); m != nil {
		cause = m[2]
		if n, e := strconv.Atoi(m[1]); e == nil {
			line = n
		}
	}
	if m := directive.FindSubmatchIndex(data); m != nil {
		l.errAt(positionOf(data, m[2]), "", "config.directive", "name", string(data[m[2]:m[3]]))
		return
	}
	if strings.Contains(cause, "anchor") {
		at := position{line, 1}
		if m := unknownAnchor.FindStringSubmatch(cause); m != nil {
			at = aliasIn(data, m[1], at)
		}
		l.errAt(at, "", "config.alias")
		return
	}
	if m := badSecret.FindSubmatchIndex(data); m != nil {
		key, char := string(data[m[2]:m[3]]), string(data[m[4]:m[5]])
		l.errAt(positionOf(data, m[4]), key, "config.secret-quotes", "char", char)
		return
	}
	if l.fullWidth(data) {
		return
	}
	l.errAt(position{line, 1}, "", "config.syntax", "cause", clip(cause))
}

// aliasIn is where an alias is written, of which the parser does not tell the line.
func aliasIn(data []byte, name string, otherwise position) position {
	list, _ := places(data)
	word := []byte("*" + name)
	for from := 0; ; {
		i := bytes.Index(data[from:], word)
		if i < 0 {
			return otherwise
		}
		if i += from; list[i] == inBare && beginsValue.Match(data[max(0, i-1):i]) {
			return positionOf(data, i)
		}
		from = i + 1
	}
}

// fullWidth reports a colon or a comma of a Chinese input method where YAML needs its own.
func (l *loader) fullWidth(data []byte) bool {
	list, _ := places(data)
	for i, r := range string(data) {
		if wide := width.LookupRune(r); list[i] == inBare && strings.ContainsRune("：，｛｝［］－＃", r) {
			l.errAt(positionOf(data, i), "", "config.full-width", "char", string(r), "instead", string(wide.Narrow()))
			return true
		}
	}
	return false
}
