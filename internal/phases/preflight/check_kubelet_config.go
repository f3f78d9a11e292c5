package preflight

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkKubeletConfig refuses to take over a kubelet whose configuration somebody has changed on its node. The cluster's
// is compared with deploy.yaml by checkTakeoverSince.
func checkKubeletConfig() Check {
	return Check{
		Name: "kubelet-config", Codes: []string{"preflight.kubelet-config"}, Needs: Ours,
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Imported() || !in.takesOver() || !in.deploysAll() || !in.Cluster.ByKubeadm() || in.Theirs == nil {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, kubeletScript())
			if err != nil {
				return as(n.Name, err)
			}
			file, text := takeover.KubeletConfig(out)
			if file == "" { // it is ours, or has none
				return nil
			}
			is, err := in.Theirs.Objects(ctx)
			if err != nil {
				return as(n.Name, err)
			}
			var all []string
			for _, x := range takeover.Differs(text, is.Kubelet, in.hasFlag) {
				all = append(all, event.Clean(x))
			}
			if len(all) == 0 {
				return nil
			}
			return one(event.Error, n, "preflight.kubelet-config", "file", event.Clean(file), "settings",
				strings.Join(all, ", "))
		},
	}
}
