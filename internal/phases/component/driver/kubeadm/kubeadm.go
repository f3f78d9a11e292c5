// Package kubeadm is the driver whose control plane is static pods that kubeadm makes: etcd beside it, the API server,
// the controller manager, the scheduler; kube-proxy is a DaemonSet. The kubelet is the service of package binary, and
// so is a member of etcd on a node that is no control plane. Nobody but package phases imports it; it may import
// binary, clients and what lies beneath them.
package kubeadm

import (
	"context"
	"slices"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/binary"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/start"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Program is the binary that makes the manifests.
const Program = "kubeadm"

// Kubeadm runs the components as pods.
type Kubeadm struct {
	*payload.Payload
	*rolling.Rolling
	clients  *clients.Clients
	services *binary.Binary

	publishing sync.Mutex
}

var _ driver.Driver = (*Kubeadm)(nil)

// New is the driver over the one of services, which it takes over.
func New(services *binary.Binary, c *clients.Clients) *Kubeadm {
	r := &Kubeadm{Payload: services.Payload, Rolling: services.Rolling, clients: c, services: services}
	services.StaticPods = func(n config.Node) string {
		if !n.Has(bundle.ControlPlane) && !services.Imported(n.Name) { // that may have pods of others
			return ""
		}
		return manifests
	}
	services.WithKubelet = []string{Program}
	return r
}

// isPod says whether a component of the node is a static pod.
func isPod(c driver.Component, n config.Node) bool {
	switch c {
	case driver.Etcd, driver.APIServer, driver.ControllerManager, driver.Scheduler:
		return n.Has(bundle.ControlPlane)
	}
	return false
}

// podsOf are the static pods of a node, in the order of their start.
func podsOf(n config.Node) []driver.Component {
	if !n.Has(bundle.ControlPlane) {
		return nil
	}
	out := []driver.Component{driver.APIServer, driver.ControllerManager, driver.Scheduler}
	if n.Has(bundle.Etcd) {
		out = append([]driver.Component{driver.Etcd}, out...)
	}
	return out
}

// servicesOf are the components of a node that are services.
func servicesOf(n config.Node) []driver.Component {
	var out []driver.Component
	if n.Has(bundle.Etcd) && !n.Has(bundle.ControlPlane) {
		out = append(out, driver.Etcd)
	}
	if inventory.IsKubelet(n) {
		out = append(out, driver.Kubelet)
	}
	return out
}

// Components implements driver.Driver. CoreDNS is an addon.
func (r *Kubeadm) Components(n config.Node) []driver.Component {
	out := append(podsOf(n), servicesOf(n)...)
	if inventory.IsKubelet(n) {
		out = append(out, driver.Proxy)
	}
	return out
}

// Executes implements driver.Driver.
func (r *Kubeadm) Executes(n config.Node) []string { return Executes(n) }

// Executes are the binaries of the node's services, and kubeadm, which is of the version of the manifests it makes. A
// payload asks it before there is a driver.
func Executes(n config.Node) []string {
	var out []string
	for _, c := range servicesOf(n) {
		out = append(out, string(c))
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, Program)
	}
	return out
}

// Images implements driver.Driver.
func (r *Kubeadm) Images(n config.Node, m *bundle.Manifest) []string {
	var out []string
	for _, name := range r.Cluster.PodComponents(n) {
		out = append(out, config.PodImage(m, name))
	}
	return out
}

// Trees implements driver.Driver.
func (r *Kubeadm) Trees(n config.Node) []node.Tree { return r.services.Trees(n) }

// Owns are the manifests of the node's static pods, and the units of its services.
func (r *Kubeadm) Owns(n config.Node) []string {
	var out []string
	for _, c := range podsOf(n) {
		out = append(out, manifest(c))
	}
	for _, unit := range binary.Units(servicesOf(n)...) {
		out = append(out, layout.UnitDir+unit)
	}
	return out
}

// Certificates implements driver.Driver: kube-proxy has none, for it has a service account.
func (r *Kubeadm) Certificates(n config.Node) []driver.Certificate {
	return slices.DeleteFunc(r.services.Certificates(n),
		func(c driver.Certificate) bool { return c.Name == string(driver.Proxy) })
}

// Paths implements driver.Driver.
func (r *Kubeadm) Paths() driver.Paths { return r.services.Paths() }

// importedData is where a member has its data that kubeadm alone has made. An import refuses any other place.
const importedData = "/var/lib/etcd"

// EtcdData implements driver.Driver: data are never moved.
func (r *Kubeadm) EtcdData(node string) string {
	if r.Imported(node) {
		return importedData
	}
	return r.Paths().EtcdData
}

// Replaces implements driver.Driver.
func (r *Kubeadm) Replaces(n config.Node) ([]string, error) {
	out := r.Owns(n)
	add := func(files []node.File) {
		for _, f := range files {
			if !slices.Contains(out, f.Path) {
				out = append(out, f.Path)
			}
		}
	}
	for _, c := range podsOf(n) {
		p, err := r.pod(c, n, nil)
		if err != nil {
			return nil, err
		}
		add(p.files)
		add(p.beside)
	}
	if inventory.IsKubelet(n) {
		files, err := r.services.KubeletFiles(n)
		if err != nil {
			return nil, err
		}
		add(files)
		out = append(out, r.Paths().Kubeconfig) // it may be told another endpoint
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, r.Paths().AdminConf)
	}
	return out, nil
}

// Start implements driver.Driver. The first static pod of a node has the kubelet before it.
func (r *Kubeadm) Start(c driver.Component, n config.Node, ready driver.Ready) driver.Work {
	switch {
	case c == driver.Proxy:
		return r.proxy(n, ready)
	case !isPod(c, n):
		return r.services.Start(c, n, ready)
	}
	if ready == nil {
		ready = r.answers(c, start.Health(c, n))
	}
	p := start.Proof{Probe: r.then(c, n, ready)}
	switch c {
	case driver.Etcd:
		p.Reports, p.Votes = true, binary.EtcdVotes
	case driver.APIServer:
		p.Reports, p.Serves, p.Aside = true, r.services.StopDelay(), r.services.Aside
	}
	starts := start.Start{Nodes: r.Nodes, Rolling: r.Rolling}
	w := starts.Work(c, n, p, func(nd *node.Node) (start.Part, error) { return r.pod(c, n, nd) })
	w.Needs = r.needs(n)
	if c == podsOf(n)[0] {
		w.Before = []*engine.Step{r.aloneKubelet(c, n)}
	}
	return w
}

// StartLocked implements driver.Driver.
func (r *Kubeadm) StartLocked(ctx context.Context, c driver.Component, n config.Node, nd *node.Node) error {
	if !isPod(c, n) {
		return r.services.StartLocked(ctx, c, n, nd)
	}
	p, err := r.pod(c, n, nd)
	if err != nil {
		return err
	}
	if err := p.Check(ctx); err != nil {
		return err
	}
	if err := p.Prepare(ctx); err != nil {
		return err
	}
	return p.Restart(ctx)
}

// RemoveDNS implements driver.Driver: CoreDNS never is a service with it.
func (r *Kubeadm) RemoveDNS(context.Context, config.Node, *node.Node) error {
	return engine.ErrUnchanged
}

// SupportUnits implements driver.Driver.
func (r *Kubeadm) SupportUnits() []string { return binary.Units(driver.Etcd, driver.Kubelet) }
