package preflight

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRestoreManifests: a restore stops static pods and starts them again with the manifests that they have.
func checkRestoreManifests() Check {
	return Check{
		Name: "restore-manifests", Codes: []string{"preflight.restore-manifests"}, Needs: Ours,
		Node: func(_ *Input, n config.Node, f *facts.Facts) []event.Finding {
			if len(f.NoManifest) == 0 {
				return nil
			}
			return one(event.Error, n, "preflight.restore-manifests", "components", strings.Join(f.NoManifest, ", "))
		},
	}
}
