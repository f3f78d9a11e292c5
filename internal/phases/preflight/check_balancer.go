package preflight

import (
	"context"
	"net"
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkBalancer is about load balancers and endpoints that the cluster has and deploy.yaml no longer names: what will
// be done is told, and an endpoint that would be lost with its load balancer is refused.
func checkBalancer() Check {
	return Check{
		Name: "balancer",
		Codes: []string{"preflight.endpoint-moves", "preflight.endpoint-record", "preflight.endpoint-stays",
			"preflight.balancer-leaves", "preflight.balancer-stops", "preflight.balancer-gone",
			"preflight.balancer-waits"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			f := in.Former()
			if !f.Any() {
				return nil
			}
			var out []event.Finding
			for _, was := range f.Endpoints {
				out = append(out, Finding(event.Warning, "", "preflight.endpoint-moves", "is", was, "want",
					in.Cluster.Endpoint))
			}
			if name := in.EndpointName(); name != "" && len(f.Balancers) > 0 {
				out = append(out, Finding(event.Warning, "", "preflight.endpoint-record", "name", name))
			}
			for _, b := range f.Balancers {
				out = append(out, in.former(b))
			}
			if !in.reachesAll() {
				out = append(out, Finding(event.Warning, "", "preflight.balancer-waits"))
			}
			return out
		},
	}
}

// former is what becomes of a load balancer of old.
func (in *Input) former(b input.Balancer) event.Finding {
	n, port := in.FormerNode(b), strconv.Itoa(b.Bind)
	stays := slices.ContainsFunc(in.Cluster.Nodes, func(o config.Node) bool { return o.IP == n.IP })
	switch why := in.Failure(n.Name, n.Name); {
	case in.Cluster.Endpoint == net.JoinHostPort(b.IP.String(), port):
		return Finding(event.Error, n.Name, "preflight.endpoint-stays", "endpoint", in.Cluster.Endpoint)
	case stays:
		return Finding(event.Warning, n.Name, "preflight.balancer-stops", "port", port)
	case in.Nodes.Node(n.Name) != nil:
		return Finding(event.Warning, n.Name, "preflight.balancer-leaves", "ip", n.IP.String(), "port", port)
	case why.Fault.Class == event.ClassLocked:
		return why
	default:
		return Finding(event.Warning, n.Name, "preflight.balancer-gone", "ip", n.IP.String(), "port", port, "cause",
			event.Clean(why.Fault.Error()), "cluster", in.Cluster.Name)
	}
}

// reachesAll says whether the run's limit has every node that uses the API's endpoint.
func (in *Input) reachesAll() bool {
	return len(in.Limit) == 0 || !slices.ContainsFunc(inventory.Kubelets(in.Cluster), func(n config.Node) bool {
		return !slices.Contains(in.Limit, n.Name)
	})
}

// balancerOnly says whether a machine was a load balancer and nothing else.
func balancerOnly(n config.Node) bool {
	return slices.Equal(n.Roles, []bundle.Role{bundle.LoadBalancer})
}
