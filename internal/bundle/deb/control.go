// Package deb resolves Debian packages with their dependency closure from signed repository metadata, without apt: for
// another release or architecture than the machine's own. Formats: deb822 control files and relationships as Debian's
// policy manual, chapters 5 and 7, describes them; repositories as https://wiki.debian.org/DebianRepository/Format
// does.
package deb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Field of a stanza. Value has the lines joined by newlines, each continuation with its leading space.
type Field struct{ Name, Value string }

// Stanza is one paragraph of a control file, its fields in their order.
type Stanza []Field

// Get returns the value of a field, "" if it is absent. Names are compared without case, as policy says.
func (s Stanza) Get(name string) string {
	for _, f := range s {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// What one stanza may have at most. Debian's largest are some hundreds of kilobytes in Release files and some tens in
// Packages.
const (
	maxLine   = 1 << 20
	maxStanza = 64 << 20
)

// ReadStanzas calls each for every paragraph of r until each returns an error.
func ReadStanzas(r io.Reader, each func(Stanza) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxLine)
	var cur Stanza
	var more strings.Builder // the last field's further lines
	size := 0
	end := func() {
		if more.Len() > 0 {
			cur[len(cur)-1].Value += more.String()
			more.Reset()
		}
	}
	flush := func() error {
		if len(cur) == 0 {
			return nil
		}
		end()
		s := cur
		cur, size = nil, 0
		return each(s)
	}
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if size += len(line); size > maxStanza {
			return fmt.Errorf("line %d: paragraph of more than %d bytes", n, maxStanza)
		}
		switch {
		case strings.TrimSpace(line) == "":
			if err := flush(); err != nil {
				return err
			}
		case line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			if len(cur) == 0 {
				return fmt.Errorf("line %d: continuation without a field", n)
			}
			more.WriteString("\n" + line)
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok || name == "" || strings.ContainsAny(name, " \t") {
				return fmt.Errorf("line %d: no field name", n)
			}
			end()
			cur = append(cur, Field{name, strings.TrimSpace(value)})
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		return err
	}
	return flush()
}

// WriteTo writes the stanza with an empty line after it.
func (s Stanza) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for _, f := range s {
		f.writeTo(&b)
	}
	b.WriteByte('\n')
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func (f Field) writeTo(b *strings.Builder) {
	b.WriteString(f.Name)
	b.WriteByte(':')
	if f.Value != "" && f.Value[0] != '\n' {
		b.WriteByte(' ')
	}
	b.WriteString(f.Value)
	b.WriteByte('\n')
}
