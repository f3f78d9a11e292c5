package event

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentNamesEveryTypeAndField(t *testing.T) {
	text, err := os.ReadFile("../../../docs/json-output.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n### `")[1:] {
		name, body, _ := strings.Cut(part, "`\n")
		sections[name] = body
	}
	for _, name := range Types() {
		body, ok := sections[name]
		if !ok {
			t.Errorf("%s is not described", name)
			continue
		}
		delete(sections, name)
		var rows []string
		for line := range strings.Lines(body) {
			if f, ok := strings.CutPrefix(line, "| `"); ok {
				f, _, _ = strings.Cut(f, "`")
				rows = append(rows, f)
			}
		}
		if got, want := strings.Join(rows, " "), strings.Join(Fields(name), " "); got != want {
			t.Errorf("%s: the document has %q, the type %q", name, got, want)
		}
	}
	for name := range sections {
		t.Errorf("%s is described but is no type", name)
	}
	for _, o := range []Outcome{OK, Changed, Skipped, Failed, Ignored, Unknown, Interrupted, Blocked} {
		if !strings.Contains(string(text), "| `"+string(o)+"` |") {
			t.Errorf("outcome %s is not described", o)
		}
	}
}
