package config

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// compiled is the schema, as an editor has it.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(i18n.NewPrinter(i18n.English))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7) // the schema says itself which one it is
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Fatalf("draft %d", s.DraftVersion)
	}
	return s
}

// Sentences of the documents have links and code in them, which an editor would show as they are written.
func TestTheSchemasDescriptionsArePlainText(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		text := Schema(i18n.NewPrinter(lang))
		for line := range strings.Lines(string(text)) {
			said := strings.Contains(line, `"description"`)
			if said && (strings.Contains(line, "](") || strings.Contains(line, "`")) {
				t.Errorf("%s: %s", lang, strings.TrimSpace(line))
			}
		}
	}
}

// inJSON returns the YAML as an editor sees it.
func inJSON(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = inJSON(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, x := range n.Content {
			out = append(out, inJSON(x))
		}
		return out
	}
	var v any
	switch n.Tag {
	case "!!int", "!!float", "!!bool":
		if n.Decode(&v) != nil {
			return n.Value
		}
	case "!!null":
	default:
		return n.Value
	}
	raw, err := json.Marshal(v)
	if err != nil { // .inf
		return n.Value
	}
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		return n.Value
	}
	return v
}

// validated validates a text, which has to be YAML, with the schema.
func validated(s *jsonschema.Schema, text string) (wrong error, isYAML bool) {
	data, _, _ := slashComments([]byte(text))
	doc, _, err := decodeYAML(data)
	if err != nil || doc == nil || len(doc.Content) != 1 {
		return nil, false
	}
	return s.Validate(inJSON(doc.Content[0])), true
}

// examples are all texts that stand in the tests of this package, by themselves and below the minimal file; those with
// a place for a value have the hostile ones there.
func examples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		p, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(p, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING || !strings.Contains(l.Value, ":") {
				return true
			}
			s, _ := strconv.Unquote(l.Value)
			if !strings.Contains(s, "%s") {
				out = append(out, s, minimal+s)
				return true
			}
			for _, v := range append(slices.Clone(hostile), "1", "true", "192.168.0.9", "") {
				if len(v) < 1000 {
					out = append(out, minimal+strings.Replace(s, "%s", yamlString(v), 1))
				}
			}
			return true
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// What loads is right by the schema: both layouts, the manual's file, the template, and every valid example of the
// tests.
func TestTheSchemaTakesWhatLoads(t *testing.T) {
	s := compiled(t)
	texts := append(examples(t), newLayout, strings.Replace(manual(t), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1))
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		texts = append(texts, string(Template(TemplateOptions{LoadBalancer: "10.0.0.9", PrivateKey: "~/k"},
			i18n.NewPrinter(lang))))
	}
	n := 0
	for _, text := range texts {
		c, _ := Load([]byte(text), "f")
		if c == nil {
			continue
		}
		n++
		if err, _ := validated(s, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if n < 200 {
		t.Fatalf("%d valid examples: the search is broken", n)
	}
}

// What is no choice, no number or no key for the loader is none for the schema.
func TestTheSchemaRefusesWhatIsNoKeyAndNoChoice(t *testing.T) {
	s := compiled(t)
	codes := []string{
		"config.choice", "config.integer", "config.unknown-key", "config.misspelt-key", "config.boolean",
		"config.want-list", "config.want-map",
	}
	n := 0
	for _, text := range examples(t) {
		_, ps := Load([]byte(text), "f")
		for _, p := range ps {
			if !slices.Contains(codes, p.Code) {
				continue
			}
			n++
			octal := strings.Contains(text, "replicas: 02") // YAML takes it for 2 before any schema sees it
			if err, is := validated(s, text); is && err == nil && !octal {
				t.Errorf("the schema takes it, the loader says %s %s:\n%s", p.Code, p.Key, text)
			}
			break
		}
	}
	if n < 300 {
		t.Fatalf("%d refused examples: the search is broken", n)
	}
}
