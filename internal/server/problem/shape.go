package problem

import (
	"strings"

	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// shape is our message for what huma says of the shape of a request, in English. What is not known is left in its
// words.
func shape(said string) event.Msg {
	for format, message := range shapes() {
		before, after, one := strings.Cut(format, "%")
		if !one && said == format {
			return message("")
		}
		if value, is := strings.CutPrefix(said, before); one && is {
			if value, is = strings.CutSuffix(value, after[1:]); is { // without the letter of the verb
				return message(value)
			}
		}
	}
	return event.M("api.shape.other", "why", said)
}

// shapes are what huma may say of our routes, with one value at most.
func shapes() map[string]func(value string) event.Msg {
	return map[string]func(string) event.Msg{
		validation.MsgExpectedRequiredProperty: func(v string) event.Msg {
			return event.M("api.shape.required", "field", v)
		},
		validation.MsgUnexpectedProperty:      func(string) event.Msg { return event.M("api.shape.unknown") },
		validation.MsgExpectedString:          func(string) event.Msg { return event.M("api.shape.string") },
		validation.MsgExpectedInteger:         func(string) event.Msg { return event.M("api.shape.integer") },
		"invalid integer":                     func(string) event.Msg { return event.M("api.shape.integer") },
		validation.MsgExpectedNumber:          func(string) event.Msg { return event.M("api.shape.number") },
		validation.MsgExpectedBoolean:         func(string) event.Msg { return event.M("api.shape.boolean") },
		"invalid boolean":                     func(string) event.Msg { return event.M("api.shape.boolean") },
		validation.MsgExpectedArray:           func(string) event.Msg { return event.M("api.shape.array") },
		validation.MsgExpectedObject:          func(string) event.Msg { return event.M("api.shape.object") },
		validation.MsgExpectedRFC3339DateTime: func(string) event.Msg { return event.M("api.shape.time") },
		validation.MsgExpectedOneOf: func(v string) event.Msg {
			return event.M("api.shape.one-of", "values", v)
		},
		validation.MsgExpectedMinimumNumber: func(v string) event.Msg { return event.M("api.shape.least", "n", v) },
		validation.MsgExpectedMaximumNumber: func(v string) event.Msg { return event.M("api.shape.most", "n", v) },
		validation.MsgExpectedMinLength: func(v string) event.Msg {
			return event.M("api.shape.shortest", "n", v)
		},
		validation.MsgExpectedMaxLength:   func(v string) event.Msg { return event.M("api.shape.longest", "n", v) },
		validation.MsgExpectedMinItems:    func(v string) event.Msg { return event.M("api.shape.few", "n", v) },
		validation.MsgExpectedMaxItems:    func(v string) event.Msg { return event.M("api.shape.many", "n", v) },
		"request body is required":        func(string) event.Msg { return event.M("api.shape.no-body") },
		"unknown content type":            func(string) event.Msg { return event.M("api.shape.content-type") },
		"unknown content type: %s":        func(string) event.Msg { return event.M("api.shape.content-type") },
		"unexpected end of JSON input":    func(string) event.Msg { return event.M("api.shape.json") },
		"unexpected EOF":                  func(string) event.Msg { return event.M("api.shape.json") },
		"invalid character %s":            func(string) event.Msg { return event.M("api.shape.json") },
		"invalid date/time for format %s": func(string) event.Msg { return event.M("api.shape.time") },
	}
}
