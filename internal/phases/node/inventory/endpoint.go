package inventory

import (
	"net"
	"path"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// EndpointName is the name by which the cluster is reached; "" when it is an address, or a node's name, which all nodes
// are told anyway.
func (r *Nodes) EndpointName() string {
	host, _, err := net.SplitHostPort(r.Cluster.Endpoint)
	if err != nil || net.ParseIP(host) != nil || slices.ContainsFunc(r.Cluster.Nodes,
		func(n config.Node) bool { return n.Name == host }) {
		return ""
	}
	return host
}

// EndpointAddress is where the endpoint must be, as far as deploy.yaml tells: at the load balancer, or at the only
// control plane. "" when there are several control planes and something that we do not know stands before them.
func (r *Nodes) EndpointAddress() string {
	if lb := r.Cluster.With(bundle.LoadBalancer); len(lb) > 0 {
		return lb[0].IP.String()
	}
	if cps := r.Cluster.With(bundle.ControlPlane); len(cps) == 1 {
		return cps[0].IP.String()
	}
	return ""
}

// EndpointBefore is EndpointAddress while nodes may still use a load balancer that lives and that deploy.yaml no longer
// has: the new one does not answer yet. "" when there is none.
func (r *Nodes) EndpointBefore() string {
	if a := r.FormerLiving().Address(); a.IsValid() && r.EndpointName() != "" {
		return a.String()
	}
	return ""
}

// SentDir is where bundle's packages and images lie on the node until they are installed and loaded:
// package-src.distpath, or a place of ours.
func (r *Nodes) SentDir() string {
	if d := r.Cluster.Source.DstPath; d != "" {
		return path.Join(d, "eggo-node")
	}
	return node.Dir
}

// SpaceFor is the path whose file system holds what is sent, in the words of Facts.Free.
func (r *Nodes) SpaceFor() string {
	if d := r.Cluster.Source.DstPath; d != "" {
		return d
	}
	return node.Dir
}
