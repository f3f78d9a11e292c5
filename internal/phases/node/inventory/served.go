package inventory

import (
	"slices"
	"sort"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
)

func (r *Nodes) Arches() []string {
	var out []string
	for _, n := range r.Cluster.Nodes {
		if !slices.Contains(out, n.Arch) {
			out = append(out, n.Arch)
		}
	}
	sort.Strings(out)
	return out
}

// Sources are the bundles that the machines may need, by key: one of an architecture and those of eggo.bundles, in the
// order in which they are tried.
func (r *Nodes) Sources() []config.BundleSource {
	arches := r.Arches()
	var out []config.BundleSource
	for _, s := range r.Cluster.Bundles() {
		if s.Arch == "" || slices.Contains(arches, s.Arch) {
			out = append(out, s)
		}
	}
	for _, arch := range arches {
		if r.Cluster.Source.Bundles[arch] == "" && len(r.Cluster.Source.More) == 0 {
			out = append(out, config.BundleSource{Key: arch, Arch: arch}) // staging says that it is not given
		}
	}
	return out
}

// Candidates are the staged bundles of the machine's architecture.
func (r *Nodes) Candidates(n config.Node) []input.Bundle {
	var out []input.Bundle
	if b := r.Bundle(n.Arch); b != nil {
		out = append(out, b)
	}
	for _, s := range r.Cluster.Bundles() {
		if b := r.Bundle(s.Key); b != nil && s.Arch == "" && b.Manifest().Arch == n.Arch {
			out = append(out, b)
		}
	}
	return out
}

// BundleOf is the bundle that the machine is served from: of its architecture the first whose packages are for its
// operating system, else one without packages. It is nil when none fits, which preflight reports, and when the
// machine's facts are not known.
func (r *Nodes) BundleOf(n config.Node) input.Bundle {
	if f := r.Fact(n.Name); f != nil {
		return r.BundleFor(n, f)
	}
	return nil
}

// BundleFor is the bundle that a machine with these facts would be served from.
func (r *Nodes) BundleFor(n config.Node, f *facts.Facts) input.Bundle {
	var bare input.Bundle
	for _, b := range r.Candidates(n) {
		switch m := b.Manifest(); {
		case !f.Fits(m):
		case facts.HasPackages(m):
			return b
		case bare == nil:
			bare = b
		}
	}
	return bare
}

// Served are the machines that a bundle serves.
func (r *Nodes) Served(b input.Bundle) []config.Node {
	var out []config.Node
	for _, n := range r.Cluster.Nodes {
		if r.BundleOf(n) == b {
			out = append(out, n)
		}
	}
	return out
}
