package page

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// field is something that can be filled in: what it is called, and what was typed and is wrong with it.
type field struct {
	Name, Label, Hint, Default, Kind string
	Choices                          []choice
	Value, Wrong                     string
	List                             string // the ID of what it may be completed with
	Rows                             int
	Required, Secret, Later          bool
}

type choice struct{ Value, Word string }

// sheet is a form as it is drawn. Without the script of the page, it is drawn again with what was typed, but for
// secrets, and with all that is wrong.
type sheet struct {
	p      *i18n.Printer
	values url.Values // nil: nothing was typed
	before url.Values // what stands there before
	more   string     // the kind of group of which there is to be one more
	Wrong  []wrong
	Count  string
	Notes  []string
	OK     bool
	ETag   string
	Table  template.HTML // made by templates of the page
	Answer template.HTML
}

// Value is what was typed, or what stands there before.
func (s sheet) Value(name, before string) string {
	if s.values == nil {
		return cmp.Or(s.before.Get(name), before)
	}
	return s.values.Get(name)
}

// Has says whether a value was chosen among others.
func (s sheet) Has(name, value string) bool { return slices.Contains(s.values[name], value) }

// at is what is wrong with a field.
func (s sheet) at(name string) string {
	var out []string
	for _, w := range s.Wrong {
		if w.Field == name {
			out = append(out, strings.TrimSpace(w.Text+" "+w.Next))
		}
	}
	return strings.Join(out, " ")
}

// Open says whether something was typed into fields whose names begin so, or is wrong with them.
func (s sheet) Open(prefix string) bool {
	for name := range s.values {
		if strings.HasPrefix(name, prefix) && s.values.Get(name) != "" {
			return true
		}
	}
	return s.more != "" && strings.HasPrefix(prefix, s.more) || slices.ContainsFunc(s.Wrong, func(w wrong) bool {
		return strings.HasPrefix(w.Field, prefix)
	})
}

// Given says whether passwords of nodes were typed.
func (s sheet) Given() bool { return s.Open("secret:") || s.Open("login:") }

// filled is a field with what was typed into it.
func (s sheet) filled(f field) field {
	f.Value, f.Wrong = s.Value(f.Name, f.Value), s.at(f.Name)
	if f.Secret {
		f.Value = ""
	}
	return f
}

// Own is one of the fields of the settings, filled.
func (s sheet) Own(f field) field { return s.filled(f) }

// In is a field: its name, the sentences that are its label and its hint ("" has none; a label without a sentence is
// one itself), and what else holds for it.
func (s sheet) In(name, label, hint string, more ...string) field {
	f := field{Name: name, Label: worded(s.p, "", label), Hint: worded(s.p, "", hint), Kind: "text"}
	for i, m := range more {
		switch key, value, _ := strings.Cut(m, "="); key {
		case "required":
			f.Required = true
		case "password":
			f.Kind, f.Secret = "password", true
		case "secret":
			f.Secret = true
		case "port":
			f.Kind = "port"
		case "later":
			f.Later = true
		case "rows":
			f.Kind = "block"
			f.Rows, _ = strconv.Atoi(value)
		case "example":
			f.Default = value
		case "value":
			f.Value = value
		case "list":
			f.List = value
		case "one":
			f.Choices = append(f.Choices, choice{value, worded(s.p, "", more[i+1])})
		}
	}
	return s.filled(f)
}

// Groups are the numbers of groups of fields of a kind, from 0: as many as were sent, one more where that is asked for.
func (s sheet) Groups(kind string) []int {
	n := max(1, groups(s.values, kind))
	if s.more == kind {
		n++
	}
	out := make([]int, min(n, mostGroups))
	for i := range out {
		out[i] = i
	}
	return out
}

// mostGroups is how many groups of a kind a form has at most, as a request may have registries.
const mostGroups = 64

// groups is how many groups of fields of a kind a form has: kind:0:…, kind:1:….
func groups(q url.Values, kind string) int {
	n := 0
	for name := range q {
		words := strings.SplitN(name, ":", 3)
		if len(words) != 3 || words[0] != kind {
			continue
		}
		if i, err := strconv.Atoi(words[1]); err == nil && i >= 0 && i < mostGroups {
			n = max(n, i+1)
		}
	}
	return n
}

// groupField is the name of a field of a group.
func groupField(kind string, i int, name string) string {
	return kind + ":" + strconv.Itoa(i) + ":" + name
}
