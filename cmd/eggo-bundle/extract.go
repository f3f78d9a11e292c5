package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
)

func newExtract(env *environment) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{
		Use:   "extract " + p.T("cli.arg.file") + " -o " + p.T("cli.arg.dir"),
		Short: p.T("bundle.cli.extract.short"), Long: p.T("bundle.cli.extract.long"),
		Args: cli.Exactly(p.T("cli.arg.file")),
	}
	out := cmd.Flags().StringP("out", "o", "", p.T("bundle.cli.flag.extract-out"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		if err := needed(cmd, "out"); err != nil {
			return err
		}
		var read *bundle.Report
		err = watched(env, args[0], func(progress func(done, total int64)) (err error) {
			read, err = bundle.Extract(cmd.Context(), args[0], *out, progress)
			return err
		})
		if err != nil {
			return err
		}
		if asJSON {
			o := fields{"file": args[0], "dir": *out, "id": read.ID, "members": read.Members, "bytes": read.Bytes}
			if read.Base != nil {
				o["base"] = read.Base
			}
			return env.emit("extracted", o)
		}
		err = env.say(p.T("bundle.cli.extracted", "file", args[0], "dir", *out, "members", fmt.Sprint(read.Members),
			"size", report.Amount(read.Bytes)))
		if b := read.Base; b != nil && err == nil {
			err = env.say("  " + p.T("bundle.cli.needs-base", "name", b.Name, "arch", b.Arch, "base", b.ID))
		}
		return err
	}
	return cmd
}
