package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Exactly wants one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return MissingArgument(cmd, strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return ExtraArgument(cmd, args[len(names)])
		}
		return nil
	}
}

// NoArguments wants none: a word after a command that has others below it is meant for one of them.
func NoArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return UnknownCommand(cmd, args)
	}
	return ExtraArgument(cmd, args[0])
}

// AtMost wants this many arguments or fewer.
func AtMost(most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > most {
			return ExtraArgument(cmd, args[most])
		}
		return nil
	}
}

// Some wants one argument or more.
func Some(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return MissingArgument(cmd, name)
		}
		return nil
	}
}

// MissingArgument says which argument a command lacks, and how it is called.
func MissingArgument(cmd *cobra.Command, names string) error {
	return event.NewFault(event.ClassUsage, "usage.argument-needed", nil, "argument", names, "usage", cmd.UseLine())
}

// ExtraArgument says which argument a command does not take, and how it is called.
func ExtraArgument(cmd *cobra.Command, arg string) error {
	return event.NewFault(event.ClassUsage, "usage.argument-extra", nil, "argument", event.Clean(arg), "usage",
		cmd.UseLine())
}
