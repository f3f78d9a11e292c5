// Package schema writes JSON Schemas (draft 2020-12) of the YAML files that people write, for their editors. It knows
// nothing of what is in the files: the tables of the formats do, and may import it.
package schema

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// Dialect of the schemas.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Document is a schema of a file.
type Document struct {
	ID    string
	Title string
	Root  *Value
	Defs  []Property // that values refer to, by name
}

// Property of a map.
type Property struct {
	Name        string
	Description string // may have code and links as Markdown has them; the schema has it in plain text
	Default     string
	Deprecated  bool
	Required    bool
	Value       *Value
}

// Value is what may stand somewhere. What is zero says nothing.
type Value struct {
	Types   []string
	Pattern string // of a string
	Enum    []string
	Low     *int // of a number
	High    *int

	Items *Value // of a list
	Least int
	Most  int

	Object bool       // a map with these keys and no others, but for
	Keys   []Property // those that are known,
	Like   []Like     // those that match a pattern,
	Others *Value     // and any others

	Any []*Value // it is one of these
	Def string   // it is the one of that name among the document's
}

// Like are keys of a map that match a pattern.
type Like struct {
	Pattern string
	Value   *Value
}

// JSON is the schema as text, its keys in the order of the tables.
func (d Document) JSON() []byte {
	var o object
	o.add("$schema", Dialect)
	o.add("$id", d.ID)
	o.add("title", d.Title)
	d.Root.into(&o)
	if len(d.Defs) > 0 {
		o.add("$defs", properties(d.Defs))
	}
	var out bytes.Buffer
	raw, err := o.MarshalJSON()
	if err == nil {
		err = json.Indent(&out, raw, "", "  ")
	}
	if err != nil {
		panic(err) // not possible: strings, numbers and maps of them
	}
	out.WriteByte('\n')
	return out.Bytes()
}

func (v *Value) into(o *object) {
	if v.Def != "" {
		o.add("$ref", "#/$defs/"+v.Def)
		return
	}
	switch len(v.Types) {
	case 0:
	case 1:
		o.add("type", v.Types[0])
	default:
		o.add("type", v.Types)
	}
	if v.Pattern != "" {
		o.add("pattern", v.Pattern)
	}
	if len(v.Enum) > 0 {
		o.add("enum", v.Enum)
	}
	for _, n := range []struct {
		word string
		is   *int
	}{{"minimum", v.Low}, {"maximum", v.High}} {
		if n.is != nil {
			o.add(n.word, *n.is)
		}
	}
	v.lists(o)
	v.keys(o)
	if len(v.Any) > 0 {
		var any []object
		for _, one := range v.Any {
			var x object
			one.into(&x)
			any = append(any, x)
		}
		o.add("anyOf", any)
	}
}

func (v *Value) lists(o *object) {
	if v.Items != nil {
		var x object
		v.Items.into(&x)
		o.add("items", x)
	}
	if v.Least > 0 {
		o.add("minItems", v.Least)
	}
	if v.Most > 0 {
		o.add("maxItems", v.Most)
	}
}

func (v *Value) keys(o *object) {
	if !v.Object {
		return
	}
	if len(v.Keys) > 0 {
		o.add("properties", properties(v.Keys))
	}
	if len(v.Like) > 0 {
		var like object
		for _, l := range v.Like {
			var x object
			l.Value.into(&x)
			like.add(l.Pattern, x)
		}
		o.add("patternProperties", like)
	}
	var required []string
	for _, p := range v.Keys {
		if p.Required {
			required = append(required, p.Name)
		}
	}
	if len(required) > 0 {
		o.add("required", required)
	}
	if v.Others == nil {
		o.add("additionalProperties", false)
		return
	}
	var x object
	v.Others.into(&x)
	o.add("additionalProperties", x)
}

func properties(list []Property) object {
	var out object
	for _, p := range list {
		var x object
		if p.Description != "" {
			x.add("description", plain(p.Description))
		}
		if p.Default != "" {
			x.add("default", p.Default)
		}
		if p.Deprecated {
			x.add("deprecated", true)
		}
		p.Value.into(&x)
		out.add(p.Name, x)
	}
	return out
}

// plain is Markdown's code and links as plain text: editors show a description as it is written.
func plain(text string) string {
	marked := regexp.MustCompile("`([^`]*)`" + `|\[([^\]]*)\]\((?:[^()]|\([^()]*\))*\)`)
	return marked.ReplaceAllString(text, "$1$2")
}

// object is a JSON object that keeps the order of its keys.
type object []pair

type pair struct {
	key   string
	value any
}

func (o *object) add(key string, value any) { *o = append(*o, pair{key, value}) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, x := range []any{p.key, p.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(x); err != nil {
				return nil, err
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
