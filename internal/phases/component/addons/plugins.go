package addons

import (
	"context"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Trees are the directories that a network plugin keeps on a node.
func Trees(plugin string) []node.Tree {
	switch plugin {
	case "calico", "canal":
		return []node.Tree{{Path: "/var/lib/calico", Mode: 0o755}, {Path: "/run/calico", Mode: 0o755}}
	case "cilium":
		return []node.Tree{{Path: "/run/cilium", Mode: 0o755}}
	}
	return nil
}

// fit fits an object of an addon to the cluster, and tells what was changed.
func (r *Addons) fit(o *unstructured.Unstructured, addon string) []event.Msg {
	var out []event.Msg
	cidr := r.Cluster.PodCIDR.String()
	if setFlannelNetwork(o, cidr) || setCalicoPool(o, cidr) || setCiliumPool(o, cidr) {
		out = append(out, event.M("notice.pod-cidr", "addon", addon, "cidr", cidr))
	}
	if setCNIBinDir(o, r.CNIDir()) {
		out = append(out, event.M("notice.cni-bin-dir", "addon", addon, "dir", r.CNIDir()))
	}
	if own := r.ownPlugins(); len(own) > 0 && setCalicoSkip(o, slices.Clone(own)) {
		out = append(out, event.M("notice.cni-skip", "addon", addon, "plugins", strings.Join(own, ",")))
	}
	if setFlannelInterface(o) {
		out = append(out, event.M("notice.flannel-iface", "addon", addon))
	}
	return out
}

// setCalicoPool gives calico-node the cluster's pod network, which upstream's manifest has in a comment only, and the
// operator's Installation its pool.
func setCalicoPool(o *unstructured.Unstructured, cidr string) bool {
	switch {
	case o.GetKind() == "DaemonSet" && o.GetName() == "calico-node":
		return setEnv(o, "calico-node", "CALICO_IPV4POOL_CIDR", cidr)
	case o.GetKind() == "Installation" && strings.HasPrefix(o.GetAPIVersion(), "operator.tigera.io/"):
		pools, _, _ := unstructured.NestedSlice(o.Object, "spec", "calicoNetwork", "ipPools")
		if len(pools) != 1 {
			return false // several pools are somebody's own design
		}
		pool, ok := pools[0].(map[string]any)
		if !ok || pool["cidr"] == cidr {
			return false
		}
		pool["cidr"] = cidr
		return unstructured.SetNestedSlice(o.Object, pools, "spec", "calicoNetwork", "ipPools") == nil
	}
	return false
}

// setEnv sets a variable of a container of the object's pods; false when it has that value already.
func setEnv(o *unstructured.Unstructured, container, name, value string) bool {
	return setEnvIn(o, "containers", container, name, value)
}

// setCalicoSkip has calico leave the CNI plugins alone that the bundle has: it would replace them with its own whenever
// its pod starts, and the next deploy would take them back.
func setCalicoSkip(o *unstructured.Unstructured, plugins []string) bool {
	if o.GetKind() != "DaemonSet" || o.GetName() != "calico-node" && o.GetName() != "canal" {
		return false
	}
	const name = "SKIP_CNI_BINARIES"
	for _, has := range strings.Split(envIn(o, "initContainers", "install-cni", name), ",") { // of the user's own
		if has = strings.TrimSpace(has); has != "" && !slices.Contains(plugins, has) {
			plugins = append(plugins, has)
		}
	}
	slices.Sort(plugins)
	return setEnvIn(o, "initContainers", "install-cni", name, strings.Join(plugins, ","))
}

// ownPlugins are the CNI plugins that the bundles of all nodes have, of which one is there at least.
func (r *Addons) ownPlugins() []string {
	var out []string
	first := true
	for _, n := range inventory.Kubelets(r.Cluster) {
		b := r.BundleOf(n)
		if b == nil {
			continue
		}
		var has []string
		for _, p := range r.Members(n, b.Manifest()) {
			if p.Dst == r.CNIDir() {
				has = append(has, path.Base(p.File))
			}
		}
		if !first {
			has = slices.DeleteFunc(has, func(name string) bool { return !slices.Contains(out, name) })
		}
		out, first = has, false
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// envIn is a variable of a container of a workload; "" when it has none, or takes it from elsewhere.
func envIn(o *unstructured.Unstructured, kind, container, name string) string {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", kind)
	for _, x := range containers {
		c, _ := x.(map[string]any)
		env, _ := c["env"].([]any)
		for _, e := range env {
			if m, _ := e.(map[string]any); c["name"] == container && m["name"] == name {
				value, _ := m["value"].(string)
				return value
			}
		}
	}
	return ""
}

// setEnvIn sets a variable of a container of a workload.
func setEnvIn(o *unstructured.Unstructured, kind, container, name, value string) bool {
	at := []string{"spec", "template", "spec", kind}
	containers, _, _ := unstructured.NestedSlice(o.Object, at...) // a copy
	for _, x := range containers {
		c, ok := x.(map[string]any)
		if !ok || c["name"] != container {
			continue
		}
		env, _ := c["env"].([]any)
		i := slices.IndexFunc(env, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == name })
		switch {
		case i < 0:
			env = append(env, map[string]any{"name": name, "value": value})
		default:
			m, _ := env[i].(map[string]any)
			if m["value"] == value {
				return false
			}
			env[i] = map[string]any{"name": name, "value": value}
		}
		c["env"] = env
		return unstructured.SetNestedSlice(o.Object, containers, at...) == nil
	}
	return false
}

// setCiliumPool gives cilium's operator the cluster's pod network, where it is the operator that hands out addresses;
// with ipam: kubernetes the nodes have theirs from the controller manager.
func setCiliumPool(o *unstructured.Unstructured, cidr string) bool {
	if o.GetKind() != "ConfigMap" || o.GetName() != "cilium-config" {
		return false
	}
	ipam, _, _ := unstructured.NestedString(o.Object, "data", "ipam")
	if !strings.HasPrefix(ipam, "cluster-pool") {
		return false
	}
	was, _, _ := unstructured.NestedString(o.Object, "data", "cluster-pool-ipv4-cidr")
	if was == cidr {
		return false
	}
	return unstructured.SetNestedField(o.Object, cidr, "data", "cluster-pool-ipv4-cidr") == nil
}

// pluginReady wants every DaemonSet of the network plugin's manifest on all its nodes.
func (r *Addons) pluginReady(ctx context.Context) error {
	objs, _, err := r.objects()
	if err != nil {
		return err
	}
	for _, o := range objs {
		if o.GetKind() != "DaemonSet" {
			continue
		}
		d, err := r.Clients.API().AppsV1().DaemonSets(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return clients.Fault(err)
		}
		if s := d.Status; d.Generation != s.ObservedGeneration || s.NumberReady < s.DesiredNumberScheduled ||
			s.UpdatedNumberScheduled < s.DesiredNumberScheduled {
			return r.daemonSetWaits(ctx, d)
		}
	}
	return nil
}

// namespaces are those that the addons' workloads are in.
func (r *Addons) namespaces() (map[string]bool, error) {
	objs, _, err := r.objects()
	out := map[string]bool{}
	for _, o := range objs {
		if k := o.GetKind(); (k == "DaemonSet" || k == "Deployment") && o.GetNamespace() != "" {
			out[o.GetNamespace()] = true
		}
	}
	return out, err
}
