package preflight

import (
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Whatever names a place on a node, a bundle or deploy.yaml, the place is held against one list
// (internal/bundle/nodepath) when it is loaded, again here, where both have been put together, and then on the node,
// where links may lead elsewhere.

// checkPlaces finds files that a machine would get at places where none may come from outside.
func checkPlaces() Check {
	return Check{
		Name: "places", Needs: Served,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			var out []event.Finding
			for _, p := range in.Members(n, in.BundleFor(n, f).Manifest()) {
				if fault := payload.PlaceFault(p); fault != nil {
					fault.Node = n.Name
					out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *fault})
				}
			}
			return out
		},
	}
}
