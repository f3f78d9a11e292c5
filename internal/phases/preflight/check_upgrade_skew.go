package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// oldest is by how many minors a kubelet or a kube-proxy may be older than an API server.
const oldest = 3

// checkUpgradeSkew holds the versions in the cluster against what Kubernetes supports: API servers as the upgrade
// begins from them, kubelets not newer than they are, and none that would be more than three minors older than an API
// server at the end. What is in deploy.yaml and within the limit is brought along, and counts for the next hop alone.
func checkUpgradeSkew() Check {
	return Check{
		Name: "upgrade-skew", Codes: []string{"upgrade.server", "upgrade.server-version", "upgrade.kubelet-newer",
			"upgrade.kubelet-older"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			u := in.Upgrade
			if u.Objects == nil {
				return nil
			}
			var out []event.Finding
			for _, n := range in.Cluster.With(bundle.ControlPlane) {
				is, err := in.serverVersion(ctx, n)
				switch {
				case err != nil:
					out = append(out, Finding(in.ill(), n.Name, "upgrade.server", "cause", event.Clean(err.Error())))
				case is == u.From, u.Continues && is == u.To:
				default:
					out = append(out, Finding(event.Error, n.Name, "upgrade.server-version", "is", event.Clean(is),
						"from", u.From, "to", u.To))
				}
			}
			server := bundle.Minor(u.From)
			if u.Continues {
				server = bundle.Minor(u.To)
			}
			for _, o := range u.Objects.Nodes {
				is, last := bundle.Minor(o.Kubelet), bundle.Minor(in.last())
				if in.brought(o.Name) {
					last = bundle.Minor(u.To)
				}
				kv := []string{"name", event.Clean(o.Name), "is", event.Clean(o.Kubelet)}
				switch {
				case is == 0: // it has not said yet
				case is > server:
					out = append(out, Finding(event.Error, "", "upgrade.kubelet-newer", append(kv, "server",
						fmt.Sprintf("1.%d", server))...))
				case last-is > oldest:
					out = append(out, Finding(event.Error, "", "upgrade.kubelet-older", append(kv, "server",
						fmt.Sprintf("1.%d", last), "oldest", fmt.Sprintf("1.%d", last-oldest))...))
				}
			}
			return out
		},
	}
}

// last is the version at the end of all hops.
func (in *Input) last() string {
	if n := len(in.Upgrade.Later); n > 0 {
		return in.Upgrade.Later[n-1].Version
	}
	return in.Upgrade.To
}

// names says whether deploy.yaml names the node.
func (in *Input) names(name string) bool {
	return slices.ContainsFunc(in.Cluster.Nodes, func(n config.Node) bool { return n.Name == name })
}

// brought says whether the run brings the node to the version.
func (in *Input) brought(name string) bool {
	return slices.ContainsFunc(in.Cluster.Nodes, func(n config.Node) bool { return n.Name == name && in.limited(n) })
}

// serverVersion asks the API server on a control plane for its version.
func (in *Input) serverVersion(ctx context.Context, n config.Node) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := in.Upgrade.Server(ctx, n, "/version")
	if err != nil {
		return "", err
	}
	defer body.Close()
	var is struct{ GitVersion string }
	if err := json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&is); err != nil {
		return "", fmt.Errorf("/version: %w", err)
	}
	return is.GitVersion, nil
}
