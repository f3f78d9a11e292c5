package config

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/bundle/schema"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// SchemaName is the file of the JSON Schema that lies beside a deploy.yaml.
const SchemaName = "deploy.schema.json"

// schemaID names our schema, wherever it lies.
const schemaID = "https://github.com/eggo-k8s/eggo/deploy.schema.json"

// Modeline names the schema to editors.
const Modeline = "# yaml-language-server: $schema=" + SchemaName + "\n"

// IsSchema reports whether a file is a schema that a program of ours wrote.
func IsSchema(data []byte) bool { return bytes.Contains(data, []byte(schemaID)) }

// WithoutModeline is a deploy.yaml without the line that names its schema to editors.
func WithoutModeline(data []byte) []byte { return bytes.TrimPrefix(data, []byte(Modeline)) }

// Schema is the JSON Schema of deploy.yaml. Whatever loads is right by it; it says what each key may be, not what the
// values mean to each other. Where the loader takes a text as it stands, the schema takes what YAML makes of it: 007 is
// a number there.
func Schema(p *i18n.Printer) []byte { return theTable().schema(p) }

func (t *table) schema(p *i18n.Printer) []byte {
	d := schema.Document{ID: schemaID, Title: "deploy.yaml", Root: t.object(p, "")}
	seen := map[string]bool{}
	for _, k := range t.keys {
		if shape := k.above(); strings.HasPrefix(shape, "<") && !seen[shape] {
			seen[shape] = true
			d.Defs = append(d.Defs, schema.Property{Name: shapeName(shape), Value: t.object(p, shape)})
		}
	}
	return d.JSON()
}

func shapeName(shape string) string { return strings.Trim(shape, "<>") }

// object is a map with the keys below a path.
func (t *table) object(p *i18n.Printer, path string) *schema.Value {
	out := &schema.Value{Types: orNothing("object"), Object: true}
	if path == "" {
		out.Types = []string{"object"}
	}
	for _, k := range t.below[path] {
		one := schema.Property{Name: k.name(), Default: k.Default, Required: k.Needed, Value: t.value(p, k)}
		if said := "key." + k.words(); p != nil && p.Has(said) {
			one.Description = p.T(said)
		}
		out.Keys = append(out.Keys, one)
		one.Required = false
		for _, other := range k.Also {
			one.Name = other
			out.Keys = append(out.Keys, one)
		}
		for _, other := range k.Alias {
			one.Name, one.Deprecated = other, true
			out.Keys = append(out.Keys, one)
		}
	}
	return out
}

// value returns the schema of the value of a key.
func (t *table) value(p *i18n.Printer, k Key) *schema.Value {
	switch {
	case k.form != "":
		return k.special()
	case len(t.below[k.Path]) > 0:
		return t.object(p, k.Path)
	}
	switch k.Kind {
	case List, Block, Machines:
		items := scalar(k.rule.expr)
		switch {
		case k.Of == string(Address):
			items = scalar(addressExpr)
		case k.Of != "":
			items = &schema.Value{Def: shapeName(k.Of)}
		}
		out := &schema.Value{Types: orNothing("array"), Items: items}
		if k.Needed {
			out.Least = 1
		}
		return out
	}
	return k.scalar()
}

// What an address, a network and a duration look like.
const (
	addressExpr  = `[0-9A-Fa-f:.]+`
	networkExpr  = `[0-9A-Fa-f:.]+/[0-9]+`
	durationExpr = `\+?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+`
)

// scalar is a value that is no list and no map.
func (k Key) scalar() *schema.Value {
	switch k.Kind {
	case Number:
		return &schema.Value{Any: []*schema.Value{
			{Types: orNothing("integer"), Low: &k.Low, High: &k.High},
			{Types: []string{"string"}, Pattern: whole(`[1-9][0-9]*`)},
		}}
	case YesNo:
		return &schema.Value{Any: []*schema.Value{
			{Types: orNothing("boolean")},
			{Types: []string{"string"}, Pattern: whole(anyCase("true", "yes", "on", "false", "no", "off"))},
		}}
	case Choice:
		words := append(slices.Clone(k.Choices), slices.Sorted(maps.Keys(k.Words))...)
		return &schema.Value{Any: []*schema.Value{
			{Enum: k.Choices},
			{Types: orNothing("string"), Pattern: whole(anyCase(words...))},
		}}
	case Address:
		return scalar(addressExpr)
	case Network:
		return scalar(networkExpr)
	case Duration:
		return scalar(durationExpr)
	}
	return scalar(k.rule.expr)
}

// scalar is text. YAML may take it for something else: what the pattern is about is text alone.
func scalar(expr string) *schema.Value {
	out := &schema.Value{Types: orNothing("string", "number", "boolean")}
	if expr != "" {
		out.Pattern = whole(expr)
	}
	return out
}

// whole is an expression for the whole of a text; nothing at all counts as absent.
func whole(expr string) string { return `^(?:` + expr + `)?$` }

// orNothing are types, or nothing after the key, which counts as absent.
func orNothing(types ...string) []string { return append(types, "null") }

// anyCase is an expression for words in any case.
func anyCase(words ...string) string {
	var out []string
	for _, w := range words {
		var b strings.Builder
		for _, r := range w {
			switch up := unicode.ToUpper(r); {
			case up != r:
				b.WriteString("[" + string(r) + string(up) + "]")
			case r == '.' || r == '+':
				b.WriteString(`\` + string(r))
			default:
				b.WriteRune(r)
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "|")
}

// special is the value of a key with a form of its own.
func (k Key) special() *schema.Value {
	shape := &schema.Value{Def: shapeName(k.Of)}
	switch k.form {
	case oneOrList:
		many := list(shape)
		many.Most = 1
		return &schema.Value{Any: []*schema.Value{shape, many}}
	case hops:
		text := &schema.Value{Types: orNothing("string")}
		return &schema.Value{Any: []*schema.Value{text, shape, list(&schema.Value{Any: []*schema.Value{text, shape}})}}
	case byName:
		return mapOf(shape)
	case labelValues:
		return mapOf(scalar(ruleLabelValue.expr))
	case flagValues:
		return &schema.Value{Any: []*schema.Value{mapOf(scalar("")), list(scalar(""))}}
	case byArch:
	}
	words := append(slices.Clone(arches), slices.Sorted(maps.Keys(archAliases))...)
	return &schema.Value{Types: orNothing("object"), Object: true, Like: []schema.Like{
		{Pattern: `^(?:` + anyCase(words...) + `)$`, Value: scalar("")},
	}}
}

func list(of *schema.Value) *schema.Value { return &schema.Value{Types: []string{"array"}, Items: of} }

// mapOf is a map with any names.
func mapOf(of *schema.Value) *schema.Value {
	return &schema.Value{Types: orNothing("object"), Object: true, Others: of}
}
