package problemtest

import (
	"bytes"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract is what an OpenAPI document promises: with which statuses, media types and bodies its operations answer.
type Contract struct {
	doc    map[string]any
	routes []route

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

// route is an operation, and which paths are its.
type route struct {
	method, id string
	path       *regexp.Regexp
	at         string // in the document
	op         map[string]any
}

// where the document is to the compiler of its schemas.
const where = "https://eggo.example/openapi.json"

// NewContract reads a document, in JSON.
func NewContract(text []byte) (*Contract, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := &Contract{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.doc, _ = parsed.(map[string]any)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(where, parsed); err != nil {
		return nil, err
	}
	paths, _ := c.doc["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		var exact strings.Builder
		last := 0
		for _, at := range regexp.MustCompile(`\{[^}]*\}`).FindAllStringIndex(path, -1) {
			exact.WriteString(regexp.QuoteMeta(path[last:at[0]]) + "[^/]+")
			last = at[1]
		}
		exact.WriteString(regexp.QuoteMeta(path[last:]))
		for method, op := range item {
			op, _ := op.(map[string]any)
			id, _ := op["operationId"].(string)
			c.routes = append(c.routes, route{strings.ToUpper(method), id,
				regexp.MustCompile("^" + exact.String() + "$"), "/paths/" + pointer(path) + "/" + method, op})
		}
	}
	if len(c.routes) == 0 {
		return nil, fmt.Errorf("no operations in %.100s", text)
	}
	return c, nil
}

// pointer is a name as a part of a JSON pointer in a URL.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// Answer is a response. Of a stream there is no body: nil.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Kept says whether an answer to a request is one that the document promises. The path is as in the request, escaped.
// What the document has no operation for is answered by a problem.
func (c *Contract) Kept(method, path string, a Answer) error {
	itself := regexp.MustCompile(`/openapi(-3\.0)?\.(json|yaml)$`)
	if !strings.HasPrefix(path, "/api/") || a.Status >= 300 && a.Status < 400 || itself.MatchString(path) ||
		method == http.MethodHead {
		return nil // not of the document, or the way to it
	}
	i := slices.IndexFunc(c.routes, func(r route) bool { return r.method == method && r.path.MatchString(path) })
	if i < 0 {
		if a.Status < http.StatusBadRequest {
			return fmt.Errorf("%s %s: %d, and no such operation is in the document", method, path, a.Status)
		}
		return c.body("/components/schemas/Problem", a)
	}
	r := c.routes[i]
	if err := c.promised(r, a); err != nil {
		return fmt.Errorf("%s (%s %.100s) answers %d: %w", r.id, method, path, a.Status, err)
	}
	return nil
}

// promised looks for an answer among those of an operation.
func (c *Contract) promised(r route, a Answer) error {
	at := r.at + "/responses/" + strconv.Itoa(a.Status)
	all, _ := r.op["responses"].(map[string]any)
	said, is := all[strconv.Itoa(a.Status)].(map[string]any)
	if ref, refers := said["$ref"].(string); refers {
		at = strings.TrimPrefix(ref, "#")
		said, is = c.at(at)
	}
	if !is {
		return fmt.Errorf("no such status is in the document\n%.300s", a.Body)
	}
	content, _ := said["content"].(map[string]any)
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if len(content) == 0 {
		if len(a.Body) > 0 {
			return fmt.Errorf("no body is in the document\n%.300s", a.Body)
		}
		return nil
	}
	media, is := content[kind].(map[string]any)
	switch {
	case !is:
		return fmt.Errorf("%q is not among %q", kind, slices.Sorted(maps.Keys(content)))
	case a.Body == nil || !strings.HasSuffix(kind, "json"):
		return nil
	case media["schema"] == nil:
		return fmt.Errorf("%s has no schema", kind)
	}
	return c.body(at+"/content/"+pointer(kind)+"/schema", a)
}

// at is an object of the document.
func (c *Contract) at(pointer string) (map[string]any, bool) {
	here, is := c.doc, true
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if here, is = here[name].(map[string]any); !is {
			return nil, false
		}
	}
	return here, true
}

// body holds one against a schema of the document.
func (c *Contract) body(schema string, a Answer) error {
	if a.Body == nil {
		return nil
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		return fmt.Errorf("%w: %.300s", err, a.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	compiled := c.schemas[schema]
	if compiled == nil {
		if compiled, err = c.compiler.Compile(where + "#" + schema); err != nil {
			return err
		}
		c.schemas[schema] = compiled
	}
	if err := compiled.Validate(body); err != nil {
		return fmt.Errorf("%w\n%.500s", err, a.Body)
	}
	return nil
}
