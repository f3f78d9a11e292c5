package phases

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// target is the manifest of the bundle that a node is served from; nil when there is none.
func (r *run) target(n config.Node) *bundle.Manifest {
	if b := r.BundleOf(n); b != nil {
		return b.Manifest()
	}
	return nil
}

// unstaged are the findings of bundles of the run that could not be unpacked or are not whole.
func (r *run) unstaged() []event.Finding {
	var out []event.Finding
	for _, s := range r.Sources() {
		if r.Nodes.Bundle(s.Key) == nil {
			out = append(out, r.Failure("bundle "+s.Key, ""))
		}
	}
	return out
}

// later are the hops after this one, as the checks see them.
func (h *hop) later() []preflight.Hop {
	var out []preflight.Hop
	for l := h.next; l != nil; l = l.next {
		one := preflight.Hop{Version: l.Version, Source: l.Source, Bundles: map[string]Bundle{},
			Failed: l.to.unstaged()}
		for _, s := range l.to.Sources() {
			if b := l.to.Nodes.Bundle(s.Key); b != nil {
				one.Bundles[s.Key] = b
			}
		}
		out = append(out, one)
	}
	return out
}

// etcdMinor says whether etcd comes to another minor: its data cannot go back. Of a bundle that is not there nothing is
// known, and so nothing is said.
func (h *hop) etcdMinor() bool {
	minor := func(r *run) string {
		for _, s := range r.Sources() { // of a later hop no node is known yet
			for _, n := range r.Cluster.With(bundle.Etcd) {
				b := r.Nodes.Bundle(s.Key)
				if b == nil {
					continue
				}
				if v := r.Cluster.EtcdVersion(n, b.Manifest()); v != "" {
					w := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
					return strings.Join(w[:min(2, len(w))], ".")
				}
			}
		}
		return ""
	}
	was, to := minor(h.was), minor(h.to)
	return was != "" && to != "" && was != to
}

// meet tells the runs of the hop what one of them has learnt of the nodes, and gives each its clients.
func (h *hop) meet(ctx context.Context) error {
	if err := h.to.HavePKI(ctx); err != nil {
		return err
	}
	others := []*run{h.was}
	if h.emu != nil {
		others = append(others, h.emu)
		for _, s := range h.to.Sources() {
			h.emu.SetBundle(s.Key, h.to.Nodes.Bundle(s.Key))
		}
	}
	for _, r := range others {
		r.Certs.Use(h.to.PKI())
		for _, n := range r.Cluster.Nodes {
			if nd := h.to.Node(n.Name); nd != nil {
				r.SetNode(n.Name, nd)
				r.SetFact(n.Name, h.to.Fact(n.Name))
			}
		}
		if err := r.ConnectAPI(); err != nil {
			return err
		}
	}
	return h.to.ConnectAPI()
}
