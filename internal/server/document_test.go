package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var update = flag.Bool("update", false, "write the golden file again")

// described is a part of the document.
type described map[string]any

func (d described) part(names ...string) described {
	for _, name := range names {
		d, _ = d[name].(map[string]any)
	}
	return d
}

// answers are the responses of an operation: what each success is, and the statuses of the errors.
func (d described) answers() string {
	var errors, out []string
	for _, status := range slices.Sorted(maps.Keys(d)) {
		if status >= "400" {
			errors = append(errors, status)
			continue
		}
		said := d.part(status)
		for _, kind := range slices.Sorted(maps.Keys(said.part("content"))) {
			schema := said.part("content", kind, "schema")
			what, is := schema["$ref"].(string)
			if !is {
				what = fmt.Sprint(schema["type"])
			}
			status += " " + kind + " " + filepath.Base(what)
		}
		if list := slices.Sorted(maps.Keys(said.part("headers"))); len(list) > 0 {
			status += " with " + strings.Join(list, ", ")
		}
		out = append(out, status)
	}
	return strings.Join(out, "; ") + "\n\t\t" + strings.Join(errors, " ")
}

// credentials are what an operation needs.
func credentials(list any) string {
	var out []string
	all, _ := list.([]any)
	for _, one := range all {
		names, _ := one.(map[string]any)
		out = append(out, slices.Sorted(maps.Keys(names))...)
	}
	return strings.Join(out, " or ")
}

// The document says of each operation which credentials it needs and what it answers. go test ./internal/server -run
// TheDocument -args -update writes that again.
func TestTheDocumentSaysWhatIsAnswered(t *testing.T) {
	g := beginGuarded(t)
	text := g.call("", "GET", Prefix+"/openapi.json", "").text
	var doc described
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(doc.part("paths"))) {
		item := doc.part("paths", path)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			op := item.part(method)
			by, own := op["security"]
			if !own {
				by = doc["security"]
			}
			fmt.Fprintf(&b, "%s %s\n\t%s, by: %s\n\t\t%s\n", strings.ToUpper(method), path, op["operationId"],
				credentials(by), described(op.part("responses")).answers())
		}
	}
	golden := filepath.Join("testdata", "document.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the document says else than %s:\n%s", golden, b.String())
	}
}

// Every error that the document has is a problem, with the fields of one, and nothing is left of the errors of the
// library.
func TestEveryErrorOfTheDocumentIsAProblem(t *testing.T) {
	g := beginGuarded(t)
	text := g.call("", "GET", Prefix+"/openapi.json", "").text
	var doc described
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "ErrorModel") || strings.Contains(text, "ErrorDetail") {
		t.Error("an error of the library is in the document")
	}
	for _, field := range []string{"type", "title", "status", "detail", "code", "node", "step", "next", "errors"} {
		if doc.part("components", "schemas", "Problem", "properties", field) == nil {
			t.Errorf("a problem has no %s", field)
		}
	}
	for name := range doc.part("components", "responses") {
		schema := doc.part("components", "responses", name, "content", "application/problem+json", "schema")
		if schema["$ref"] != "#/components/schemas/Problem" {
			t.Errorf("%s: %v", name, schema)
		}
	}
	for path := range doc.part("paths") {
		for method := range doc.part("paths", path) {
			all := doc.part("paths", path, method, "responses")
			for status := range all {
				ref, _ := all.part(status)["$ref"].(string)
				if status >= "400" && !strings.HasPrefix(ref, "#/components/responses/") {
					t.Errorf("%s %s: %s is no problem", method, path, status)
				}
			}
		}
	}
	if !strings.Contains(g.call("", "GET", Prefix+"/openapi.yaml", "").text, "application/problem+json") ||
		!strings.Contains(g.call("", "GET", Prefix+"/openapi-3.0.json", "").text, `"openapi":"3.0`) {
		t.Error("the document in its other forms")
	}
}

// What the other tests have no success of, is answered as the document says, too.
func TestAnswersAreThoseOfTheDocument(t *testing.T) {
	g := beginGuarded(t)
	admin := g.as("global")
	const one = Prefix + "/clusters/one"
	ask := func(status int, method, path, body string) {
		t.Helper()
		g.want(g.call("", method, path, body, admin...), status, "")
	}
	ended := func(state string) {
		t.Helper()
		g.reach(state, func() bool { return g.m.Clusters()[0].Operation.Run() != "" })
		g.world.Newest("one").Finish(nil)
		g.reach("Running", func() bool { return g.m.Clusters()[0].Operation == nil })
	}
	ask(202, "POST", Prefix+"/clusters", oneCluster)
	ended("Creating")
	g.installed()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"m1"}},{"metadata":{"name":"\u001bother"}}]}`))
	}))
	t.Cleanup(api.Close)
	dir := filepath.Join(g.root, "one")
	for name, text := range map[string]string{"admin.conf": adminOf(api), "snapshots/s.db": "etcd"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := g.ran("deploy", event.RunEnded{Outcome: event.OK})
	ask(200, "GET", one+"/nodes", "")
	ask(200, "GET", one+"/runs/"+run, "")
	ask(200, "GET", one+"/snapshots", "")
	ask(200, "GET", one+"/kubeconfig", "")
	ask(200, "POST", one+"/kubeconfig", "{}")
	ask(200, "GET", Prefix+"/users/viewer", "")
	for path, body := range map[string]string{"/renew": "", "/restore": `{"snapshot":"s.db"}`} {
		ask(202, "POST", one+path, body)
		ended("Updating")
	}
	ask(202, "POST", one+"/snapshots", "")
	ended("Running")
	ask(200, "DELETE", one+"?machines=keep", "")
	ask(202, "POST", Prefix+"/clusters:import", `{"name":"one"}`)
}
