// Package cli has what the commands of both programs get beside their work: completion in shells, and manual pages.
package cli

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Values say what a shell may complete. A key is a flag ("--id"), a flag of one command ("certs list --output"), or a
// command, for its arguments ("logs"). The program's own name is not part of it.
type Values map[string]cobra.CompletionFunc

// Apply gives the commands their values. What no key names is not completed at all, instead of with the names of files.
// It returns the keys that fit nothing, sorted.
func (v Values) Apply(root *cobra.Command) []string {
	unused := maps.Clone(v)
	find := func(keys ...string) cobra.CompletionFunc {
		for _, k := range keys {
			if f := v[k]; f != nil {
				delete(unused, k)
				return f
			}
		}
		return nil
	}
	eachCommand(root, func(cmd *cobra.Command) {
		path := Path(cmd)
		own(cmd, func(f *pflag.Flag) {
			if fn := find(path+" --"+f.Name, "--"+f.Name); fn != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, fn) // fails for flags that there are not, or done twice
			}
		})
		switch fn := find(path); {
		case fn != nil:
			cmd.ValidArgsFunction = fn
		case len(cmd.ValidArgs) == 0:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	})
	return slices.Sorted(maps.Keys(unused))
}

// Path are the words that lead to a command, without the program's name.
func Path(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// eachCommand goes through a command and all below it.
func eachCommand(cmd *cobra.Command, use func(*cobra.Command)) {
	use(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, use)
	}
}

// own goes through the flags that a command adds to those of the commands above it.
func own(cmd *cobra.Command, use func(*pflag.Flag)) {
	cmd.LocalFlags().VisitAll(use)
}

// Words completes with one of some words.
func Words(words ...string) cobra.CompletionFunc {
	return One(Always(words...))
}

// Files completes with files, those with one of the endings if any is named ("yaml").
func Files(endings ...string) cobra.CompletionFunc {
	if len(endings) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(endings, cobra.ShellCompDirectiveFilterFileExt)
}

// Dirs completes with directories.
func Dirs() cobra.CompletionFunc {
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
}

// Finder finds the words that may stand in a place.
type Finder func(cmd *cobra.Command, args []string) []string

// One completes with one of the words that are found.
func One(find Finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return begin(find(cmd, args), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// First is One for the first argument; there is no second.
func First(find Finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return One(find)(cmd, args, typed)
	}
}

// Several completes arguments with the words that are found, each once.
func Several(find Finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return begin(without(find(cmd, args), args), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// List completes a list with commas, with each word once. No space follows: a comma may.
func List(find Finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		i := strings.LastIndex(typed, ",") + 1
		var out []cobra.Completion
		for _, w := range begin(without(find(cmd, args), strings.Split(typed[:i], ",")), typed[i:]) {
			out = append(out, typed[:i]+w)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// Always finds the same words.
func Always(words ...string) Finder {
	return func(*cobra.Command, []string) []string { return words }
}

// begin are the words that begin with what was typed, without what a shell or a terminal would take for more than text.
func begin(words []string, typed string) []cobra.Completion {
	var out []cobra.Completion
	for _, w := range words {
		word, what, described := strings.Cut(w, "\t")
		if word = event.Clean(word); word == "" || !strings.HasPrefix(word, typed) {
			continue
		}
		if described {
			word += "\t" + event.Clean(what)
		}
		out = append(out, word)
	}
	return out
}

func without(words, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		word, _, _ := strings.Cut(w, "\t")
		return slices.Contains(gone, word)
	})
}

// NewCompletion makes the command that prints the completion script of a shell.
func NewCompletion(short string, out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: short, ValidArgs: []string{"bash", "zsh", "fish"},
		Args: Exactly("bash|zsh|fish"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return event.NewFault(event.ClassUsage, "usage.shell", nil, "shell", args[0])
		},
	}
}
