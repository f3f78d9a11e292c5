package machines

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// csvHeader finds the line that names the columns of a table, and what stands between its cells. at is -1 if the text
// is no table.
func csvHeader(lines []string) (at int, comma rune) {
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		for _, comma := range ",;\t|" {
			cells := strings.Split(l, string(comma))
			host := false
			for _, c := range cells {
				host = host || columnOf(cell(c)) == "host"
			}
			if len(cells) > 1 && host {
				return i, comma
			}
		}
		return -1, 0
	}
	return -1, 0
}

func cell(s string) string { return strings.Trim(narrow(s), `"`) }

// readCSV reads a table whose first line names its columns. Columns with names that nobody knows are not looked at.
func readCSV(lines []string, at int, comma rune) List {
	out := List{Format: CSV}
	var columns []string
	for c := range strings.SplitSeq(lines[at], string(comma)) {
		columns = append(columns, columnOf(cell(c)))
	}
	r := csv.NewReader(strings.NewReader(strings.Join(lines[at+1:], "\n")))
	r.Comma, r.Comment, r.LazyQuotes, r.FieldsPerRecord, r.TrimLeadingSpace = comma, '#', true, -1, true
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			out.Rejected = append(out.Rejected, Rejected{at + 1, lines[at],
				*because("machines.csv", "why", err.Error())})
			return out
		}
		n, _ := r.FieldPos(0)
		text := lines[at+n]
		l := &line{at: at + 1 + n, text: strings.TrimSpace(text), e: Entry{Text: strings.TrimSpace(text)}}
		if len(cells) == 1 && len(columns) > 1 { // a line of words among those of the table
			l = readLine(narrow(text))
			l.at = at + 1 + n
			cells = nil
		}
		for i, c := range cells {
			if i < len(columns) && columns[i] != "" && l.why == nil {
				l.set(columns[i], narrow(c), narrow(c))
			}
		}
		out.add(l)
	}
}

// add settles a machine of which each value was named.
func (out *List) add(l *line) {
	l.end(true)
	if l.secret {
		out.Secrets++
	}
	if l.why != nil {
		out.Rejected = append(out.Rejected, Rejected{l.at, l.text, *l.why})
		return
	}
	out.Entries = append(out.Entries, l.entries()...)
}
