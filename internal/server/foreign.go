package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// defaultPort is that of SSH, of a machine that has no other one.
const defaultPort = 22

// familiar refuses who is no administrator of the cluster and names a machine that the cluster does not have, or a host
// key: the server would log in to it with the keys and passwords of the cluster, and whoever has that machine would
// have them. Where a run has made the cluster, a port that is not said is the one that the machine has.
func (s *Server) familiar(ctx context.Context, cluster string, has, names []clusterspec.Node, made bool) error {
	i := slices.IndexFunc(names, func(n clusterspec.Node) bool {
		return len(n.HostKeys) > 0 || !slices.ContainsFunc(has, func(o clusterspec.Node) bool {
			port, its := cmp.Or(n.Port, defaultPort), cmp.Or(o.Port, defaultPort)
			return n.Name == o.Name && clusterspec.SameAddress(n.Address, o.Address) &&
				(port == its || made && n.Port == 0)
		})
	})
	if i < 0 {
		return nil
	}
	who, _ := access.From(ctx)
	role, err := s.Access.RoleOf(ctx, who, cluster)
	if err != nil || role.May(access.Administer) {
		return err
	}
	return event.NewFault(event.ClassAuth, "access.machine", nil, "name", names[i].Name, "address", names[i].Address,
		"cluster", cluster)
}

// machinesOf are nodes and, as one of them, the load balancer.
func machinesOf(nodes []clusterspec.Node, b *clusterspec.Balancer) []clusterspec.Node {
	if b == nil {
		return nodes
	}
	return append(slices.Clone(nodes), clusterspec.Node{Name: b.Name, Address: b.Address, Port: b.Port})
}
