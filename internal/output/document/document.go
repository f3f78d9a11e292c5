// Package document holds what there is to say as values: tables, lines, and what they mean. A command prints a
// document as text, a screen draws it, the line interface speaks it, and none of them has to guess what a line is. It
// may import event.
package document

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Emphasis tells a front end how to render a text.
type Emphasis string

// The kinds of emphasis. A text has none unless it says so.
const (
	Head  Emphasis = "head"  // names a column
	Title Emphasis = "title" // names what stands below it
	Name  Emphasis = "name"  // names what its row is about
	Good  Emphasis = "good"
	Bad   Emphasis = "bad"
)

// Cell is a text with what it means.
type Cell struct {
	Text     string
	Emphasis Emphasis
}

// Document is what there is to say, from top to bottom.
type Document []Section

// Section is a table or some lines, below a title if it has one.
type Section struct {
	Depth int    // how deep it stands below what is said before
	Title string // "": none. What follows stands below it
	Head  []string
	Rows  [][]Cell // all of the same length, that of Head if there is one
	Lines []Cell
}

// Line is one line of a document as it is shown.
type Line struct {
	Cells []Cell // with the blanks between them
	Under int    // where the rest of a line that is too long begins, in cells
}

// Text is a section with lines that mean nothing else.
func Text(lines ...string) Section {
	var s Section
	for _, l := range lines {
		s.Lines = append(s.Lines, Cell{Text: l})
	}
	return s
}

// Lines are those of all sections. What came from elsewhere is clean in them.
func (d Document) Lines() []Line {
	var out []Line
	for _, s := range d {
		depth := s.Depth
		if s.Title != "" {
			out = append(out, indented(depth, Cell{s.Title, Title}))
			depth++
		}
		out = append(out, s.table(depth)...)
		for _, l := range s.Lines {
			out = append(out, indented(depth, l))
		}
	}
	return out
}

func indented(depth int, c Cell) Line {
	c.Text = event.Clean(c.Text)
	if depth == 0 || c.Text == "" {
		return Line{Cells: []Cell{c}}
	}
	return Line{Cells: []Cell{{Text: blanks(2 * depth)}, c}, Under: 2 * depth}
}

// table pads the cells of all rows to equal widths.
func (s Section) table(depth int) []Line {
	rows := s.Rows
	if len(s.Head) > 0 {
		var head []Cell
		for _, h := range s.Head {
			head = append(head, Cell{h, Head})
		}
		rows = append([][]Cell{head}, rows...)
	}
	var widths []int
	clean := make([][]Cell, len(rows))
	for n, row := range rows {
		for i, c := range row {
			c.Text = event.Clean(c.Text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c.Text))
			clean[n] = append(clean[n], c)
		}
	}
	var out []Line
	for _, row := range clean {
		out = append(out, laidOut(row, widths, depth))
	}
	return out
}

func laidOut(row []Cell, widths []int, depth int) Line {
	for len(row) > 0 && row[len(row)-1].Text == "" { // no line ends with blanks
		row = row[:len(row)-1]
	}
	var l Line
	at, next := 0, 2*depth // where the line ends, and where the next cell begins
	for i, c := range row {
		if next > at {
			l.Cells = append(l.Cells, Cell{Text: blanks(next - at)})
		}
		l.Cells, l.Under = append(l.Cells, c), next
		at = next + Width(c.Text)
		next += widths[i] + 2
	}
	return l
}

// Text is the line without what it means.
func (l Line) Text() string {
	var b strings.Builder
	for _, c := range l.Cells {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Text is the document as it is printed, with the end of its last line.
func (d Document) Text() string {
	var b strings.Builder
	for _, l := range d.Lines() {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// Columns pads the cells of rows to equal widths.
func Columns(rows [][]string) []string {
	var s Section
	for _, row := range rows {
		var cells []Cell
		for _, text := range row {
			cells = append(cells, Cell{Text: text})
		}
		s.Rows = append(s.Rows, cells)
	}
	var out []string
	for _, l := range (Document{s}).Lines() {
		out = append(out, l.Text())
	}
	return out
}

// Width is how many cells a text takes: a Chinese character takes two.
func Width(s string) int { return ansi.StringWidth(s) }

func blanks(n int) string { return strings.Repeat(" ", n) }
