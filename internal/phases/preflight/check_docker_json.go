package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkDockerJSON: our dockerd has a configuration of its own and reads no other.
func checkDockerJSON() Check {
	return Check{
		Name: "docker-json", Codes: []string{"preflight.docker-json"},
		When: func(in *Input, n config.Node) bool { return kubelets(in, n) && in.Runtime == "docker" },
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.DockerJSON {
				return nil
			}
			return one(event.Warning, n, "preflight.docker-json")
		},
	}
}
