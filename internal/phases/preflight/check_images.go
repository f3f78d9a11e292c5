package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
)

// checkImages finds that a bundle lacks images that the cluster needs from the start. They are for machines with a
// kubelet; what a bundle for members of etcd and load balancers alone lacks of them, nobody misses.
func checkImages() Check {
	return Check{
		Name: "images", Codes: []string{"bundle.image-absent"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			if !slices.Contains(s.Roles, bundle.ControlPlane) && !slices.Contains(s.Roles, bundle.Worker) {
				return nil
			}
			m := s.Manifest()
			needed := []string{in.PauseImage(m)}
			if !in.DNSBinary() {
				needed = append(needed, in.DNSImage(m))
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
