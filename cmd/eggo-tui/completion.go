package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
)

func newCompletionCmd(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     env.P.T("cli.completion.short"),
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(env.Stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(env.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(env.Stdout, true)
			}
			return event.NewFault(event.ClassUsage, "usage.shell", nil, "shell", args[0])
		},
	}
}
