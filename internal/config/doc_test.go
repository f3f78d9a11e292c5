package config

import (
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/nodepath"
)

// Every key that the program knows is explained.
func TestDocumentNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile("../../docs/deploy-yaml.md")
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
