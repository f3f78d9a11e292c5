package phases

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeURLs fetches the manifests that deploy.yaml names by URL, on this machine: the nodes need no way there, and what
// cannot be had is told before anything is touched.
func (r *run) judgeURLs(ctx context.Context) []event.Finding {
	var out []event.Finding
	for _, url := range r.Manifests() {
		if !config.IsURL(url) {
			continue
		}
		if err := r.addons.Fetch(ctx, url); err != nil {
			f := event.NewFault(event.ClassPreflight, "preflight.manifest", err, "url", url)
			out = append(out, event.Finding{Severity: event.Error, Fault: *f})
		}
	}
	return out
}
