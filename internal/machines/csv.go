package machines

import (
	"encoding/csv"
	"slices"
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
	for i, text := range lines[at+1:] {
		text = strings.Trim(text, " \r") // a tab is an empty cell
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		// a row by itself: a quote that is not closed takes no other row along
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
		cells, err := r.Read()
		if err != nil || len(cells) == 1 && len(columns) > 1 { // a line of words among those of the table
			l := readLine(strings.ReplaceAll(narrow(text), `"`, ""))
			l.at = at + i + 2
			out.take(l, true)
			continue
		}
		l := &line{at: at + i + 2}
		for k, c := range cells {
			if k < len(columns) && columns[k] != "" {
				l.set(columns[k], cell(c), cell(c))
			}
		}
		out.add(l)
	}
	return out
}

// add settles a machine of which each value was named.
func (l *List) add(m *line) {
	m.text = m.normal()
	l.take(m, true)
}

// normal is the machine as a line of words.
func (l *line) normal() string {
	said := slices.Clone(l.said)
	if len(l.e.Roles) > 0 && !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "role=") }) {
		var roles []string
		for _, r := range l.e.Roles {
			roles = append(roles, string(r))
		}
		said = append(said, "role="+strings.Join(roles, ","))
	}
	return strings.Join(said, " ")
}
