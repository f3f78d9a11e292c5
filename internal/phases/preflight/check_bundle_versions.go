package preflight

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkBundleVersions: a cluster is of one version. What no machine needs may have another.
func checkBundleVersions() Check {
	return Check{
		Name: "bundle-versions", Codes: []string{"bundle.versions"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			for _, first := range in.sources() {
				if first.Bundle == nil || len(first.Roles) == 0 {
					continue
				}
				was, m := first.Manifest(), s.Manifest()
				if was.Kubernetes == m.Kubernetes {
					break
				}
				return bundleFault(event.Error, "bundle.versions", "bundle", was.Name, "other", m.Name, "version",
					was.Kubernetes, "other_version", m.Kubernetes)
			}
			return nil
		},
	}
}
