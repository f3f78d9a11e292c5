package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// looking adds the flags of the verbs that only look.
func (o *runOptions) looking(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	o.lookingAt(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("file", "id")
}

// lookingAt are the flags of looking but for -f, which is another file to some verbs.
func (o *runOptions) lookingAt(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	env.outputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
}

// lines begins the lines of --output json.
func (env *environment) lines() *present.Lines { return present.NewLines(env.Stdout, buildVersion()) }

// print writes a document to stdout.
func (env *environment) print(d document.Document) { env.printTo(env.Stdout, d) }

// printTo writes a document as what is written to takes it.
func (env *environment) printTo(w io.Writer, d document.Document) {
	fmt.Fprint(w, cli.ScreenOf(w, env.Getenv).Document(d))
}

// printFindings writes what preflight found to stderr.
func (env *environment) printFindings(list []event.Finding) {
	env.printTo(env.Stderr, present.Findings(env.P, list))
}
