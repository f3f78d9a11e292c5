package preflight

import (
	"context"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkTakeoverSince refuses to take over a cluster of kubeadm that was changed since it was imported, where
// deploy.yaml and the state directory do not have the change: our components would run without it, and a key that is
// missing makes Secrets or tokens worthless. It reads what the import has read.
func checkTakeoverSince() Check {
	return Check{
		Name: "takeover-since", Codes: []string{"state.read"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			if !in.takesOver() || !in.deploysAll() || !in.Cluster.ByKubeadm() || in.Theirs == nil {
				return nil
			}
			var servers []takeover.Server
			for _, n := range in.Cluster.With(bundle.ControlPlane) {
				f, nd := in.Fact(n.Name), in.Nodes.Node(n.Name)
				if f == nil || nd == nil || !f.Imported() || f.Cluster != in.Cluster.Name {
					continue
				}
				s, err := in.Theirs.Server(ctx, nd.Host)
				if err != nil {
					return as(n.Name, err)
				}
				s.Node = n.Name
				if len(s.Ours) < len(takeover.Pods()) {
					servers = append(servers, s)
				}
			}
			if len(servers) == 0 { // all are ours
				return nil
			}
			c, err := in.Theirs.Objects(ctx)
			if err != nil {
				return as("", err)
			}
			is := *c
			is.Servers = servers
			kept := func(name string) ([]byte, error) {
				data, err := os.ReadFile(filepath.Join(in.StateDir, "pki", filepath.FromSlash(name)))
				if err != nil {
					return nil, event.NewFault(event.ClassPreflight, "state.read", err)
				}
				return data, nil
			}
			found, err := takeover.Drift{Cluster: &is, Has: in.hasArg, Serving: in.Cluster.KubeletServing,
				Kept: kept}.Lost()
			if err != nil {
				return append(found, as("", err)...)
			}
			return found
		},
	}
}
