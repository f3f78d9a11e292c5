package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

type (
	bodyKey    struct{}
	decodedKey struct{}
)

// mostLocated is the largest body in which the places of errors are looked for a second time.
const mostLocated = 64 << 10

// mostErrors is how many errors of its shape a response lists. There may be one for each value of the request.
const mostErrors = 100

// Decoding gives a context a function that is called when the request is decoded and its route begins.
func Decoding(ctx context.Context, over func()) context.Context {
	return context.WithValue(ctx, decodedKey{}, over)
}

// decoded is called when a route has its request.
func decoded(ctx context.Context) {
	if over, is := ctx.Value(decodedKey{}).(func()); is {
		over()
	}
}

// Reading gives a context the body of its request, so that an error can say where in it something is.
func Reading(ctx context.Context, body []byte) context.Context {
	return context.WithValue(ctx, bodyKey{}, body)
}

func bodyOf(ctx context.Context) []byte {
	body, _ := ctx.Value(bodyKey{}).([]byte)
	return body
}

// ignored is a value whose syntax is checked, and which is not decoded: that takes no memory.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// malformed says where a body is no JSON, and what to do about it; false: it is JSON.
func malformed(body []byte) (said, next event.Msg, is bool) {
	bad := new(json.SyntaxError)
	if len(body) == 0 || !errors.As(json.Unmarshal(body, &ignored{}), &bad) {
		return event.Msg{}, event.Msg{}, false
	}
	// The offset counts the byte that is wrong, unless it is the end that came too early.
	at := min(max(int(bad.Offset)-1, 0), len(body)-1)
	line := strconv.Itoa(bytes.Count(body[:at], []byte{'\n'}) + 1)
	column := strconv.Itoa(utf8.RuneCount(body[bytes.LastIndexByte(body[:at], '\n')+1:at]) + 1)
	if strings.ContainsRune("\r\n", rune(body[at])) && strings.Contains(bad.Error(), "in string literal") {
		said = event.M("api.shape.json-break", "line", line, "column", column)
		return said, event.M("api.shape.json-break.next"), true
	}
	return event.M("api.shape.json-at", "line", line, "column", column), event.M("api.shape.json-at.next"), true
}

// What stands for the two characters of a key that huma takes for the ends of keys, when it goes back to where it was.
const (
	dot     = "\ue000"
	bracket = "\ue001"
)

// Located is a transformer of huma, to be called before Transform: what it finds wrong behind a key with a dot or a
// bracket, it says of another place. Such a body is checked again, with other keys, unless it is large: that would take
// as long as everything else that is done with it.
func Located(all huma.Registry) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) {
		m, is := v.(*huma.ErrorModel)
		op := ctx.Operation()
		text := bodyOf(ctx.Context())
		var body any
		if !is || op == nil || op.RequestBody == nil || len(text) > mostLocated || json.Unmarshal(text, &body) != nil {
			return v, nil
		}
		media := op.RequestBody.Content["application/json"]
		if _, masked := withoutDots(masking(), body); !masked || media == nil || media.Schema == nil {
			return v, nil
		}
		found := Wrong(all, media.Schema, body)
		if len(found) == 0 {
			return v, nil
		}
		out := *m
		out.Errors = nil
		for _, e := range m.Errors {
			if e != nil && !strings.HasPrefix(e.Location, "body") {
				out.Errors = append(out.Errors, e)
			}
		}
		out.Errors = append(out.Errors, found...)
		return &out, nil
	}
}

func masking() *strings.Replacer { return strings.NewReplacer(".", dot, "[", bracket) }

// Wrong returns what is wrong with the shape of a body, also behind a key with a dot or a bracket.
func Wrong(all huma.Registry, schema *huma.Schema, body any) []*huma.ErrorDetail {
	body, _ = withoutDots(masking(), body)
	path, found := huma.NewPathBuffer([]byte{}, 0), &huma.ValidateResult{}
	path.Push("body")
	huma.Validate(all, schema, path, huma.ModeWriteToServer, body, found)
	out := Details(found)
	for _, e := range out {
		e.Location = strings.NewReplacer(dot, ".", bracket, "[").Replace(e.Location)
	}
	return out
}

// Details returns what huma found, as its errors have it.
func Details(found *huma.ValidateResult) (out []*huma.ErrorDetail) {
	for _, err := range found.Errors {
		if e := new(huma.ErrorDetail); errors.As(err, &e) {
			out = append(out, e)
		}
	}
	return out
}

// withoutDots is a value with other keys in place of those that have a dot or a bracket; false: none has.
func withoutDots(by *strings.Replacer, v any) (any, bool) {
	masked := false
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			name := by.Replace(key)
			value, in := withoutDots(by, value)
			out[name], masked = value, masked || in || name != key
		}
		return out, masked
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			value, in := withoutDots(by, value)
			out[i], masked = value, masked || in
		}
		return out, masked
	}
	return v, false
}
