package clitest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A word of pflag's for a type is no word of a user's.
func TestATypeIsNoWord(t *testing.T) {
	root := &cobra.Command{Use: "prog"}
	root.Flags().String("file", "", "the `FILE` to read")
	root.Flags().StringToString("set", nil, "`KEY=VALUE`, may be repeated")
	root.Flags().Bool("force", false, "overwrite")
	root.Flags().String("hidden", "", "nobody sees it")
	root.Flags().Lookup("hidden").Hidden = true
	if got := WithoutWord(root); len(got) > 0 {
		t.Error(got)
	}
	sub := &cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringArray("hook", nil, "a script")
	sub.Flags().Duration("wait", 0, "how long")
	root.AddCommand(sub)
	if got := strings.Join(WithoutWord(root), ", "); got != "sub --hook stringArray, sub --wait duration" {
		t.Error(got)
	}
}

// What differs from the other programs, and what the manual lacks, is found.
func TestFlagsThatDiffer(t *testing.T) {
	root := &cobra.Command{Use: "prog", Run: func(*cobra.Command, []string) {}}
	root.Flags().String("output", "table", "the form")
	root.Flags().String("out", "", "`FILE` to write")
	if got := strings.Join(DifferentOutput(root, "`FORM` text or json"), ","); got !=
		" --out: -, --output: the form (table)" {
		t.Error(got)
	}
	if got := strings.Join(MissingInManual(root, t.TempDir()), ", "); got != "prog.1, prog --out, prog --output" {
		t.Error(got)
	}
}
