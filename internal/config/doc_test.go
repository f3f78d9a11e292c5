package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/nodepath"
)

var update = flag.Bool("update", false, "write the tables of the document again")

const document = "../../docs/deploy-yaml.md"

// The tables of the document are made from the table: go test ./internal/config -run TablesOfTheDocument -update
func TestTablesOfTheDocument(t *testing.T) {
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	p := i18n.NewPrinter(i18n.English)
	want := Document(string(doc), p)
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(doc) {
		t.Error("docs/deploy-yaml.md has other tables than the keys: run this test with -update")
	}
	for _, k := range Keys() {
		for _, in := range []*i18n.Printer{p, i18n.NewPrinter(i18n.Chinese)} {
			if k.Kind != Map && !in.Has("key."+k.words()) {
				t.Errorf("%s: nothing says what %s means: key.%s", in.Lang(), k.Path, k.words())
			}
		}
		if said := p.T("key." + k.words()); k.Kind != Map && !strings.Contains(want, said) {
			t.Errorf("no table explains %s", k.Path)
		}
	}
}

// Every key that the program knows is explained.
func TestDocumentNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range Keys() {
		keys = append(append(append(keys, k.name()), k.Also...), k.Alias...)
	}
	keys = append(keys, components...)
	keys = append(keys, allTypes...)
	keys = append(keys, schedules...)
	keys = append(keys, networkPlugins...)
	keys = append(keys, nodepath.Dirs(nodepath.Listed)...)
	for _, key := range keys {
		if !strings.Contains(string(doc), key) {
			t.Errorf("docs/deploy-yaml.md does not name %s", key)
		}
	}
}
