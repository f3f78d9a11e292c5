package problem

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Describe has a document say what errors are: problems, in place of the errors of huma, and of each operation with
// which statuses they can come. It is called when all operations are registered. What follows from nothing that the
// document has, an operation lists in its Errors.
func Describe(doc *huma.OpenAPI) {
	all := doc.Components.Schemas
	for _, old := range []reflect.Type{reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[huma.ErrorDetail]()} {
		delete(all.Map(), strings.TrimPrefix(all.Schema(old, true, "").Ref, "#/components/schemas/"))
	}
	schema := all.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, t := range []reflect.Type{reflect.TypeFor[Problem](), reflect.TypeFor[Item]()} {
		all.SchemaFromRef(all.Schema(t, true, "").Ref).AdditionalProperties = true // RFC 9457: others are ignored
	}
	if doc.Components.Responses == nil {
		doc.Components.Responses = map[string]*huma.Response{}
	}
	for path, item := range doc.Paths {
		for method, op := range Operations(item) {
			list := unlikeHuma(op)
			for _, status := range append(list, statusesOf(method, path, op)...) {
				name := strings.ReplaceAll(http.StatusText(status), " ", "")
				doc.Components.Responses[name] = response(status, schema)
				op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + name}
			}
		}
	}
}

// Operations are those of a path, by method.
func Operations(p *huma.PathItem) map[string]*huma.Operation {
	out := map[string]*huma.Operation{http.MethodGet: p.Get, http.MethodPost: p.Post, http.MethodPut: p.Put,
		http.MethodPatch: p.Patch, http.MethodDelete: p.Delete}
	maps.DeleteFunc(out, func(_ string, op *huma.Operation) bool { return op == nil })
	return out
}

// unlikeHuma removes the errors that an operation has from huma, and gives the statuses that it has listed itself.
func unlikeHuma(op *huma.Operation) (listed []int) {
	maps.DeleteFunc(op.Responses, func(status string, _ *huma.Response) bool {
		n, err := strconv.Atoi(status)
		return err != nil || n >= http.StatusBadRequest
	})
	return slices.Clone(op.Errors)
}

// statusesOf are the statuses of errors that follow from what an operation is.
func statusesOf(method, path string, op *huma.Operation) []int {
	out := []int{
		// who it is: credentials that are wrong, rights that are missing, too many attempts
		http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
		// the server, its database and its disk
		http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusInsufficientStorage,
	}
	changes := method != http.MethodGet
	if changes { // its body, and that what is in progress allows it
		out = append(out, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusConflict)
	}
	if op.RequestBody != nil {
		out = append(out, http.StatusUnsupportedMediaType)
	}
	if changes || len(op.Parameters) > 0 {
		out = append(out, http.StatusUnprocessableEntity)
	}
	if strings.Contains(path, "{") {
		out = append(out, http.StatusNotFound)
	}
	if slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == "If-Match" }) {
		out = append(out, http.StatusPreconditionFailed)
	}
	return out
}

// response is that of a status.
func response(status int, schema *huma.Schema) *huma.Response {
	header := func(of, text string) map[string]*huma.Param {
		return map[string]*huma.Param{of: {Description: text, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	r := &huma.Response{Description: http.StatusText(status), Content: map[string]*huma.MediaType{
		(*Problem)(nil).ContentType(""): {Schema: schema}}}
	switch status {
	case http.StatusUnauthorized:
		r.Headers = header("WWW-Authenticate", "If the API token is wrong.")
	case http.StatusTooManyRequests:
		r.Headers = header("Retry-After", "Seconds until it may be sent again.")
	}
	return r
}
