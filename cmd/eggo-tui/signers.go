package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// newSignersCmd shows and changes whose bundles this control host installs.
func newSignersCmd(env *environment) *cobra.Command {
	p := env.P
	var output string
	cmd := &cobra.Command{
		Use: "signers", Short: p.T("cli.signers.short"), Long: p.T("cli.signers.long"), Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return listSigners(env, output) },
	}
	env.outputFlag(cmd, &output)
	var identity string
	add := &cobra.Command{
		Use: "add " + p.T("cli.arg.file"), Short: p.T("cli.signers.add"), Args: cli.Exactly(p.T("cli.arg.file")),
		Example: "  eggo-tui signers add allowed_signers\n  eggo-tui signers add key.pub --identity " +
			"builder@example.com",
		RunE: func(_ *cobra.Command, args []string) error { return addSigners(env, args[0], identity) },
	}
	add.Flags().StringVar(&identity, "identity", "", p.T("cli.signers.identity"))
	remove := &cobra.Command{
		Use: "remove " + p.T("cli.arg.signer"), Short: p.T("cli.signers.remove"),
		Args: cli.Exactly(p.T("cli.arg.signer")),
		RunE: func(_ *cobra.Command, args []string) error { return removeSigner(env, args[0]) },
	}
	cmd.AddCommand(add, remove)
	cli.Itself(cmd, "list")
	return cmd
}

func listSigners(env *environment, output string) error {
	if _, err := env.existing(); err != nil {
		return err
	}
	store := trust.In(env.stateRoot())
	known, err := store.Load()
	if err != nil {
		return err
	}
	var list []sign.Listed
	if known != nil {
		list = known.List()
	}
	if output == cli.JSON {
		out := env.lines()
		present.SignerLines(out, list)
		return out.Err
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Stdout, env.P.T("cli.signers.none", "file", store.Path()))
		return nil
	}
	env.print(present.Signers(env.P, list))
	return nil
}

// addSigners takes the lines of an allowed_signers file, or a public key under an identity. The file as a whole has to
// be understood.
func addSigners(env *environment, file, identity string) error {
	lines, err := trust.Lines(file, identity)
	if err != nil {
		return err
	}
	store := trust.In(env.stateRoot())
	n, err := store.Add(lines)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, env.P.T("cli.signers.added", "count", fmt.Sprint(n), "file", store.Path()))
	return nil
}

func removeSigner(env *environment, who string) error {
	store := trust.In(env.stateRoot())
	gone, err := store.Remove(who)
	if err != nil {
		return err
	}
	if len(gone) == 0 {
		return event.NewFault(event.ClassUsage, "trust.no-signer", nil, "who", event.Clean(who), "file", store.Path())
	}
	for _, l := range gone {
		fmt.Fprintln(env.Stdout, env.P.T("cli.signers.removed", "who", event.Clean(l.Principals), "type", l.KeyType,
			"key", l.Fingerprint))
	}
	if left, err := store.Load(); err == nil && left == nil {
		fmt.Fprintln(env.Stdout, env.P.T("cli.signers.last"))
	}
	return nil
}
