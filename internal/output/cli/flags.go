package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eggo-k8s/eggo/internal/output/spelling"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// UnknownFlag names a flag that a command does not have, and the one that was probably meant.
func UnknownFlag(cmd *cobra.Command, e *pflag.NotExistError) *event.Fault {
	typed := "--" + e.GetSpecifiedName()
	like := ""
	if short := e.GetSpecifiedShortnames(); short != "" {
		typed, like = "-"+e.GetSpecifiedName(), likeShort(cmd, short)
	} else {
		like = likeLong(cmd, e.GetSpecifiedName())
	}
	args := []string{"flag", event.Clean(typed)}
	if like != "" {
		args = append(args, "like", "--"+like)
	}
	return event.NewFault(event.ClassUsage, "usage.flag-unknown", nil, args...)
}

// leastBeginning is how many letters of a flag name it.
const leastBeginning = 3

// likeLong is the flag whose name is nearly what was typed, or the only one that begins so.
func likeLong(cmd *cobra.Command, typed string) string {
	names := flagNames(cmd)
	if like := spelling.Nearest(typed, names); like != "" || len(typed) < leastBeginning {
		return like
	}
	return only(names, typed)
}

// likeShort is the flag that was typed with one dash (-output), or else the only one that begins with its letter.
func likeShort(cmd *cobra.Command, typed string) string {
	names := flagNames(cmd)
	if len(typed) > 1 {
		word, _, _ := strings.Cut(typed, "=")
		return spelling.Nearest(word, names)
	}
	return only(names, typed)
}

// only is the word that begins so, if it is the only one.
func only(words []string, beginning string) string {
	found := ""
	for _, w := range words {
		switch {
		case !strings.HasPrefix(w, beginning):
		case found != "":
			return ""
		default:
			found = w
		}
	}
	return found
}

// flagNames are the flags that the command's help shows.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			names = append(names, f.Name)
		}
	})
	return names
}
