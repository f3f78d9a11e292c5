package v1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")

// manuals returns the pages about the operator, by language.
func manuals(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for language, dir := range map[string]string{"en": "docs", "zh": "docs/zh"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(dir), "operator.md"))
		if err != nil {
			t.Fatal(err)
		}
		out[language] = string(text)
	}
	return out
}

// examples returns the objects of a page.
func examples(t *testing.T, page string) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, block := range yamlBlock.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(block[1], "AAAA…", "AAAA")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		text = regexp.MustCompile(`(?m)^ {0,`+string(rune('0'+indent))+`}`).ReplaceAllString(text, "")
		for _, o := range apiservertest.Objects(t, []byte(text)) {
			if o.GetName() == "" {
				o.SetName(o.GetGenerateName() + "1")
			}
			out = append(out, o)
		}
	}
	return out
}

// The examples of both languages are the same, and have no field that the types do not have.
func TestExamplesOfTheManual(t *testing.T) {
	pages := manuals(t)
	english := examples(t, pages["en"])
	if !reflect.DeepEqual(english, examples(t, pages["zh"])) {
		t.Error("the examples differ between the languages")
	}
	kinds := map[string]runtime.Object{"Machine": &v1.Machine{}, "Infrastructure": &v1.Infrastructure{},
		"Cluster": &v1.Cluster{}, "Operation": &v1.Operation{}}
	seen := map[string]bool{}
	for _, o := range english {
		if o.GroupVersionKind().Group != v1.Group {
			continue
		}
		seen[o.GetKind()] = true
		d := json.NewDecoder(strings.NewReader(string(jsonOf(t, o.Object))))
		d.DisallowUnknownFields()
		if err := d.Decode(kinds[o.GetKind()]); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("the manual has examples of %v", seen)
	}
}

// The manual has each condition, and each field of the specs that people write.
func TestTheManualIsComplete(t *testing.T) {
	source, err := os.ReadFile("conditions.go")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range regexp.MustCompile(`(?m)^\tCondition\w+ += "(\w+)"$`).FindAllStringSubmatch(string(source), -1) {
		words = append(words, m[1])
	}
	if len(words) < 15 {
		t.Fatalf("%d conditions: the search is broken", len(words))
	}
	for _, spec := range []any{v1.MachineSpec{}, v1.InfrastructureSpec{}, v1.ClusterSpec{}, v1.ClusterPolicy{}} {
		for i := range reflect.TypeOf(spec).NumField() {
			tag := reflect.TypeOf(spec).Field(i).Tag.Get("json")
			if name, _, _ := strings.Cut(tag, ","); name != "" {
				words = append(words, name)
			}
		}
	}
	for language, page := range manuals(t) {
		for _, w := range words {
			if !regexp.MustCompile("`(spec\\.)?" + w + "(\\[\\])?`").MatchString(page) {
				t.Errorf("%s: the manual does not explain %s", language, w)
			}
		}
	}
}

// applied applies the examples of the manual.
func applied(t *testing.T, c client.Client) {
	for _, o := range examples(t, manuals(t)["en"]) {
		if strings.HasSuffix(o.GroupVersionKind().Group, "fluxcd.io") {
			continue
		}
		if err := apply(t, c, o); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}
