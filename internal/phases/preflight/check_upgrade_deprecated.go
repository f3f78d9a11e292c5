package preflight

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeDeprecated finds APIs in use that one of the versions on the way no longer has. Every API server counts
// the requests that it got itself, since its start.
func checkUpgradeDeprecated() Check {
	return Check{
		Name: "upgrade-deprecated", Codes: []string{"upgrade.api-removed", "upgrade.no-metrics"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			if in.Upgrade.Objects == nil {
				return nil
			}
			servers := in.Cluster.With(bundle.ControlPlane)
			lists, faults := make([][]deprecated, len(servers)), make([]error, len(servers))
			var wg sync.WaitGroup
			for i, n := range servers {
				wg.Go(func() { lists[i], faults[i] = in.deprecated(ctx, n) })
			}
			wg.Wait()
			var out []event.Finding
			asked := map[deprecated][]string{}
			for i, n := range servers {
				if faults[i] != nil {
					out = append(out, Finding(event.Warning, n.Name, "upgrade.no-metrics", "cause",
						event.Clean(faults[i].Error())))
				}
				for _, d := range lists[i] {
					if d.removed <= bundle.Minor(in.last()) && !slices.Contains(asked[d], n.Name) {
						asked[d] = append(asked[d], n.Name)
					}
				}
			}
			for _, d := range slices.SortedFunc(maps.Keys(asked), func(a, b deprecated) int {
				return strings.Compare(a.api, b.api)
			}) {
				out = append(out, Finding(in.ill(), "", "upgrade.api-removed", "api", d.api, "removed",
					fmt.Sprintf("1.%d", d.removed), "servers", strings.Join(asked[d], ", ")))
			}
			return out
		},
	}
}

// deprecated are the deprecated APIs that a control plane's server was asked for. That a server does not answer at all
// is told by the check upgrade-skew.
func (in *Input) deprecated(ctx context.Context, n config.Node) ([]deprecated, error) {
	if _, err := in.serverVersion(ctx, n); err != nil {
		return nil, nil //nolint:nilerr // it is told
	}
	const most = 256 << 20
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	body, err := in.Upgrade.Server(ctx, n, "/metrics")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readDeprecated(io.LimitReader(body, most))
}
