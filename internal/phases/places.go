package phases

import (
	"context"
	"path"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
)

// Whatever names a place on a node, a bundle or deploy.yaml, the place is held against one list (internal/nodepath)
// when it is loaded, again here, where both have been put together, and then on the node, where links may lead
// elsewhere.

// judgePlaces finds files that a machine would get at places where none may come from outside.
func (r *run) judgePlaces(n config.Node, f *facts.Facts) []event.Finding {
	b := r.BundleFor(n, f)
	if b == nil {
		return nil // told already
	}
	var out []event.Finding
	for _, p := range r.Members(n, b.Manifest()) {
		if fault := payload.PlaceFault(p); fault != nil {
			fault.Node = n.Name
			out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *fault})
		}
	}
	return out
}

// judgeTargets finds what CheckTargets would refuse on a node.
func (r *run) judgeTargets(ctx context.Context, n config.Node, nd *node.Node, b Bundle) []event.Finding {
	// told already
	list := slices.DeleteFunc(r.Members(n, b.Manifest()),
		func(p payload.Placed) bool { return payload.PlaceFault(p) != nil })
	if nodes.IsKubelet(n) {
		list = append(list, r.pluginPlace())
	}
	faults, err := r.TargetFaults(ctx, nd, list)
	if err != nil {
		faults = append(faults, event.AsFault(err).On(n.Name))
	}
	var out []event.Finding
	for _, f := range faults {
		out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *f})
	}
	return out
}

// pluginPlace stands for the plugins that a package or the network's pods may put beside ours.
func (r *run) pluginPlace() payload.Placed {
	return payload.Placed{File: path.Join(r.CNIDir(), "plugin"), Use: nodepath.Program}
}
