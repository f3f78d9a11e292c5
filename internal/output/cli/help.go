package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Localize writes the help of a program in the printer's language: cobra has its words, pflag its "(default …)" and its
// types in English alone. How lines fit a terminal is Help's.
func Localize(root *cobra.Command, p *i18n.Printer) {
	help := helpCommand(root, p)
	root.SetHelpCommand(help)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStdout(), usage(cmd, p))
		return err
	})
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.InitDefaultVersionFlag()
	if f := root.Flags().Lookup("version"); f != nil {
		f.Usage = p.T("cli.flag.version")
	}
	eachCommand(root, func(cmd *cobra.Command) { localizeFlags(cmd, p) })
	localizeFlags(help, p)
}

func helpCommand(root *cobra.Command, p *i18n.Printer) *cobra.Command {
	return &cobra.Command{
		Use: "help [" + p.T("cli.help.arg") + "]", Short: p.T("cli.help.short"),
		RunE: func(_ *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return UnknownCommand(target, rest)
			}
			return target.Help()
		},
	}
}

// mistakes is how many letters of a command may be wrong for it to be suggested.
const mistakes = 2

// Itself makes a command the suggestion for words below it that other programs have (list): it does that itself.
func Itself(cmd *cobra.Command, words ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[itself] = strings.Join(words, " ")
}

// itself annotates a command with the words of Itself.
const itself = "eggo-itself"

// meant are the commands below a command that a word may mean: those that other programs call so, else those that are
// spelled alike.
func meant(cmd *cobra.Command, word string) (out []string) {
	if slices.Contains(strings.Fields(cmd.Annotations[itself]), word) {
		return []string{cmd.CommandPath()}
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && slices.Contains(sub.SuggestFor, word) {
			out = append(out, sub.Name())
		}
	}
	if len(out) > 0 {
		return out
	}
	return cmd.SuggestionsFor(word)
}

// UnknownCommand names a command that there is not, and what it may have meant; nil if there is no argument.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := event.Clean(args[0])
	cmd.SuggestionsMinimumDistance = max(cmd.SuggestionsMinimumDistance, mistakes)
	like := meant(cmd, args[0])
	if len(like) > 0 {
		return event.NewFault(event.ClassUsage, "usage.command-like", nil, "command", name, "like",
			strings.Join(like, ", "))
	}
	return event.NewFault(event.ClassUsage, "usage.command", nil, "command", name)
}

// localizeFlags gives the flag for the help its sentence, and takes out of every sentence the word for the value: it
// stands behind the flag, and shells show the sentence as it is.
func localizeFlags(cmd *cobra.Command, p *i18n.Printer) {
	cmd.DisableFlagsInUseLine = true
	cmd.InitDefaultHelpFlag()
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Usage = p.T("cli.flag.help")
	}
	say := func(f *pflag.Flag) {
		if value, text := split(f.Usage); value != "" {
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[valueWord] = []string{value}
			f.Usage = text
			if d := preset(f); d != "" && !strings.Contains(text, p.T("cli.help.default")) {
				f.Usage = p.T("cli.help.default-is", "sentence", text, "value", d)
			}
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(say)
	cmd.PersistentFlags().VisitAll(say)
}

// valueWord annotates a flag with the word for its value.
const valueWord = "eggo-value"

// split parts the sentence of a flag, "`FILE` file to read", into the word for its value and the rest.
func split(sentence string) (value, rest string) {
	after, ok := strings.CutPrefix(sentence, "`")
	value, rest, closed := strings.Cut(after, "`")
	if !ok || !closed {
		return "", sentence
	}
	return value, strings.TrimSpace(rest)
}

// worded is the word that the help shows for the value of a flag, and its sentence.
func worded(f *pflag.Flag) (value, sentence string) {
	if word := f.Annotations[valueWord]; len(word) == 1 {
		return word[0], f.Usage
	}
	return pflag.UnquoteUsage(f)
}

// preset is what a flag is unless given; "" for nothing.
func preset(f *pflag.Flag) string {
	switch d := strings.Trim(f.DefValue, "[]"); d {
	case "false", "0", "0s":
		return ""
	default:
		return strings.TrimSuffix(d, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(d, "m0s")]
	}
}

// Group says of a command that it does nothing without one of those below it: its help shows no call without one.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{groups: ""}
	return cmd
}

// IsGroup reports whether a command does nothing without one of those below it.
func IsGroup(cmd *cobra.Command) bool { _, is := cmd.Annotations[groups]; return is }

// groups annotates the commands that only hold others.
const groups = "eggo-group"

// useLine is how a command is called.
func useLine(cmd *cobra.Command, p *i18n.Printer) string {
	line := cmd.UseLine()
	if cmd.HasAvailableFlags() {
		line += " [" + p.T("cli.help.arg-flags") + "]"
	}
	return line
}

// usage is the part of the help below what the command does.
func usage(cmd *cobra.Command, p *i18n.Printer) string {
	var b strings.Builder
	fmt.Fprintln(&b, p.T("cli.help.usage"))
	below := cmd.HasAvailableSubCommands()
	if cmd.Runnable() && !IsGroup(cmd) {
		fmt.Fprintln(&b, "  "+useLine(cmd, p))
	}
	if below {
		fmt.Fprintf(&b, "  %s [%s]\n", cmd.CommandPath(), p.T("cli.help.arg"))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n%s\n%s\n", p.T("cli.help.examples"), cmd.Example)
	}
	if below {
		var rows [][2]string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				rows = append(rows, [2]string{sub.Name(), sub.Short})
			}
		}
		table(&b, p.T("cli.help.commands"), rows)
	}
	table(&b, p.T("cli.help.flags"), flagRows(cmd.LocalFlags()))
	table(&b, p.T("cli.help.global"), flagRows(cmd.InheritedFlags()))
	if below {
		fmt.Fprintf(&b, "\n%s\n", p.T("cli.help.more", "command", cmd.CommandPath()))
	}
	return b.String()
}

func flagRows(flags *pflag.FlagSet) [][2]string {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		head := "    --" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", --" + f.Name
		}
		value, sentence := worded(f)
		rows = append(rows, [2]string{strings.TrimRight(head+" "+value, " "), sentence})
	})
	return rows
}

// table writes names and what they are in two columns below a heading; nothing if there are none.
func table(b *strings.Builder, heading string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, ansi.StringWidth(r[0]))
	}
	fmt.Fprintf(b, "\n%s\n", heading)
	for _, r := range rows {
		fmt.Fprintf(b, "  %s%s  %s\n", r[0], strings.Repeat(" ", wide-ansi.StringWidth(r[0])), r[1])
	}
}
