package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// LangFlag finds --lang before the commands are built, because their help texts are in that language.
func LangFlag(args []string) string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--lang="); ok {
			return v
		}
		if a == "--lang" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// WatchStart sets started when the code of a verb begins: what fails before is a fault of the command line.
func WatchStart(cmd *cobra.Command, started *bool) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			*started = true
			return inner(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		WatchStart(sub, started)
	}
}
