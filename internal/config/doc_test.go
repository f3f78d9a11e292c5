package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

var update = flag.Bool("update", false, "write the tables of the document again")

// documents are the page in each language.
var documents = map[i18n.Lang]string{
	i18n.English: "../../docs/deploy-yaml.md",
	i18n.Chinese: "../../docs/zh/deploy-yaml.md",
}

// The tables of the documents are made from the table: go test ./internal/config -run TablesOfTheDocument -update
func TestTablesOfTheDocument(t *testing.T) {
	for lang, file := range documents {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := i18n.NewPrinter(lang)
		want := Document(string(doc), p)
		for _, k := range Keys() {
			words := "key." + k.words()
			if k.Kind != Map && !p.Has(words) {
				t.Errorf("%s: nothing says what %s means: %s", p.Lang(), k.Path, words)
			}
			if said := p.T(words); k.Kind != Map && !strings.Contains(want, said) {
				t.Errorf("%s: no table explains %s", file, k.Path)
			}
		}
		if lang == i18n.Chinese {
			want = strings.ReplaceAll(want, "](decisions/", "](../decisions/") // the page is one directory further down
		}
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want != string(doc) {
			t.Errorf("%s has other tables than the keys: run this test with -update", file)
		}
	}
}

// Every key that the program knows is explained.
func TestDocumentNamesEveryKey(t *testing.T) {
	var keys []string
	for _, k := range Keys() {
		keys = append(append(append(keys, k.name()), k.Also...), k.Alias...)
	}
	keys = append(keys, components...)
	keys = append(keys, allTypes...)
	keys = append(keys, schedules...)
	keys = append(keys, networkPlugins...)
	keys = append(keys, nodepath.Dirs(nodepath.Listed)...)
	for _, file := range documents {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if !strings.Contains(string(doc), key) {
				t.Errorf("%s does not name %s", file, key)
			}
		}
	}
}
