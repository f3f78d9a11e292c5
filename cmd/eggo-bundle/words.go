package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/cli"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

// localize gives cobra's own words in the printer's language, for a command and all below it.
func localize(root *cobra.Command, p *i18n.Printer) {
	root.SetHelpCommand(&cobra.Command{
		Use: "help [" + p.T("cli.help.arg") + "]", Short: p.T("cli.help.short"), Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = unknownVerb(target, rest)
			}
			if err != nil {
				return err
			}
			return target.Help()
		},
	})
	root.SetUsageTemplate(strings.NewReplacer(
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", "[command]{{end}}",
		"["+p.T("cli.help.arg")+"]{{end}}",
		"Usage:", p.T("cli.help.usage"), "Available Commands:", p.T("cli.help.commands"), "Global Flags:",
		p.T("cli.help.global"),
		"Flags:", p.T("cli.help.flags"), "Examples:", p.T("cli.help.examples"), "Aliases:", p.T("cli.help.aliases"),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		p.T("cli.help.more", "command", "{{.CommandPath}}"),
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = p.T("cli.flag.version")
	root.SetFlagErrorFunc(flagFault)
	helpFlags(root, p)
}

func helpFlags(cmd *cobra.Command, p *i18n.Printer) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Usage = p.T("cli.flag.help")
	cmd.DisableFlagsInUseLine = true
	// What a flag is by default stands in its sentence: pflag would say it in English.
	plain := func(f *pflag.Flag) {
		if f.Value.Type() == "string" {
			f.DefValue = ""
		}
	}
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, sub := range cmd.Commands() {
		helpFlags(sub, p)
	}
}

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

// unknownVerb names a verb that there is not, and what it may have meant; nil if there is no argument.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return event.NewFault(event.ClassUsage, "usage.command-like", nil, "command", args[0], "like",
			strings.Join(like, ", "))
	}
	return event.NewFault(event.ClassUsage, "usage.command", nil, "command", args[0])
}

// exactly wants one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			missing := strings.Join(names[len(args):], " ")
			return event.NewFault(event.ClassUsage, "usage.argument-needed", nil, "argument", missing, "command",
				cmd.CommandPath())
		case len(args) > len(names):
			return event.NewFault(event.ClassUsage, "usage.argument-extra", nil, "argument", args[len(names)],
				"command", cmd.CommandPath())
		}
		return nil
	}
}

// some wants one argument or more.
func some(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return event.NewFault(event.ClassUsage, "usage.argument-needed", nil, "argument", name, "command",
				cmd.CommandPath())
		}
		return nil
	}
}
