package diff

import "strings"

// The fields of a row besides the names of properties.
const (
	FieldVersion = "version"
	FieldContent = "content" // same version, other content: From and To are the first twelve digits of the sums
)

// Row of a table: one thing that moved. The words, kinds and fields are keys of internal/output/i18n: diff.word.…,
// diff.kind.…, diff.field.…; fields that are not there are shown as they are.
type Row struct {
	Word  Word
	Kind  Kind // "" for a property of the whole
	Name  string
	Field string // what moved; "" for things added and removed
	From  string
	To    string
	Bytes int64 // how much larger it became; 0 where the row says nothing of its content
	// New are the bytes of the layers that the image did not have before, -1 when not known or when it is no image that
	// moved.
	New int64
}

// Rows lists all differences in their order: properties of the whole, then things by kind and name. A thing of which
// several properties moved has a row for each.
func (d *Difference) Rows() []Row {
	var out []Row
	for _, m := range d.Properties {
		out = append(out, Row{Word: Changed, Field: m.Name, From: m.From, To: m.To, New: -1})
	}
	for _, c := range d.Changes {
		out = append(out, c.rows()...)
	}
	return out
}

func (c Change) rows() []Row {
	r := Row{Word: c.Word, Kind: c.Kind, Name: c.Name, New: -1}
	switch {
	case c.From == nil:
		r.To, r.Bytes = c.To.label(), c.To.Size
		return []Row{r}
	case c.To == nil:
		r.From, r.Bytes = c.From.label(), -c.From.Size
		return []Row{r}
	}
	var out []Row
	if c.From.Version != c.To.Version || c.From.Sum != c.To.Sum {
		r.Field, r.From, r.To = FieldVersion, c.From.Version, c.To.Version
		if r.From == r.To {
			r.Field, r.From, r.To = FieldContent, short(c.From.Sum), short(c.To.Sum)
		}
		r.Bytes = c.To.Size - c.From.Size
		if c.Layers != nil {
			r.New = c.Layers.NewBytes
		}
		out = append(out, r)
	}
	for _, m := range c.More {
		out = append(out, Row{Word: Changed, Kind: c.Kind, Name: c.Name, Field: m.Name, From: m.From, To: m.To,
			New: -1})
	}
	return out
}

// label is what a thing on one side is known by.
func (s *State) label() string {
	if s.Version != "" {
		return s.Version
	}
	return short(s.Sum)
}

func short(sum string) string {
	sum = strings.TrimPrefix(sum, "sha256:")
	return sum[:min(len(sum), 12)]
}
