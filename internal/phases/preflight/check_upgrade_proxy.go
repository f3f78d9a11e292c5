package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeProxy asks a node for the version of its kube-proxy, of which the cluster does not know. One that is a
// pod has it in its image.
func checkUpgradeProxy() Check {
	return Check{
		Name: "upgrade-proxy", Codes: []string{"upgrade.proxy-newer", "upgrade.proxy-older"}, Needs: Ours,
		When: kubelets,
		Ask: func(ctx context.Context, in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			if in.Cluster.ByKubeadm() {
				var out []event.Finding
				for _, tag := range in.proxyTags(n) {
					out = append(out, in.proxySkew(n, tag)...)
				}
				return out
			}
			text, err := in.Nodes.Node(n.Name).Query(ctx, shell.Quote(in.ProgramPath(n, in.Upgrade.Proxy))+
				" --version 2>/dev/null </dev/null || true\n")
			if err != nil {
				return as(n.Name, err)
			}
			return in.proxySkew(n, text)
		},
	}
}

// proxyTags are those of the images that the node's pods of kube-proxy run from, each once.
func (in *Input) proxyTags(n config.Node) []string {
	var out []string
	for _, p := range in.has().Pods {
		if p.Node != n.Name || p.Workload() != "DaemonSet kube-system/"+in.Upgrade.Proxy {
			continue
		}
		for _, image := range p.Images {
			_, tag := config.SplitTag(image)
			if imageBase(image) == in.Upgrade.Proxy && !slices.Contains(out, tag) {
				out = append(out, tag)
			}
		}
	}
	return out
}

// proxySkew is about a kube-proxy that says Kubernetes v1.34.2, or v1.34.2. Of one that says nothing nothing is known.
func (in *Input) proxySkew(n config.Node, text string) []event.Finding {
	version := strings.TrimSpace(strings.TrimPrefix(text, "Kubernetes "))
	is, server, last := bundle.Minor(version), bundle.Minor(in.Upgrade.From), bundle.Minor(in.last())
	if in.Upgrade.Continues {
		server = bundle.Minor(in.Upgrade.To)
	}
	if in.limited(n) {
		last = bundle.Minor(in.Upgrade.To)
	}
	switch {
	case is == 0:
	case is > server:
		return one(event.Error, n, "upgrade.proxy-newer", "is", event.Clean(version), "server",
			fmt.Sprintf("1.%d", server))
	case last-is > oldest:
		return one(event.Error, n, "upgrade.proxy-older", "is", event.Clean(version), "server",
			fmt.Sprintf("1.%d", last), "oldest", fmt.Sprintf("1.%d", last-oldest))
	}
	return nil
}
