package preflight

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkKubeletFlags refuses to take over a kubelet with flags that deploy.yaml does not have: our unit would start it
// without them.
func checkKubeletFlags() Check {
	return Check{
		Name: "kubelet-flags", Codes: []string{"preflight.kubelet-flags", "preflight.kubelet-env"}, Needs: Ours,
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Imported() || !in.takesOver() || !in.deploysAll() || !in.Cluster.ByKubeadm() {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, kubeletScript())
			if err != nil {
				return as(n.Name, err)
			}
			ours := takeover.KubeletOf{Node: n.Name, IP: n.IP.String(), Resolv: f.Resolv,
				DNS: in.Cluster.DNSAddr.String(), Domain: in.Cluster.DNSDomain}
			var lost []string
			for _, flag := range takeover.KubeletFlags(out) {
				if !ours.Keeps(flag) && !in.hasFlag(flag) {
					lost = append(lost, event.Clean(flag.String()))
				}
			}
			var found []event.Finding
			if len(lost) > 0 {
				found = one(event.Error, n, "preflight.kubelet-flags", "flags", strings.Join(lost, ", "))
			}
			if vars := takeover.KubeletVars(out); len(vars) > 0 {
				found = append(found, one(event.Error, n, "preflight.kubelet-env", "variables", cleaned(vars))...)
			}
			return found
		},
	}
}

// kubeletScript prints what a kubelet that is not ours yet is started with.
func kubeletScript() string {
	return "APPLIED=" + shell.Quote(node.Dir+"/applied/"+takeover.KubeletUnit) + "\n" + takeover.KubeletScript()
}

// hasFlag says whether deploy.yaml gives kubelets a flag, with the same value.
func (in *Input) hasFlag(flag takeover.KubeletFlag) bool {
	return in.hasArg("kubelet", flag)
}
