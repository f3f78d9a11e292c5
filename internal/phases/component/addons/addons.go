// Package addons applies the manifests of a cluster, those of its network plugin, its DNS and what deploy.yaml lists,
// and says whether their workloads are ready.
package addons

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Addons are the steps by which a cluster gets its network, its DNS and its other manifests.
type Addons struct {
	*payload.Payload
	Clients *clients.Clients
	Driver  driver.Driver
	mu      sync.Mutex
	fetched map[string][]byte // manifests by URL
}

// New are the addons of a run, of which nothing is fetched yet.
func New(p *payload.Payload, c *clients.Clients, d driver.Driver) *Addons {
	return &Addons{Payload: p, Clients: c, Driver: d, fetched: map[string][]byte{}}
}

// Steps applies the network plugin, CoreDNS and what deploy.yaml lists. The network waits for every node's kube-proxy:
// a plugin that starts before the kubernetes Service can be reached gives up and sits out a back-off of half a minute.
func (r *Addons) Steps() []*engine.Step {
	needs := plan.IDs(plan.PhaseBootstrap, "proxy", inventory.Kubelets(r.Cluster))
	manifests := plan.Step(plan.PhaseAddons, "manifests", "", needs)
	manifests.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 5 * time.Second}
	manifests.Check = func(ctx context.Context) (bool, error) {
		objs, _, err := r.objects()
		if err != nil {
			return false, err
		}
		return r.Clients.API().Applied(ctx, objs)
	}
	manifests.Apply = func(ctx context.Context) error {
		objs, patches, err := r.objects()
		if err != nil {
			return err
		}
		for _, text := range patches {
			if err := r.Emit(event.Notice{Step: engine.StepID(ctx), Text: text}); err != nil {
				return err
			}
		}
		return r.Clients.API().Apply(ctx, objs)
	}
	if r.Cluster.Eggo.Imported {
		return []*engine.Step{manifests, r.othersDNS(manifests.ID)}
	}
	// CoreDNS waits for the network: pods that a node starts before its network has a lease sit out a back-off.
	var networks []*engine.Step
	if r.Cluster.NetworkPlugin == "flannel" {
		for _, n := range inventory.Kubelets(r.Cluster) {
			s := plan.Step(plan.PhaseAddons, "network", n.Name, []string{manifests.ID})
			s.Verify = r.On(n.Name, r.podRoutes)
			s.Retry, s.Timeout = wait.Patience(), 30*time.Second
			networks = append(networks, s)
		}
	}
	if r.Cluster.NetworkPlugin != "flannel" {
		s := plan.Step(plan.PhaseAddons, "plugin", "", []string{manifests.ID})
		s.Title = event.M("step.addons.plugin", "plugin", r.Cluster.NetworkPlugin)
		s.Verify, s.Retry, s.Timeout = r.pluginReady, wait.Patience(), 30*time.Second
		networks = append(networks, s)
	}
	needed := []string{manifests.ID}
	for _, s := range networks {
		needed = append(needed, s.ID)
	}
	all := append([]*engine.Step{manifests}, networks...)
	if was := r.FormerDNS(); was != "" {
		return append(all, r.moveDNS(was, needed)...)
	}
	return append(all, r.dns(needed)...)
}

// objects reads the addons out of the bundle; patches tell what of them was fitted to the cluster.
func (r *Addons) objects() (objs []*unstructured.Unstructured, patches []event.Msg, err error) {
	b := r.BundleOf(r.Cluster.With(bundle.ControlPlane)[0])
	for _, name := range r.AddonFiles(b.Manifest()) {
		data, err := r.read(b, name)
		if err != nil {
			return nil, nil, err
		}
		list, err := clients.ParseManifests(data)
		if err != nil {
			return nil, nil, event.NewFault(event.ClassBundle, "addon.unreadable", err, "addon", name)
		}
		for _, o := range list {
			patches = append(patches, r.fit(o, path.Base(name))...)
		}
		objs = append(objs, list...)
	}
	return objs, patches, nil
}

// setFlannelNetwork puts the cluster's pod network into flannel's ConfigMap, which upstream ships with 10.244.0.0/16.
func setFlannelNetwork(o *unstructured.Unstructured, cidr string) bool {
	if o.GetKind() != "ConfigMap" || o.GetName() != "kube-flannel-cfg" {
		return false
	}
	text, ok, _ := unstructured.NestedString(o.Object, "data", "net-conf.json")
	if !ok {
		return false
	}
	var conf map[string]any
	if json.Unmarshal([]byte(text), &conf) != nil || conf["Network"] == cidr {
		return false
	}
	conf["Network"] = cidr
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	if enc.Encode(conf) != nil {
		return false
	}
	return unstructured.SetNestedField(o.Object, out.String(), "data", "net-conf.json") == nil
}

// setFlannelInterface tells flannel to use the interface of the node's own address, unless it is told one already: by
// itself it takes that of the default route, which on a machine with several is another one, or there is none.
func setFlannelInterface(o *unstructured.Unstructured) bool {
	if o.GetKind() != "DaemonSet" || !strings.HasPrefix(o.GetName(), "kube-flannel") {
		return false
	}
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, _ := unstructured.NestedSlice(o.Object, path...) // a copy
	for _, x := range containers {
		c, ok := x.(map[string]any)
		if !ok || c["name"] != "kube-flannel" {
			continue
		}
		args, _ := c["args"].([]any)
		command, _ := c["command"].([]any)
		for _, a := range slices.Concat(command, args) {
			if s, _ := a.(string); strings.HasPrefix(strings.TrimLeft(s, "-"), "iface") {
				return false
			}
		}
		c["args"] = append(args, "--iface=$(HOST_IP)")
		env, _ := c["env"].([]any)
		if !slices.ContainsFunc(env, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == "HOST_IP" }) {
			c["env"] = append(env, map[string]any{"name": "HOST_IP",
				"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.hostIP"}}})
		}
		return unstructured.SetNestedSlice(o.Object, containers, path...) == nil
	}
	return false
}

// setCNIBinDir has a network plugin install its CNI plugin where the runtime looks: upstream's manifests name
// /opt/cni/bin.
func setCNIBinDir(o *unstructured.Unstructured, dir string) bool {
	path := []string{"spec", "template", "spec", "volumes"}
	volumes, _, _ := unstructured.NestedSlice(o.Object, path...) // a copy
	changed := false
	for _, x := range volumes {
		v, _ := x.(map[string]any)
		if host, ok := v["hostPath"].(map[string]any); ok && host["path"] == layout.CNIBinDir &&
			dir != layout.CNIBinDir {
			host["path"], changed = dir, true
		}
	}
	return changed && unstructured.SetNestedSlice(o.Object, volumes, path...) == nil
}
