package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSize of a deploy.yaml in bytes. A cluster of a thousand machines takes a tenth of it.
const MaxSize = 1 << 20

// maxDepth of nesting; the deepest key of the format is at five.
const maxDepth = 16

// parse turns the bytes into the root node of the one document, or reports why not and returns nil.
func (l *loader) parse(data []byte) *yaml.Node {
	if !l.readable(data) {
		return nil
	}
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, bom), []byte("\r\n"), []byte("\n"))
	if l.text = bytes.Split(data, []byte("\n")); !l.visible(data) {
		return nil
	}
	data, first, count := slashComments(data)
	if count > 0 {
		l.warnAt(position{first, 1}, "", "config.slash-comment", "count", strconv.Itoa(count))
	}
	root, second, err := decodeYAML(data)
	if err != nil {
		l.syntax(err, data)
		return nil
	}
	if second > 0 {
		l.errAt(position{second, 1}, "", "config.documents")
		return nil
	}
	if root == nil || len(root.Content) == 0 || isNull(root.Content[0]) {
		l.errAt(position{1, 1}, "", "config.empty")
		return nil
	}
	before := len(l.problems)
	l.shape(root.Content[0], 0)
	if len(l.problems) > before {
		return nil
	}
	return root.Content[0]
}

var bom = []byte("\xef\xbb\xbf")

// readable checks the bytes before any parser sees them.
func (l *loader) readable(data []byte) bool {
	switch {
	case len(data) > MaxSize:
		l.errAt(position{1, 1}, "", "config.too-large", "size", strconv.Itoa(len(data)), "max", strconv.Itoa(MaxSize))
		return false
	case len(bytes.TrimSpace(bytes.TrimPrefix(data, bom))) == 0:
		l.errAt(position{1, 1}, "", "config.empty")
		return false
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		l.errAt(position{bytes.Count(data[:i], []byte("\n")) + 1, i - bytes.LastIndexByte(data[:i], '\n')}, "",
			"config.binary")
		return false
	}
	ok, crlf := true, false
	if bytes.HasPrefix(data, bom) {
		l.errAt(position{1, 1}, "", "config.bom")
		data = data[len(bom):]
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if bytes.HasSuffix(line, []byte("\r")) {
			if !crlf {
				l.errAt(position{i + 1, max(1, len(line))}, "", "config.crlf")
			}
			crlf = true
			line = line[:len(line)-1]
		}
		if code, col := badBytes(line); code != "" {
			l.errAt(position{i + 1, utf8.RuneCount(line[:col-1]) + 1}, "", code)
			ok = false
		}
	}
	return ok
}

// badBytes finds the first byte of a line that no deploy.yaml may have: what is not text, and tabs that indent.
func badBytes(line []byte) (code string, col int) {
	indent := true
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return "config.utf8", i + 1
		case r == '\t' && indent:
			return "config.tab", i + 1
		case r < 0x20 && r != '\t', r >= 0x7f && r < 0xa0, isBidi(r), r == 0x2028, r == 0x2029:
			return "config.control", i + 1
		case r != ' ':
			indent = false
		}
		i += n
	}
	return "", 0
}

// isBidi reports whether r changes the direction of text, so that a file would look different from its content.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0xfeff
}

// decodeYAML reads the one document as nodes. second is the line where another document starts, 0 if there is none.
func decodeYAML(data []byte) (root *yaml.Node, second int, err error) {
	defer func() {
		// The parser is not ours; whatever it does on hostile input is a syntax error of the file.
		if r := recover(); r != nil {
			root, second, err = nil, 0, fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
		return &doc, 0, nil
	case err != nil:
		return nil, 0, err
	}
	return &doc, max(1, more.Line), nil
}

// shape refuses what the format has no use for and hostile files have: aliases, anchors, tags, and nesting without end.
func (l *loader) shape(n *yaml.Node, depth int) {
	at := position{n.Line, n.Column}
	switch {
	case depth > maxDepth:
		l.errAt(at, "", "config.depth", "max", strconv.Itoa(maxDepth))
		return
	case n.Kind == yaml.AliasNode, n.Anchor != "":
		l.errAt(at, "", "config.alias")
		return
	case n.Style&yaml.TaggedStyle != 0:
		l.errAt(at, "", "config.tag")
		return
	}
	for _, sub := range n.Content {
		l.shape(sub, depth+1)
	}
}

// isNull reports whether the node is empty: nothing, ~ or null.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
