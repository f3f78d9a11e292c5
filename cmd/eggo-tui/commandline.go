package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/cli"
	"github.com/eggo-k8s/eggo/internal/event"
)

// mistakes is how many letters of a command may be wrong for it to be suggested.
const mistakes = 2

// commandLineFault says in our words, which there are in both languages, what the library does not understand of a
// command line.
func commandLineFault(cmd *cobra.Command, err error) *event.Fault {
	usage := func(code string, kv ...string) *event.Fault {
		return event.NewFault(event.ClassUsage, "usage."+code, nil, kv...)
	}
	var absent *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var broken *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &absent):
		return cli.UnknownFlag(cmd, absent)
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
			if like := likeCommand(cmd, m[1]); c.code == "argument" && like != "" {
				return usage("verb-like", "verb", m[1], "like", like)
			}
			if c.code == "flags-together" {
				m[1] = "--" + strings.Join(strings.Fields(m[1]), ", --")
			}
			return usage(c.code, "what", event.Clean(m[1]))
		}
	}
	return event.NewFault(event.ClassUsage, "usage", err)
}

// likeCommand are the commands below cmd that a word may have meant.
func likeCommand(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = max(cmd.SuggestionsMinimumDistance, mistakes)
	return strings.Join(cmd.SuggestionsFor(word), ", ")
}
