package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkAddons finds that a bundle lacks manifests that deploy.yaml names. They are applied from control planes.
func checkAddons() Check {
	return Check{
		Name: "addons", Codes: []string{"bundle.no-addon"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			if !slices.Contains(s.Roles, bundle.ControlPlane) {
				return nil
			}
			m := s.Manifest()
			var out []event.Finding
			for _, a := range in.AddonFiles(m) {
				if _, ok := in.AddonMember(m, a); !ok && !config.IsURL(a) {
					out = append(out, bundleFault(event.Error, "bundle.no-addon", "addon", a, "arch", m.Arch)...)
				}
			}
			return out
		},
	}
}
