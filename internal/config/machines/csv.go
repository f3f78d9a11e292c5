package machines

import (
	"cmp"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// csvHeader finds the line that names the columns of a table, and what stands between its cells: the first, or the
// first behind a title. at is -1 if the text is no table.
func csvHeader(lines []string) (at int, comma rune) {
	tried := 0
	for i, l := range lines {
		if l = narrow(l); isEmpty(l) {
			continue
		}
		for _, comma := range ",;\t|" {
			cells := strings.Split(l, string(comma))
			host := false
			for _, c := range cells {
				column := columnOf(cell(c))
				host = host || column == "host" || column == "internal"
			}
			if len(cells) > 1 && host {
				return i, comma
			}
		}
		if tried++; tried > titleMost || slices.ContainsFunc(words(l, separators), isAddress) {
			break
		}
	}
	return -1, 0
}

// titleMost is how many rows a title may have.
const titleMost = 5

func cell(s string) string {
	switch s = strings.Trim(narrow(s), `"`); strings.ToLower(s) {
	case "-", "--", "/", "n/a", "<none>", "无":
		return ""
	}
	return s
}

// readCSV reads a table whose line at names its columns. Columns with other names are ignored.
func readCSV(lines []string, at int, comma rune) List {
	out := List{Format: CSV}
	var columns []string
	for c := range strings.SplitSeq(lines[at], string(comma)) {
		columns = append(columns, columnOf(cell(c)))
	}
	var m merged
	for i, text := range lines[at+1:] {
		text = strings.Trim(text, " \r") // a tab is an empty cell
		if isEmpty(narrow(text)) || text == strings.Trim(lines[at], " \r") {
			continue
		}
		// a row by itself: a quote that is not closed takes no other row along
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
		cells, err := r.Read()
		if err != nil || len(cells) == 1 && len(columns) > 1 { // a line of words among those of the table
			l := readLine(strings.ReplaceAll(withoutBullet(narrow(text)), `"`, ""))
			l.at = at + i + 2
			out.take(l, true)
			continue
		}
		l := rowOf(columns, cells)
		l.at = at + i + 2
		m.saw(columns, cells, l)
		out.add(l)
	}
	if m.roles > 0 {
		out.Notes = append(out.Notes, event.M("machines.merged-roles", "count", strconv.Itoa(m.roles)))
	}
	return out
}

// rowOf reads the cells of a row: an address from outside before one from inside, and of several names the first that
// a host can have.
func rowOf(columns, cells []string) *line {
	l := &line{}
	name := nameOf(columns, cells)
	l.set("name", name, name)
	for _, internal := range []bool{false, true} {
		for k, c := range cells {
			if k >= len(columns) || (columns[k] == "internal") != internal {
				continue
			}
			switch value := cell(c); columns[k] {
			case "", "number", "name":
			default:
				l.set(columns[k], value, value)
			}
		}
	}
	return l
}

// nameOf is the first name of a row that a host can have, else the first.
func nameOf(columns, cells []string) (name string) {
	for k, c := range cells {
		value := cell(c)
		if k >= len(columns) || columns[k] != "name" || value == "" {
			continue
		}
		if _, bad := namesIn(value); bad == nil {
			return value
		}
		name = cmp.Or(name, value)
	}
	return name
}

// merged finds the traces of cells that were one in a spreadsheet: only the first of their rows has the value.
type merged struct {
	role, rows bool // an earlier row had a role, an address
	roles      int  // rows without a role below one that has it
}

func (m *merged) saw(columns, cells []string, l *line) {
	for k, column := range columns {
		if column == "role" && k < len(cells) {
			if cell(cells[k]) != "" {
				m.role = true
			} else if m.role {
				m.roles++
			}
		}
	}
	if found := l.ips != nil || l.hosts != nil || l.names != nil; found {
		m.rows = true
	} else if m.rows && l.why == nil {
		l.why = because("machines.merged-address")
	}
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
