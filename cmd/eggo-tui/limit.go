package main

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases"
)

// rolePrefix distinguishes a role in --limit from a node of that name.
const rolePrefix = "role:"

// limitTo finds the nodes of --limit, by name or role, in the order of deploy.yaml.
func limitTo(c *config.Cluster, limit []string) ([]string, error) {
	named := map[string]bool{}
	for _, l := range limit {
		role, isRole := strings.CutPrefix(l, rolePrefix)
		if role == "master" { // deploy.yaml's own word
			role = string(bundle.ControlPlane)
		}
		found := false
		for _, n := range c.Nodes {
			if isRole && n.Has(bundle.Role(role)) || !isRole && n.Name == l {
				named[n.Name], found = true, true
			}
		}
		if !found {
			return nil, event.NewFault(event.ClassUsage, "usage.limit", nil, "value", l, "cluster", c.Name, "nodes", strings.Join(names(c.Nodes), ", "), "roles", strings.Join(roles(c), ", "))
		}
	}
	var out []string
	for _, n := range c.Nodes {
		if named[n.Name] {
			out = append(out, n.Name)
		}
	}
	return out, nil
}

// roles are those that a cluster has, as --limit takes them.
func roles(c *config.Cluster) []string {
	var out []string
	for _, r := range bundle.AllRoles() {
		if len(c.With(r)) > 0 {
			out = append(out, rolePrefix+string(r))
		}
	}
	return out
}

// setLimit keeps the session's run to the nodes of --limit.
func (s *session) setLimit(limit []string) error {
	if len(limit) == 0 {
		return nil
	}
	var err error
	if s.limit, err = limitTo(s.cluster, limit); err != nil {
		return err
	}
	s.again += " --limit " + shellWord(strings.Join(limit, ","))
	return nil
}

// within are the nodes of the session's limit.
func (s *session) within() []config.Node {
	return slices.DeleteFunc(slices.Clone(s.cluster.Nodes), func(n config.Node) bool { return !slices.Contains(s.limit, n.Name) })
}

// limited is a plan within the session's limit.
func (s *session) limited(make func(phases.Env) *engine.Plan) func(phases.Env) *engine.Plan {
	if len(s.limit) == 0 {
		return make
	}
	return func(e phases.Env) *engine.Plan {
		e.Limit = slices.Clone(s.limit)
		return phases.Limit(make(e), e.Limit)
	}
}
