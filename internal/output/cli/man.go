package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Pages are the manual pages of a program, one for each command that is shown, by the name of the file: eggo-tui.1,
// eggo-tui-deploy.1. They say what --help says.
func Pages(root *cobra.Command, version string) map[string]string {
	out := map[string]string{}
	eachCommand(root, func(cmd *cobra.Command) {
		if shown(cmd) {
			out[pageName(cmd)+".1"] = page(cmd, version)
		}
	})
	return out
}

// WritePages writes them into a directory, which is made.
func WritePages(root *cobra.Command, version, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range Pages(root, version) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// NewMan makes the hidden command that writes the manual pages into a directory, for packages.
func NewMan(version string) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, Args: Exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return WritePages(cmd.Root(), version, args[0]) },
	}
}

// shown says whether the command and those above it stand in the help.
func shown(cmd *cobra.Command) bool {
	return !cmd.Hidden && (!cmd.HasParent() || shown(cmd.Parent()))
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is written in the macros of man(7).
func page(cmd *cobra.Command, version string) string {
	var b strings.Builder
	program := cmd.Root().Name()
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s %s\n", quoted(strings.ToUpper(pageName(cmd))), quoted(program+" "+version),
		quoted("Eggo"))
	section(&b, "NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	section(&b, "SYNOPSIS")
	fmt.Fprintf(&b, ".nf\n%s\n.fi\n", strong(cmd.UseLine()))
	section(&b, "DESCRIPTION")
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	text(&b, about)
	commands(&b, cmd)
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		section(&b, "EXAMPLES")
		fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	related(&b, cmd)
	return b.String()
}

func section(b *strings.Builder, name string) { fmt.Fprintf(b, ".SH %s\n", name) }

// text writes paragraphs. Lines that begin with a blank are examples or tables and stay as they are.
func text(b *strings.Builder, s string) {
	kept := false
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		if own := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); own != kept {
			kept = own
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n.PP\n"}[own])
		}
		switch strings.TrimSpace(line) {
		case "":
			b.WriteString(".PP\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if kept {
		b.WriteString(".fi\n")
	}
}

func commands(b *strings.Builder, cmd *cobra.Command) {
	first := true
	for _, sub := range cmd.Commands() {
		if !shown(sub) {
			continue
		}
		if first {
			section(b, "COMMANDS")
			first = false
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", strong(sub.Use), roff(sub.Short))
	}
}

func options(b *strings.Builder, name string, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		if first {
			section(b, name)
			first = false
		}
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		value, usage := worded(f)
		head = strong(head)
		if value != "" {
			head += " " + roff(value)
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", head, roff(usage))
	})
}

// related names the page above and those below.
func related(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if shown(sub) {
			names = append(names, pageName(sub))
		}
	}
	if len(names) == 0 {
		return
	}
	section(b, "SEE ALSO")
	for i, n := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		fmt.Fprintf(b, "%s(1)%s\n", strong(n), end)
	}
}

func strong(s string) string { return `\fB` + strings.TrimPrefix(roff(s), `\&`) + `\fR` }

// roff makes text that shows as it is: nothing in it is a command of troff.
func roff(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`, "–", `\[en]`).Replace(l)
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			l = `\&` + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// quoted is an argument of a macro.
func quoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
