package clitest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// MissingInManual lists the commands and flags that the help shows and the manual pages in a directory do not.
func MissingInManual(root *cobra.Command, dir string) []string {
	var out []string
	each(root, func(cmd *cobra.Command) {
		if !shown(cmd) {
			return
		}
		page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		data, err := os.ReadFile(filepath.Join(dir, page+".1"))
		if err != nil {
			out = append(out, page+".1")
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(data), strings.ReplaceAll("--"+f.Name, "-", `\-`)) {
				out = append(out, page+" --"+f.Name)
			}
		})
	})
	return out
}

// shown reports whether the command and those above it are in the help.
func shown(cmd *cobra.Command) bool {
	return !cmd.Hidden && (!cmd.HasParent() || shown(cmd.Parent()))
}

// DifferentOutput lists the flags by which a program breaks the rules of all programs: --output takes text or json and
// has this one sentence, and -o is --out.
func DifferentOutput(root *cobra.Command, sentence string) []string {
	want := sentence
	if parts := strings.SplitN(sentence, "`", 3); len(parts) == 3 && parts[0] == "" { // the word for its value
		want = strings.TrimSpace(parts[2])
	}
	var out []string
	each(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := cli.Path(cmd) + " --" + f.Name
			if f.Name == "output" && (!strings.HasPrefix(f.Usage, want) || f.Value.String() != cli.Text) {
				out = append(out, name+": "+f.Usage+" ("+f.Value.String()+")")
			}
			if (f.Name == "out") != (f.Shorthand == "o") {
				out = append(out, name+": -"+f.Shorthand)
			}
		})
	})
	return out
}

// WithoutCompletion lists the flags that take a value and have no completion. A new flag must define one.
func WithoutCompletion(root *cobra.Command) []string {
	var out []string
	each(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.NoOptDefVal == "" {
				out = append(out, strings.TrimSpace(cli.Path(cmd)+" --"+f.Name))
			}
		})
	})
	return out
}

// valueWord is the annotation in which package cli keeps the word for a flag's value after it took it out of the
// sentence. With another one, all such flags would be listed by WithoutWord.
const valueWord = "eggo-value"

// WithoutWord lists the flags that the help shows with a type of pflag's (stringArray) in place of a word for the value
// (FILE): the sentence of a flag has that word between backquotes.
func WithoutWord(root *cobra.Command) []string {
	var out []string
	each(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			word, _ := pflag.UnquoteUsage(f)
			if kept := f.Annotations[valueWord]; len(kept) == 1 {
				word = kept[0]
			}
			if !f.Hidden && word != strings.ToUpper(word) {
				out = append(out, strings.TrimSpace(cli.Path(cmd)+" --"+f.Name)+" "+word)
			}
		})
	})
	return out
}
