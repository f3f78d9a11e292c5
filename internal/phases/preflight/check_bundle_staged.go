package preflight

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkBundleStaged is about a bundle that could not be unpacked, or is not whole.
func checkBundleStaged() Check {
	return Check{
		Name: "bundle-staged", Needs: Unseen,
		Bundle: func(in *Input, s Source) []event.Finding {
			return []event.Finding{in.Failure("bundle "+s.Key, "")}
		},
	}
}
