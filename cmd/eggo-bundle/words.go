package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// usageFault makes one of class usage of what cobra says.
func usageFault(err error) error {
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return err
	}
	return event.NewFault(event.ClassUsage, "usage", err)
}

// flagFault says what is wrong with a flag.
func flagFault(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return cli.UnknownFlag(cmd, unknown)
	case errors.As(err, &empty):
		name := "--" + empty.GetSpecifiedName()
		if empty.GetSpecifiedShortnames() != "" {
			name = "-" + empty.GetSpecifiedName()
		}
		return event.NewFault(event.ClassUsage, "usage.flag-empty", nil, "flag", name)
	case errors.As(err, &wrong):
		return event.NewFault(event.ClassUsage, "usage.flag-value", nil, "flag", "--"+wrong.GetFlag().Name, "value",
			wrong.GetValue())
	}
	return usageFault(err)
}

// needed says that a flag was not given.
func needed(cmd *cobra.Command, flags ...string) error {
	var missing []string
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); !f.Changed {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return event.NewFault(event.ClassUsage, "usage.flag-needed", nil, "flags", strings.Join(missing, ", "), "command",
		cmd.CommandPath())
}
