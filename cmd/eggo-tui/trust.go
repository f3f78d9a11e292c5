package main

import (
	"github.com/spf13/cobra"
)

// trustOptions are the flags of the verbs that install from a bundle.
type trustOptions struct {
	signers       string // an allowed_signers file for this run, in place of the host's
	allowUnsigned bool
}

func (o *trustOptions) trustFlags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.signers, "signers", "", env.P.T("cli.flag.signers"))
	cmd.Flags().BoolVar(&o.allowUnsigned, "allow-unsigned", false, env.P.T("cli.flag.allow-unsigned"))
}
