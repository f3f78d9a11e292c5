package preflight

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkManifestURLs fetches the manifests that deploy.yaml names by URL, on this machine: the nodes need no way there,
// and what cannot be had is told before anything is touched.
func checkManifestURLs() Check {
	return Check{
		Name: "manifest-urls", Codes: []string{"preflight.manifest"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			var out []event.Finding
			for _, url := range in.Manifests() {
				if !config.IsURL(url) {
					continue
				}
				if err := in.Fetch(ctx, url); err != nil {
					out = append(out, as("", event.NewFault(event.ClassPreflight, "preflight.manifest", err, "url",
						url))...)
				}
			}
			return out
		},
	}
}
