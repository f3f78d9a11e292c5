package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/phases"
)

// hookFlags are the hooks that a command line names: PATH[,ROLE], each flag several times.
type hookFlags struct {
	before, after         []string
	beforeKind, afterKind string
}

// clusterFlags adds --cluster-prehook and --cluster-posthook, of verbs that work on a cluster.
func (h *hookFlags) clusterFlags(cmd *cobra.Command, env *environment) {
	h.beforeKind, h.afterKind = phases.ClusterPreHook, phases.ClusterPostHook
	cmd.Flags().StringArrayVar(&h.before, h.beforeKind, nil, env.P.T("cli.flag.cluster-prehook"))
	cmd.Flags().StringArrayVar(&h.after, h.afterKind, nil, env.P.T("cli.flag.cluster-posthook"))
}

// nodeFlags adds --prehook and --posthook, of verbs that work on machines of a cluster.
func (h *hookFlags) nodeFlags(cmd *cobra.Command, env *environment) {
	h.beforeKind, h.afterKind = phases.PreHook, phases.PostHook
	cmd.Flags().StringArrayVar(&h.before, h.beforeKind, nil, env.P.T("cli.flag.prehook"))
	cmd.Flags().StringArrayVar(&h.after, h.afterKind, nil, env.P.T("cli.flag.posthook"))
}

// ofNodes says whether the hooks are those of nodes that join or are removed.
func (h *hookFlags) ofNodes() bool { return h.beforeKind == phases.PreHook }
