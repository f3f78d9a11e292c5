package problemtest

import (
	"net/http"
	"strings"
	"testing"
)

const promise = `{"openapi":"3.1.0","paths":{"/api/hens/{hen}":{"get":{"operationId":"get-hen","responses":{
	"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Hen"}},"text/plain":{}}},
	"204":{"description":"gone"},"404":{"$ref":"#/components/responses/NotFound"}}}}},
	"components":{"responses":{"NotFound":{"content":{"application/problem+json":{
		"schema":{"$ref":"#/components/schemas/Problem"}}}}},
	"schemas":{"Problem":{"type":"object","required":["code"]},"Hen":{"type":"object","additionalProperties":false,
		"properties":{"eggs":{"type":"integer"},"hatched":{"type":"string","format":"date-time"}}}}}}`

// An answer is held against its status, its type and its schema; one that is not promised says what is wrong with it.
func TestContract(t *testing.T) {
	c, err := NewContract([]byte(promise))
	if err != nil {
		t.Fatal(err)
	}
	const kind, problem = "application/json; charset=utf-8", "application/problem+json"
	for _, x := range []struct {
		method, path string
		status       int
		kind, body   string
		wrong        string // "": kept
	}{
		{"GET", "/api/hens/berta", 200, kind, `{"eggs":2,"hatched":"2026-01-02T03:04:05Z"}`, ""},
		{"GET", "/api/hens/a%2fb", 200, "text/plain", "two", ""},
		{"GET", "/api/hens/berta", 204, "", "", ""},
		{"GET", "/api/hens/berta", 404, problem, `{"code":"hen.none"}`, ""},
		{"GET", "/api/none", 404, problem, `{"code":"api.no-route"}`, ""},
		{"GET", "/metrics", 200, "text/plain", "x", ""},
		{"GET", "/api/hens/berta", 409, problem, `{"code":"hen.busy"}`, "no such status"},
		{"GET", "/api/hens/berta", 200, "text/html", "<p>", "is not among"},
		{"GET", "/api/hens/berta", 200, kind, `{"eggs":"two"}`, "/eggs"},
		{"GET", "/api/hens/berta", 200, kind, `{"hatched":"today"}`, "/hatched"},
		{"GET", "/api/hens/berta", 200, kind, `{"feathers":1}`, "feathers"},
		{"GET", "/api/hens/berta", 200, kind, `{`, "unexpected EOF"},
		{"GET", "/api/hens/berta", 204, "", "bye", "no body"},
		{"GET", "/api/hens/berta", 404, problem, `{"error":"hen.none"}`, "code"},
		{"GET", "/api/hens/berta", 404, "text/plain", "none", "is not among"},
		{"GET", "/api/hens", 200, kind, `[]`, "no such operation"},
		{"POST", "/api/hens/berta", 404, problem, `{}`, "code"},
	} {
		err := c.Kept(x.method, x.path, Answer{x.status, http.Header{"Content-Type": {x.kind}}, []byte(x.body)})
		if (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	if _, err := NewContract([]byte(`{}`)); err == nil {
		t.Error("a document without operations promises nothing")
	}
}
