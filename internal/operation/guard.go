package operation

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/desired"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// permits refuses a request that names commands or files of a control host where there is none, and one that needs
// snapshots of etcd where they cannot be kept.
func (d Deps) permits(q request.Request) error {
	if what := request.OfControlHost(q); what != "" && !d.ControlHost {
		return event.NewFault(event.ClassUsage, "usage.no-control-host", nil, "what", what)
	}
	switch q.Verb() {
	case request.VerbUpgrade, request.VerbBack, request.VerbSnapshot, request.VerbRestore:
		if d.NoSnapshots {
			return event.NewFault(event.ClassPreflight, "state.no-snapshots", nil)
		}
	case request.VerbBackup:
		if d.NoBackups {
			return event.NewFault(event.ClassPreflight, "state.no-backups", nil)
		}
	}
	return nil
}

// RolePrefix distinguishes a role in a limit from a node of that name.
const RolePrefix = "role:"

// Limit finds the nodes of a limit, by name or role:ROLE, in the order of deploy.yaml.
func Limit(c *config.Cluster, limit []string) ([]string, error) {
	named := map[string]bool{}
	for _, l := range limit {
		role, isRole := strings.CutPrefix(l, RolePrefix)
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
			return nil, event.NewFault(event.ClassUsage, "usage.limit", nil, "value", l, "cluster", c.Name,
				"nodes", strings.Join(names(c.Nodes), ", "), "roles", strings.Join(roles(c), ", "))
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

// roles are those that a cluster has, as a limit takes them.
func roles(c *config.Cluster) []string {
	var out []string
	for _, r := range bundle.AllRoles() {
		if len(c.With(r)) > 0 {
			out = append(out, RolePrefix+string(r))
		}
	}
	return out
}

// Removable returns nodes by name or address, and refuses those that the cluster cannot be without.
func Removable(c *config.Cluster, named []string) ([]config.Node, error) {
	var out []config.Node
	for _, a := range named {
		i := indexOf(c, a)
		if i < 0 {
			return nil, event.NewFault(event.ClassUsage, "delete.unknown", nil, "name", a, "known",
				strings.Join(names(c.Nodes), ", "), "cluster", c.Name)
		}
		n := c.Nodes[i]
		if !slices.ContainsFunc(out, called(n.Name)) {
			out = append(out, n)
		}
	}
	stay := slices.DeleteFunc(slices.Clone(c.Nodes), func(n config.Node) bool {
		return slices.ContainsFunc(out, called(n.Name))
	})
	if err := desired.Removable(c.Name, out, stay); err != nil {
		return nil, err
	}
	return out, nil
}

// Alone finds nodes that are cleaned up by themselves, by name or address; an address that the cluster does not
// have any more may have had any role.
func Alone(c *config.Cluster, named []string) ([]config.Node, error) {
	var out []config.Node
	for _, a := range named {
		i := indexOf(c, a)
		if i >= 0 {
			out = append(out, c.Nodes[i])
			continue
		}
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return nil, event.NewFault(event.ClassUsage, "cleanup.unknown", nil,
				"name", a, "cluster", c.Name, "known", strings.Join(names(c.Nodes), ", "))
		}
		out = append(out, config.Node{
			Name: a, IP: ip.Unmap(), Port: 22, Arch: "amd64",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd},
		})
	}
	return out, nil
}

// OnlyCluster is the cluster that is named, or the one that the store has.
func OnlyCluster(ctx context.Context, st Store, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	known, err := st.Clusters(ctx)
	if err != nil {
		return "", err
	}
	switch len(known) {
	case 1:
		return known[0], nil
	case 0:
		return "", Unconfigured(ctx, st, "")
	}
	return "", event.NewFault(event.ClassUsage, "usage.which-cluster", nil,
		"dir", st.Where(), "known", strings.Join(known, ", "))
}

// indexOf finds a node by name or address.
func indexOf(c *config.Cluster, nameOrIP string) int {
	ip, _ := netip.ParseAddr(nameOrIP)
	return slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name == nameOrIP || n.IP == ip.Unmap() })
}

func called(name string) func(config.Node) bool {
	return func(n config.Node) bool { return n.Name == name }
}

func names(nodes []config.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}
