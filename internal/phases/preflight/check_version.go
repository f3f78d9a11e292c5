package preflight

import (
	"fmt"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkVersion compares the bundle's Kubernetes with the versions that this program writes configurations for. A bundle
// that says none is checked for what it lacks.
func checkVersion() Check {
	return Check{
		Name: "version", Codes: []string{"bundle.kubernetes-old", "bundle.kubernetes-new"}, Needs: Served,
		Bundle: func(_ *Input, s Source) []event.Finding {
			m := s.Manifest()
			kv := []string{"version", m.Kubernetes, "arch", m.Arch, "oldest", fmt.Sprintf("1.%d", bundle.OldestMinor),
				"newest", fmt.Sprintf("1.%d", bundle.NewestMinor)}
			switch minor := bundle.Minor(m.Kubernetes); {
			case m.Kubernetes == "":
			case minor < bundle.OldestMinor:
				return bundleFault(event.Error, "bundle.kubernetes-old", kv...)
			case minor > bundle.NewestMinor:
				return bundleFault(event.Warning, "bundle.kubernetes-new", kv...)
			}
			return nil
		},
	}
}
