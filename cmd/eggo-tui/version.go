package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// version is set by the linker in releases; other builds take what the toolchain recorded.
var version string

func buildVersion() string { return cli.Version(version) }

func newVersionCmd(env *environment) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: env.P.T("cli.version.short"),
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == cli.Text {
				_, err := fmt.Fprintf(env.Stdout, "%s %s (%s, %s/%s)\n", cmd.Root().Name(), buildVersion(),
					runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return err
			}
			return json.NewEncoder(env.Stdout).Encode(map[string]string{
				"version": buildVersion(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			})
		},
	}
	env.outputFlag(cmd, &output)
	return cmd
}
