package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/event"
)

// commandLineFault says in our words, which there are in both languages, what the library does not understand of a
// command line.
func commandLineFault(err error) *event.Fault {
	usage := func(code string, kv ...string) *event.Fault {
		return event.NewFault(event.ClassUsage, "usage."+code, nil, kv...)
	}
	var absent *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var broken *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &absent):
		return usage("flag-unknown", "flag", dashed(absent.GetSpecifiedName(), absent.GetSpecifiedShortnames()))
	case errors.As(err, &bare):
		return usage("flag-bare", "flag", "--"+bare.GetFlag().Name)
	case errors.As(err, &wrong):
		return usage("flag-value", "flag", "--"+wrong.GetFlag().Name, "value", wrong.GetValue())
	case errors.As(err, &broken):
		return usage("flag-syntax", "flag", broken.GetSpecifiedFlag())
	}
	for _, c := range []struct{ code, pattern string }{
		{"argument", `^unknown command "(.*)" for "`},
		{"args-few", `^requires at least (\d+) arg`},
		{"args-many", `^accepts at most (\d+) arg`},
		{"args-exact", `^accepts (\d+) arg`},
		{"flags-together", `none of the others can be; \[(.*)\] were all set$`},
	} {
		if m := regexp.MustCompile(c.pattern).FindStringSubmatch(err.Error()); m != nil {
			if c.code == "flags-together" {
				m[1] = "--" + strings.Join(strings.Fields(m[1]), ", --")
			}
			return usage(c.code, "what", event.Clean(m[1]))
		}
	}
	return event.NewFault(event.ClassUsage, "usage", err)
}

// dashed is a flag as it was typed.
func dashed(name, short string) string {
	if short != "" {
		return "-" + name
	}
	return "--" + name
}
