package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkAddonAPIs finds that manifests to apply use versions of the API that the bundle's Kubernetes does not serve: the
// step that applies them would fail, on a cluster that has the new version already. What runtime-config of deploy.yaml
// enables is served. Other checks name manifests that cannot be read.
func checkAddonAPIs() Check {
	return Check{
		Name: "addon-apis", Needs: Served, // the codes are kubeapi's
		Bundle: func(in *Input, s Source) []event.Finding {
			if in.Manifest == nil || !slices.Contains(s.Roles, bundle.ControlPlane) {
				return nil
			}
			enabled, _ := in.Cluster.ServerFlag("--runtime-config")
			m, table := s.Manifest(), kubeapi.Load()
			var out []event.Finding
			for _, name := range in.AddonFiles(m) {
				objects, err := in.Manifest(s.Bundle, name)
				if err != nil {
					continue
				}
				for _, u := range table.Check(m.Kubernetes, objects, kubeapi.Enabled(enabled)) {
					sev := in.ill()
					if u.Code == kubeapi.OnDemand {
						sev = event.Warning
					}
					out = append(out, event.Finding{Severity: sev,
						Fault: *u.Fault(event.ClassBundle, event.Clean(name), m.Kubernetes)})
				}
			}
			return out
		},
	}
}
