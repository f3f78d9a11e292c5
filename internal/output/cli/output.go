package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The forms of output, which are those of every command of both programs that has --output.
const (
	Text = "text" // for people
	JSON = "json" // one object a line
)

// OutputFlag adds --output to a command: what it is unless given, "" for text, and its sentence.
func OutputFlag(cmd *cobra.Command, to *string, preset, sentence string) {
	cmd.Flags().StringVar(to, "output", cmp.Or(preset, Text), sentence)
}

// CheckOutput refuses a value of --output that there is not. The words that earlier versions took for text stay
// accepted, because scripts have them.
func CheckOutput(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("output")
	if f == nil {
		return nil
	}
	switch v := f.Value.String(); v {
	case Text, JSON:
		return nil
	case "plain", "table", "auto":
		return f.Value.Set(Text)
	default:
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", event.Clean(v),
			"choices", Text+", "+JSON)
	}
}
