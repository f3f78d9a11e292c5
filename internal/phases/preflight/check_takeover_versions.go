package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// imagesScript prints the images of the static pods that are not ours yet.
const imagesScript = "for c in etcd kube-apiserver kube-controller-manager kube-scheduler; do\n" +
	"  [ ! -e " + node.Dir + "/applied/$c ] || continue\n" +
	"  sed -n \"s/^[ -]*image: */$c /p\" /etc/kubernetes/manifests/$c.yaml 2>/dev/null | head -n 1\ndone\n"

// checkTakeoverVersions refuses to take over a control plane that would get another version with it: the kubelets alone
// do not say what the cluster has, for an upgrade by kubeadm begins with the control planes. etcd is never downgraded.
func checkTakeoverVersions() Check {
	return Check{
		Name: "takeover-versions", Needs: Ours,
		Codes: []string{"preflight.takeover-version", "preflight.takeover-etcd"},
		When:  func(_ *Input, n config.Node) bool { return n.Has(bundle.ControlPlane) },
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			b := in.BundleFor(n, f)
			if !f.Imported() || !in.takesOver() || !in.deploysAll() || !in.Cluster.ByKubeadm() || b == nil {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, imagesScript)
			if err != nil {
				return as(n.Name, err)
			}
			var found []event.Finding
			for line := range strings.Lines(out) {
				component, image, _ := strings.Cut(strings.TrimSpace(line), " ")
				_, is := config.SplitTag(strings.Trim(image, `"'`))
				found = append(found, in.takenVersion(n, b.Manifest(), component, is)...)
			}
			return found
		},
	}
}

// takenVersion compares the version of a component that runs with that of the bundle.
func (in *Input) takenVersion(n config.Node, m *bundle.Manifest, component, is string) []event.Finding {
	kv := []string{"component", component, "is", event.Clean(is)}
	if component != "etcd" {
		version, _, _ := strings.Cut(strings.ReplaceAll(is, "_", "-"), "-") // of a build of one's own
		if m.Kubernetes == "" || is == m.Kubernetes || version == m.Kubernetes {
			return nil
		}
		return one(event.Error, n, "preflight.takeover-version", append(kv, "bundle", m.Kubernetes)...)
	}
	bundled := in.Cluster.EtcdVersion(n, m)
	was, a := etcdVersion(is)
	want, b := etcdVersion(bundled)
	if a && b && slices.Compare(was[:2], want[:2]) <= 0 || bundled == "" {
		if a && b && slices.Compare(was[:2], want[:2]) < 0 {
			return etcdStep(n.Name, is, bundled)
		}
		return nil
	}
	return one(event.Error, n, "preflight.takeover-etcd", append(kv, "bundle", bundled)...)
}
