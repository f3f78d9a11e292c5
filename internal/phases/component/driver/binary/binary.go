// Package binary is the driver whose components are systemd services that execute the bundle's binaries. Nobody but
// package phases imports it; it may import driver, systemd and what lies beneath them, and knows neither the runtime
// nor the load balancer.
package binary

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/start"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Binary runs the components as services.
type Binary struct {
	*input.Env
	*payload.Payload
	*certs.Certs
	*rolling.Rolling

	// Aside does what a restart of an API server that runs needs before and after.
	Aside func(ctx context.Context, n config.Node, restart func(context.Context) error) error
	// RuntimeUnit is what the kubelet is started after.
	RuntimeUnit string

	// Of a driver of static pods, whose kubelet is a service of this one; nil without.
	StaticPods  func(config.Node) string // the directory of a node's manifests; "" for none
	WithKubelet []string                 // binaries whose links are switched with the kubelet's
}

var _ driver.Driver = (*Binary)(nil)

// Components are those of the node's roles.
func (r *Binary) Components(n config.Node) []driver.Component { return components(r.Cluster, n) }

func components(cluster *config.Cluster, n config.Node) []driver.Component {
	var out []driver.Component
	if n.Has(bundle.Etcd) {
		out = append(out, driver.Etcd)
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, driver.APIServer, driver.ControllerManager, driver.Scheduler)
		if cluster.DNS.IsBinary() {
			out = append(out, driver.CoreDNS)
		}
	}
	if inventory.IsKubelet(n) {
		out = append(out, driver.Kubelet, driver.Proxy)
	}
	return out
}

// Executes implements driver.Driver.
func (r *Binary) Executes(n config.Node) []string { return Executes(r.Cluster, n) }

// Executes are the binaries of the node's components, which have the components' names. A payload asks it before there
// is a driver.
func Executes(cluster *config.Cluster, n config.Node) []string {
	var out []string
	for _, c := range components(cluster, n) {
		out = append(out, string(c))
	}
	return out
}

// Images implements driver.Driver: services need none.
func (r *Binary) Images(config.Node, *bundle.Manifest) []string { return nil }

// Trees are those of the configuration, of the audit logs and of etcd's data.
func (r *Binary) Trees(n config.Node) []node.Tree {
	out := []node.Tree{{Path: kubeDir, Mode: 0o755}}
	if n.Has(bundle.ControlPlane) {
		out = append(out, node.Tree{Path: auditDir, Mode: 0o700})
	}
	if n.Has(bundle.Etcd) {
		out = append(out, node.Tree{Path: etcdTree, Mode: 0o711})
	}
	return out
}

// Owns are the units of the node's components.
func (r *Binary) Owns(n config.Node) []string {
	var out []string
	for _, c := range r.Components(n) {
		if c != driver.CoreDNS { // somebody's own CoreDNS may have had the name before
			out = append(out, layout.UnitDir+unit(c))
		}
	}
	return out
}

// Paths implements driver.Driver.
func (r *Binary) Paths() driver.Paths { return Paths() }

// Manifests has the manifests of the static pods that the other driver makes, Aside those that it has put aside.
const (
	Manifests = kubeDir + "/manifests"
	Aside     = kubeDir + "/eggo"
)

// Paths are the same for every cluster. What reads facts asks for them before there is a driver.
func Paths() driver.Paths {
	return driver.Paths{Dir: kubeDir, CA: pkiDir + "/ca.crt", EtcdCA: pkiDir + "/etcd/ca.crt",
		Kubeconfig: kubeletConf, Theirs: theirKubeletConf, Bootstrap: bootstrapConf, Kubelet: kubeletFile,
		Serving:   servingCert,
		AdminConf: adminConf, Manifests: Manifests, Aside: Aside, EtcdData: etcdData}
}

// EtcdData implements driver.Driver.
func (r *Binary) EtcdData(string) string { return etcdData }

// Replaces implements driver.Driver. The original eggo has its units in /usr/lib/systemd/system and its binaries in
// /usr/bin: ours take precedence over them, and they stay.
func (r *Binary) Replaces(n config.Node) ([]string, error) {
	out := r.Owns(n)
	for _, c := range r.Components(n) {
		s, err := r.service(c, n)
		if err != nil {
			return nil, err
		}
		for _, f := range s.Files {
			if !slices.Contains(out, f.Path) {
				out = append(out, f.Path)
			}
		}
	}
	if inventory.IsKubelet(n) {
		out = append(out, kubeletConf) // it may be told another endpoint
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, adminConf)
	}
	return out, nil
}

// KubeletFiles are the files of a node's kubelet.
func (r *Binary) KubeletFiles(n config.Node) ([]node.File, error) {
	s, err := r.kubelet(n, false)
	return s.Files, err
}

// unit is the one that a component runs in.
func unit(c driver.Component) string { return string(c) + ".service" }

// Units are those that components run in.
func Units(cs ...driver.Component) []string {
	var out []string
	for _, c := range cs {
		out = append(out, unit(c))
	}
	return out
}

// units are words for the shell.
func units(cs []driver.Component) string { return strings.Join(Units(cs...), " ") }

// service is the unit of a component with its files and binaries.
func (r *Binary) service(c driver.Component, n config.Node) (node.Service, error) {
	switch c {
	case driver.Etcd:
		return r.etcdService(n)
	case driver.APIServer:
		return r.apiserverService(n)
	case driver.ControllerManager:
		return r.controllerManagerService(n)
	case driver.Scheduler:
		return r.schedulerService(n)
	case driver.Kubelet:
		return r.kubeletService(n)
	case driver.Proxy:
		return r.proxyService(n)
	case driver.CoreDNS:
		return r.corednsService(n)
	}
	return node.Service{}, fmt.Errorf("no component is called %q", c)
}

// Start implements driver.Driver: those that do not run yet start side by side.
func (r *Binary) Start(c driver.Component, n config.Node, ready driver.Ready) driver.Work {
	p := start.Proof{}
	switch c {
	case driver.Etcd:
		p.Reports, p.Votes = true, EtcdVotes
	case driver.APIServer:
		p.Reports, p.Serves, p.Aside = true, r.StopDelay(), r.Aside
	case driver.Kubelet:
		p.Probe = r.kubeletWell(n)
	case driver.CoreDNS:
		metrics := "http://" + net.JoinHostPort(n.IP.String(), fmt.Sprint(layout.DNSMetrics)) + "/metrics"
		p.Probe = wait.Answers(metrics, unit(c))
	default:
		if url := start.Health(c, n); url != "" {
			p.Probe = wait.Answers(url, unit(c))
		}
	}
	if ready != nil {
		p.Probe = ready
	}
	return r.work(c, n, p)
}

// kubeletWell waits for the health probe of a kubelet that has joined; one that has not waits for its certificate
// first.
func (r *Binary) kubeletWell(n config.Node) func(context.Context, *node.Node) error {
	healthy := wait.Answers(start.Health(driver.Kubelet, n), unit(driver.Kubelet))
	return func(ctx context.Context, nd *node.Node) error {
		if f := r.Fact(n.Name); f == nil || !f.Joined {
			return nil
		}
		return healthy(ctx, nd)
	}
}

// StartLocked implements driver.Driver.
func (r *Binary) StartLocked(ctx context.Context, c driver.Component, n config.Node, nd *node.Node) error {
	svc, err := r.service(c, n)
	if err != nil {
		return err
	}
	if err := r.CheckLinks(ctx, n, nd, svc); err != nil {
		return err
	}
	return nd.Start(ctx, svc)
}

// Form writes what a member reads at its first start.
func (r *Binary) Form(ctx context.Context, _ config.Node, nd *node.Node, f driver.Formation) error {
	_, err := nd.Put(ctx, []node.File{r.initialFile(f)})
	return err
}

// Publish implements driver.Driver: the services know all of themselves.
func (r *Binary) Publish([]string) []*engine.Step { return nil }

// Runs implements driver.Driver.
func (r *Binary) Runs(ctx context.Context, nd *node.Node, cs ...driver.Component) (bool, error) {
	return states(ctx, nd, cs, "active")
}

// Stopped implements driver.Driver. One that failed may be started again by systemd.
func (r *Binary) Stopped(ctx context.Context, nd *node.Node, cs ...driver.Component) (bool, error) {
	return states(ctx, nd, cs, "inactive")
}

// states says whether the units of all components are in a state.
func states(ctx context.Context, nd *node.Node, cs []driver.Component, want string) (bool, error) {
	is, err := nd.Units(ctx, strings.Fields(units(cs))...)
	return err == nil && !slices.ContainsFunc(is, func(u node.Unit) bool { return u.State != want }), err
}

// Log implements driver.Driver.
func (r *Binary) Log(ctx context.Context, nd *node.Node, c driver.Component) string {
	return nd.Journal(ctx, unit(c))
}

// LastWords implements driver.Driver.
func (r *Binary) LastWords(ctx context.Context, nd *node.Node, c driver.Component) string {
	return nd.LastWords(ctx, unit(c))
}
