package server

import (
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// about is what the document says of all operations.
const about = `Times are RFC 3339. Every error is a problem (RFC 9457) with a code that never changes its meaning;
its sentences are in the language of Accept-Language, English or Chinese.

Lists that grow without an end have pages (limit, after). The lists of backups, snapshots and bundles have none and are
always whole: the server keeps a number of backups, snapshots are taken by hand and before upgrades, bundles are put
into a directory by hand, and all are files that take the space of this host.

Requests that log in to the nodes while they are answered (get-status, inspect-status, list-certificates with nodes,
inspect-certificates, check, plan): eight at a time, one of a user, or two while fewer than four are answered. One
more gets 429 (api.busy) with Retry-After.`

// document has the document say what huma does not know of the operations.
func document(doc *huma.OpenAPI) {
	problem.Describe(doc)
	doc.Info.Description = about
	for _, item := range doc.Paths {
		for method, op := range problem.Operations(item) {
			if method != http.MethodGet {
				most := 128
				op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
					Description: "A request that succeeded and is sent again with its key is not done again: it gets " +
						"the first response. That is known for a day.",
					Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most}})
			}
			if op.OperationID == "delete-cluster" {
				kept := *op.Responses["202"]
				kept.Description = "The server does not have it any more, and its machines are as they were."
				kept.Headers = maps.Clone(kept.Headers)
				op.Responses["200"] = &kept
			}
			if ok := op.Responses["200"]; ok != nil {
				delete(ok.Headers, "Location")     // of what was accepted
				delete(ok.Headers, "Content-Type") // the content says so
			}
		}
	}
}

// kubeconfigOnly is the success of an operation that gives a kubeconfig.
func kubeconfigOnly() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {Content: map[string]*huma.MediaType{"application/yaml": {
		Schema: &huma.Schema{Type: huma.TypeString, Description: "A kubeconfig. It is a secret."}}}}}
}

// streamed is the success of a stream of lines.
func streamed(line string) map[string]*huma.Response {
	as := func(text string) *huma.MediaType {
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: text}}
	}
	return map[string]*huma.Response{
		"101": {Description: "A WebSocket, if the request asks for one. Each message is " + line + "."},
		"200": {Description: "A stream that lasts.", Content: map[string]*huma.MediaType{
			"application/jsonl": as("Each line is " + line + ", or empty: nothing happened."),
			"text/event-stream": as("If Accept asks for it. The data of each is " + line + ", its ID the sequence " +
				"number. The event named end says that no other follows."),
		}},
	}
}

// changeOf has the schema of a change in a document, and says what it is.
func changeOf(api huma.API) string {
	api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[manager.Change](), true, "Change")
	return "a Change (#/components/schemas/Change)"
}
