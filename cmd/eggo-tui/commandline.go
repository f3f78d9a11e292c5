package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// commandLineFault says in our words, which there are in both languages, what the library does not understand of a
// command line.
func commandLineFault(cmd *cobra.Command, err error) *event.Fault {
	together := regexp.MustCompile(`none of the others can be; \[(.*)\] were all set$`)
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
	if m := together.FindStringSubmatch(err.Error()); m != nil {
		return usage("flags-together", "what", event.Clean("--"+strings.Join(strings.Fields(m[1]), ", --")))
	}
	return event.NewFault(event.ClassUsage, "usage", err)
}
