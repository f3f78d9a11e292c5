package main

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// confirmDelete asks for a yes.
func (env *environment) confirmDelete(ctx context.Context, s *operation.Scope) error {
	env.listNodes(s.Targets())
	answer, err := askLine(ctx, env, env.P.T("ask.delete", "cluster", s.Cluster().Name))
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed-delete", nil)
	}
	return nil
}

// confirmCleanup shows what will go, from the records of the nodes themselves, and asks for the cluster's name.
func (env *environment) confirmCleanup(ctx context.Context, s *operation.Scope, purge bool) error {
	for inv := range s.Inventory(ctx, purge) {
		env.printTo(env.Stderr, present.Inventory(env.P, inv))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return env.confirmName(ctx, s, "ask.cluster-name")
}

// confirmRestore asks for the cluster's name, after its nodes.
func (env *environment) confirmRestore(ctx context.Context, s *operation.Scope) error {
	env.listNodes(s.Targets())
	return env.confirmName(ctx, s, "ask.restore-name")
}

func (env *environment) confirmName(ctx context.Context, s *operation.Scope, ask string) error {
	name, err := askLine(ctx, env, env.P.T(ask, "cluster", s.Cluster().Name))
	if err != nil {
		return err
	}
	if name != s.Cluster().Name {
		return event.NewFault(event.ClassUsage, "usage.not-confirmed", nil)
	}
	return nil
}

func (env *environment) listNodes(nodes []config.Node) {
	env.printTo(env.Stderr, present.Nodes(nodes))
}
