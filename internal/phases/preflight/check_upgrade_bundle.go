package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeBundle wants the bundles to be of the version that they are to bring, or bring back: a file may have been
// replaced by another at the same path.
func checkUpgradeBundle() Check {
	return Check{
		Name: "upgrade-bundle", Codes: []string{"upgrade.bundle-version"},
		Cluster: func(_ context.Context, in *Input) []event.Finding { return in.ofVersion(in.Upgrade.To) },
	}
}

// ofVersion are the findings of bundles of the input that have another version than this.
func (in *Input) ofVersion(want string) []event.Finding {
	var out []event.Finding
	for _, s := range in.sources() {
		if s.Bundle == nil {
			continue
		}
		if is := s.Manifest().Kubernetes; is != want {
			out = append(out, Finding(event.Error, "", "upgrade.bundle-version", "file", s.Path, "is",
				event.Clean(is), "version", want))
		}
	}
	return out
}
