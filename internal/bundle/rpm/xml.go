package rpm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// scanner reads the XML of repository metadata in pieces: elements, attributes, text, comments, CDATA, the predefined
// and the numeric entities. What the metadata never has and an attacker would want is refused (document types with
// their entities). It exists beside encoding/xml for speed alone: primary.xml of a distribution has 50 to 100 MB.
//
// Names lose their prefix ("rpm:entry" is entry). All slices are valid until the next call of next.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	eof      bool
	stack    []byte // the names of the open elements
	marks    []int  // where each begins
	closing  bool   // the element just begun was empty: its end comes next

	name  []byte
	attrs []attr
	text  []byte
}

type attr struct{ name, value []byte }

type token uint8

const (
	tokStart token = iota
	tokEnd
	tokText
	tokEOF
)

// Bounds of any metadata file.
const (
	maxXMLToken = 1 << 20 // bytes of one tag or run of text
	maxXMLDepth = 16
	maxXMLAttrs = 32
)

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, 128<<10)} }

// fill gets more input behind pos; false at the end.
func (x *scanner) fill() (bool, error) {
	if x.eof {
		return false, nil
	}
	if x.pos > 0 {
		copy(x.buf, x.buf[x.pos:x.end])
		x.end -= x.pos
		x.pos = 0
	}
	if x.end == len(x.buf) {
		if len(x.buf) >= maxXMLToken {
			return false, fmt.Errorf("an element or a text of more than %d bytes", maxXMLToken)
		}
		x.buf = append(x.buf, make([]byte, len(x.buf))...)
	}
	for range 100 {
		n, err := x.r.Read(x.buf[x.end:])
		x.end += n
		if err == io.EOF {
			x.eof = true
			return n > 0, nil
		}
		if err != nil || n > 0 {
			return err == nil, err
		}
	}
	return false, io.ErrNoProgress
}

// index returns where sep is, from pos+from on, relative to pos; -1 if the input ends before.
func (x *scanner) index(sep string, from int) (int, error) {
	for {
		if from < x.end-x.pos {
			b := x.buf[x.pos+from : x.end]
			i := -1
			if len(sep) == 1 {
				i = bytes.IndexByte(b, sep[0])
			} else {
				i = bytes.Index(b, []byte(sep))
			}
			if i >= 0 {
				return from + i, nil
			}
			from = max(from, x.end-x.pos-len(sep)+1)
		}
		if more, err := x.fill(); err != nil || !more {
			return -1, err
		}
	}
}

// next returns the next token. Text is never empty; white space is text too.
func (x *scanner) next() (token, error) {
	if x.closing {
		x.closing = false
		return tokEnd, x.pop(x.name)
	}
	for {
		i, err := x.index("<", 0)
		if err != nil {
			return 0, err
		}
		if i < 0 {
			i = x.end - x.pos
			if i == 0 {
				if len(x.marks) > 0 {
					return 0, io.ErrUnexpectedEOF
				}
				return tokEOF, nil
			}
		}
		if i > 0 {
			x.text, err = unescape(x.buf[x.pos : x.pos+i])
			x.pos += i
			if err == nil && len(x.marks) == 0 && len(bytes.TrimSpace(bytes.TrimPrefix(x.text,
				[]byte("\xef\xbb\xbf")))) > 0 {
				err = errors.New("text outside of the document")
			}
			return tokText, err
		}
		switch t, again, err := x.tag(); {
		case err != nil:
			return 0, err
		case !again:
			return t, nil
		}
	}
}

// tag reads what begins with "<"; again when it says nothing.
func (x *scanner) tag() (t token, again bool, err error) {
	for x.end-x.pos < 9 && !x.eof {
		if _, err := x.fill(); err != nil {
			return 0, false, err
		}
	}
	head := x.buf[x.pos:x.end]
	until := func(begin, end string) ([]byte, error) {
		i, err := x.index(end, len(begin))
		if err == nil && i < 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		body := x.buf[x.pos+len(begin) : x.pos+i]
		x.pos += i + len(end)
		return body, nil
	}
	switch {
	case bytes.HasPrefix(head, []byte("<?")):
		_, err = until("<?", "?>")
		return 0, true, err
	case bytes.HasPrefix(head, []byte("<!--")):
		_, err = until("<!--", "-->")
		return 0, true, err
	case bytes.HasPrefix(head, []byte("<![CDATA[")):
		x.text, err = until("<![CDATA[", "]]>")
		if err == nil && len(x.marks) == 0 {
			err = errors.New("text outside of the document")
		}
		return tokText, len(x.text) == 0, err
	case bytes.HasPrefix(head, []byte("<!")):
		return 0, false, errors.New("a document type definition")
	case bytes.HasPrefix(head, []byte("</")):
		name, err := until("</", ">")
		if err != nil {
			return 0, false, err
		}
		x.name = local(bytes.TrimRight(name, " \t\r\n"))
		return tokEnd, false, x.pop(x.name)
	}
	return tokStart, false, x.start()
}

// start reads a start tag with its attributes.
func (x *scanner) start() error {
	n := 0
	for {
		i, err := x.index(">", n)
		if err == nil && i < 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		n = i + 1
		quote, at, err := x.parseStart(x.buf[x.pos+1 : x.pos+i])
		if err != nil || quote == "" {
			x.pos += n
			return err
		}
		// The ">" was within a quoted value: the tag ends behind it.
		if n, err = x.index(quote, 1+at); err == nil && n < 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// parseStart reads the inside of a tag. If it ends in a quoted value, that quote and the place of the value are
// returned.
func (x *scanner) parseStart(b []byte) (open string, at int, err error) {
	bad := func(f string, a ...any) (string, int, error) { return "", 0, fmt.Errorf(f, a...) }
	x.attrs = x.attrs[:0]
	i := 0
	for i < len(b) && !space(b[i]) && b[i] != '/' {
		i++
	}
	name := local(b[:i])
	if len(name) == 0 {
		return bad("an element without a name")
	}
	for {
		for i < len(b) && space(b[i]) {
			i++
		}
		if i == len(b) {
			break
		}
		if b[i] == '/' && i == len(b)-1 {
			x.closing = true
			break
		}
		eq := bytes.IndexByte(b[i:], '=')
		if eq < 0 {
			return bad("an attribute of %.40q without a value", name)
		}
		key := bytes.TrimRight(b[i:i+eq], " \t\r\n")
		if len(key) == 0 || bytes.ContainsAny(key, " \t\r\n/<\"'") {
			return bad("an attribute of %.40q without a name", name)
		}
		i += eq + 1
		for i < len(b) && space(b[i]) {
			i++
		}
		if i == len(b) || b[i] != '"' && b[i] != '\'' {
			return bad("an attribute of %.40q without quotes", name)
		}
		quote := b[i]
		n := bytes.IndexByte(b[i+1:], quote)
		if n < 0 {
			return string(quote), i + 1, nil
		}
		value, err := unescape(b[i+1 : i+1+n])
		if err != nil {
			return "", 0, err
		}
		if len(x.attrs) == maxXMLAttrs {
			return bad("more than %d attributes", maxXMLAttrs)
		}
		x.attrs = append(x.attrs, attr{local(key), value})
		i += n + 2
	}
	x.name = name
	if len(x.marks) == maxXMLDepth {
		return bad("nested more than %d deep", maxXMLDepth)
	}
	x.marks = append(x.marks, len(x.stack))
	x.stack = append(x.stack, name...)
	return "", 0, nil
}

func (x *scanner) pop(name []byte) error {
	if len(x.marks) == 0 {
		return fmt.Errorf("end of %.40q, which was not begun", name)
	}
	m := x.marks[len(x.marks)-1]
	if !bytes.Equal(x.stack[m:], name) {
		return fmt.Errorf("end of %.40q within %.40q", name, x.stack[m:])
	}
	x.stack, x.marks = x.stack[:m], x.marks[:len(x.marks)-1]
	return nil
}

func local(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

// attr returns the value of an attribute of the current element, nil if it is absent.
func (x *scanner) attr(name string) []byte {
	for i := range x.attrs {
		if string(x.attrs[i].name) == name {
			return x.attrs[i].value
		}
	}
	return nil
}

// skip passes over the rest of the element that was just begun.
func (x *scanner) skip() error {
	for depth := len(x.marks); ; {
		t, err := x.next()
		if err != nil {
			return err
		}
		if t == tokEnd && len(x.marks) < depth {
			return nil
		}
	}
}

// content returns the text of the element that was just begun, at most limit bytes, and passes over elements within.
func (x *scanner) content(limit int) (string, error) {
	var whole []byte
	for depth := len(x.marks); ; {
		t, err := x.next()
		if err != nil {
			return "", err
		}
		switch {
		case t == tokEnd && len(x.marks) < depth:
			return string(whole), nil
		case t == tokText && len(x.marks) == depth:
			if whole = append(whole, x.text...); len(whole) > limit {
				return "", fmt.Errorf("a text of more than %d bytes", limit)
			}
		}
	}
}

// root begins the document, whose outermost element must have that name.
func (x *scanner) root(name string) error {
	for {
		t, err := x.next()
		switch {
		case err != nil:
			return err
		case t == tokEOF:
			return io.ErrUnexpectedEOF
		case t == tokStart && string(x.name) == name:
			return nil
		case t == tokStart:
			return fmt.Errorf("the document is %.40q, not %q", x.name, name)
		}
	}
}

// finish reads to the end, where nothing may follow the document.
func (x *scanner) finish() error {
	for {
		switch t, err := x.next(); {
		case err != nil:
			return err
		case t == tokEOF:
			return nil
		case t == tokStart:
			return errors.New("a second document")
		}
	}
}

// unescape replaces entities; b itself if it has none.
func unescape(b []byte) ([]byte, error) {
	i := bytes.IndexByte(b, '&')
	if i < 0 {
		return b, nil
	}
	out := append(make([]byte, 0, len(b)), b[:i]...)
	for b = b[i:]; len(b) > 0; {
		if b[0] != '&' {
			n := bytes.IndexByte(b, '&')
			if n < 0 {
				n = len(b)
			}
			out, b = append(out, b[:n]...), b[n:]
			continue
		}
		n := bytes.IndexByte(b[:min(len(b), 12)], ';')
		if n < 0 {
			return nil, errors.New("an entity without an end")
		}
		var err error
		if out, err = appendEntity(out, b[1:n]); err != nil {
			return nil, err
		}
		b = b[n+1:]
	}
	return out, nil
}

func appendEntity(out, name []byte) ([]byte, error) {
	switch string(name) {
	case "amp":
		return append(out, '&'), nil
	case "lt":
		return append(out, '<'), nil
	case "gt":
		return append(out, '>'), nil
	case "quot":
		return append(out, '"'), nil
	case "apos":
		return append(out, '\''), nil
	}
	num, ok := bytes.CutPrefix(name, []byte("#"))
	base := 10
	if hex, is := bytes.CutPrefix(num, []byte("x")); is {
		num, base = hex, 16
	}
	n, err := strconv.ParseUint(string(num), base, 32)
	if !ok || err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return nil, fmt.Errorf("entity %.20q", name)
	}
	return utf8.AppendRune(out, rune(n)), nil
}
