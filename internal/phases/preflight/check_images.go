package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkImages finds that a bundle lacks images that the cluster needs from the start: those that components run from,
// and for machines with a kubelet those of every pod and of DNS.
func checkImages() Check {
	return Check{
		Name: "images", Codes: []string{"bundle.image-absent"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			m := s.Manifest()
			n := config.Node{Roles: s.Roles}
			needed := in.Needed(n, m)
			if inventory.IsKubelet(n) {
				needed = append(needed, in.PauseImage(m))
				if !in.Cluster.DNS.IsBinary() {
					needed = append(needed, in.DNSImage(m))
				}
			}
			var out []event.Finding
			for _, want := range needed {
				if !slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return i.Name == want }) {
					out = append(out, bundleFault(event.Error, "bundle.image-absent", "image", want, "arch", m.Arch)...)
				}
			}
			return out
		},
	}
}
