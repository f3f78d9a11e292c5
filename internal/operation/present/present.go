// Package present turns results of operations into what people and programs read: documents in a language, which
// commands print and screens draw, and the lines of --output json, whose fields keep their names. Whatever shows
// results of operations uses it, at a terminal or behind a server. It knows no files, no flags and no terminal; it may
// import operation and what that gives as results.
package present

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Lines writes JSON objects, one a line, the first with the version. Put does nothing after an error.
type Lines struct {
	enc *json.Encoder
	Err error
}

// version begins the lines.
type version struct {
	Type    string `json:"type"` // version
	Schema  int    `json:"schema"`
	Version string `json:"version"`
}

// NewLines begins lines of a version of this program.
func NewLines(w io.Writer, program string) *Lines {
	l := &Lines{enc: json.NewEncoder(w)}
	l.enc.SetEscapeHTML(false)
	l.Put(version{"version", 1, program})
	return l
}

// Put writes a line.
func (l *Lines) Put(v any) {
	if l.Err == nil {
		l.Err = l.enc.Encode(v)
	}
}

// cells are those of a row whose first names what it is about.
func cells(name string, more ...string) []document.Cell {
	out := []document.Cell{{Text: name, Emphasis: document.Name}}
	for _, m := range more {
		out = append(out, document.Cell{Text: m})
	}
	return out
}

// columns are the heads of columns by their keys.
func columns(p *i18n.Printer, names ...string) []string {
	var out []string
	for _, n := range names {
		if key := "col." + n; n != "" && p.Has(key) {
			n = p.T(key)
		}
		out = append(out, n)
	}
	return out
}

// jumpHost is a node's name, or what the host is called that has none.
func jumpHost(p *i18n.Printer, node string) string {
	return cmp.Or(event.Clean(node), p.T("report.jump-host"))
}

// roles are those of a node, as text.
func roles(n config.Node) string {
	var out []string
	for _, r := range n.Roles {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}

// Nodes are listed by name, address and roles.
func Nodes(nodes []config.Node) document.Document {
	s := document.Section{Depth: 1}
	for _, n := range nodes {
		s.Lines = append(s.Lines, document.Cell{Text: node(n)})
	}
	return document.Document{s}
}

func node(n config.Node) string { return n.Name + "  " + n.IP.String() + "  " + roles(n) }
