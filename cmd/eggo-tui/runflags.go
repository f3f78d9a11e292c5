package main

import (
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// runOptions are the flags of the verbs that run a plan.
type runOptions struct {
	file     string
	id       string // cluster whose own deploy.yaml is taken; not with file
	fileless bool   // the verb takes no deploy.yaml with -f
	output   string
	hostKeys string
	takeOver uint64
	failure  string
	limit    []string
	hooks    hookFlags
	// foreground keeps the run in this process.
	foreground bool
	// begun is set when a run has begun, or may have; nil: nobody asks.
	begun *bool
	trustOptions
}

// hasBegun notes that a run has begun, or may have.
func (o *runOptions) hasBegun() {
	if o.begun != nil {
		*o.begun = true
	}
}

func (o *runOptions) flags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	o.common(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("file", "id")
}

// undoFlag is --on-failure of verbs whose changes can be undone.
func (o *runOptions) undoFlag(cmd *cobra.Command, env *environment) {
	cmd.Flags().Lookup("on-failure").Usage = env.P.T("cli.flag.on-failure.undo")
}

// destroying are the flags of verbs that destroy, which have no default for the cluster.
func (o *runOptions) destroying(cmd *cobra.Command, env *environment) {
	o.flags(cmd, env)
	cmd.Flags().Lookup("file").Usage = env.P.T("cli.flag.deploy-file.destroys")
}

// common are the flags of flags but for -f, which is another file to some verbs.
func (o *runOptions) common(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	env.outputFlag(cmd, &o.output)
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.failure, "on-failure", "", env.P.T("cli.flag.on-failure"))
	cmd.Flags().BoolVar(&o.foreground, "foreground", false, env.P.T("cli.flag.foreground"))
	o.takeOverFlag(cmd, env)
}

func (o *runOptions) takeOverFlag(cmd *cobra.Command, env *environment) {
	cmd.Flags().Uint64Var(&o.takeOver, "take-over", 0, env.P.T("cli.flag.take-over"))
}

func (o *runOptions) limitFlag(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringSliceVar(&o.limit, "limit", nil, env.P.T("cli.flag.limit"))
}

// whoami names this run to another operator who finds the cluster or a node locked.
func whoami(verb string) journal.Holder {
	h := journal.Holder{Program: "eggo-tui", PID: os.Getpid(), Verb: verb, Since: time.Now()}
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	if name, err := os.Hostname(); err == nil {
		h.Host = name
	}
	return h
}
