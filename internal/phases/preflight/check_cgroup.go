package preflight

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// cgroup1Refused is the minor since which the kubelet refuses cgroup v1 unless its configuration allows it.
const cgroup1Refused = 35

// checkCgroup: Kubernetes gives up cgroup v1.
func checkCgroup() Check {
	return Check{
		Name: "cgroup", Codes: []string{"preflight.cgroup-v1"}, Needs: Served, When: kubelets,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			m := in.BundleFor(n, f).Manifest()
			if f.Cgroup2 || bundle.Minor(m.Kubernetes) < cgroup1Refused {
				return nil
			}
			return one(event.Warning, n, "preflight.cgroup-v1", "version", m.Kubernetes)
		},
	}
}
