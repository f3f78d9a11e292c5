package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
)

func newDeployCmd(env *environment) *cobra.Command {
	var o runOptions
	var rollback bool
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: env.P.T("cli.deploy.short"),
		Long:  env.P.T("cli.deploy.long"),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rollback {
				return event.NewFault(event.ClassUsage, "usage.rollback", nil)
			}
			return deploy(cmd.Context(), env, o)
		},
	}
	o.flags(cmd, env)
	o.trustFlags(cmd, env)
	o.hooks.clusterFlags(cmd, env)
	o.limitFlag(cmd, env)
	// The program of the manual tore everything down when something failed, unless it was told not to.
	cmd.Flags().BoolVar(&rollback, "rollback", false, env.P.T("cli.flag.rollback"))
	cmd.Flags().Lookup("rollback").Hidden = true
	return cmd
}

func deploy(ctx context.Context, env *environment, o runOptions) error {
	return begin(ctx, env, job{verb: "deploy", o: o, do: func(ctx context.Context, env *environment) error { return deployHere(ctx, env, o) }})
}

func deployHere(ctx context.Context, env *environment, o runOptions) error {
	s, err := openSession(ctx, env, o, "deploy")
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.setLimit(o.limit); err != nil {
		return s.over(err)
	}
	return s.run(ctx, s.limited(func(e phases.Env) *engine.Plan { return phases.Deploy(e) }), s.deployed)
}

// deployed says what runs where and what to do next.
func (s *session) deployed() []event.Msg {
	conf := s.adminConf()
	cp := s.cluster.With(bundle.ControlPlane)[0]
	out := []event.Msg{event.M("next.kubeconfig", "path", conf, "endpoint", s.cluster.Endpoint)}
	for _, n := range s.cluster.Nodes {
		out = append(out, event.M("next.node", "node", n.Name, "ip", n.IP.String(), "roles", roleList(n)))
	}
	return append(out,
		event.M("next.kubectl", "path", conf, "node", cp.Name),
		event.M("next.cleanup", "command", s.command("cleanup")+s.elsewhere()))
}

func roleList(n config.Node) string {
	out := ""
	for i, r := range n.Roles {
		if i > 0 {
			out += ", "
		}
		out += string(r)
	}
	return out
}
