package kubeadm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// split says which of the components of a node are services there, and which are pods.
func (r *Kubeadm) split(nd *node.Node, cs []driver.Component) (services, pods []driver.Component) {
	var n config.Node
	for _, x := range slices.Concat(r.Cluster.Nodes, r.Removing) {
		if x.Name == nd.Name() {
			n = x
		}
	}
	for _, c := range cs {
		if isPod(c, n) || c == driver.Proxy {
			pods = append(pods, c)
		} else {
			services = append(services, c)
		}
	}
	return services, pods
}

// words are components for the shell.
func words(cs []driver.Component) string {
	var out []string
	for _, c := range cs {
		out = append(out, shell.Quote(string(c)))
	}
	return strings.Join(out, " ")
}

// Runs implements driver.Driver.
func (r *Kubeadm) Runs(ctx context.Context, nd *node.Node, cs ...driver.Component) (bool, error) {
	services, pods := r.split(nd, cs)
	if len(services) > 0 {
		if ok, err := r.services.Runs(ctx, nd, services...); !ok || err != nil {
			return false, err
		}
	}
	if len(pods) == 0 {
		return true, nil
	}
	out, err := nd.Query(ctx, podsLib+"podstates "+words(pods)+"\n")
	return err == nil && strings.Count(out, " active\n") == len(pods), err
}

// Stopped implements driver.Driver.
func (r *Kubeadm) Stopped(ctx context.Context, nd *node.Node, cs ...driver.Component) (bool, error) {
	services, pods := r.split(nd, cs)
	if len(services) > 0 {
		if ok, err := r.services.Stopped(ctx, nd, services...); !ok || err != nil {
			return false, err
		}
	}
	if len(pods) == 0 {
		return true, nil
	}
	out, err := nd.Query(ctx, podsLib+"if isdown "+words(pods)+"; then echo yes; fi\n")
	return strings.TrimSpace(out) == "yes", err
}

// Log implements driver.Driver.
func (r *Kubeadm) Log(ctx context.Context, nd *node.Node, c driver.Component) string {
	if services, _ := r.split(nd, []driver.Component{c}); len(services) > 0 {
		return r.services.Log(ctx, nd, c)
	}
	return nd.Tail(ctx, podsLib+"podlog "+words([]driver.Component{c})+"\n")
}

// LastWords implements driver.Driver.
func (r *Kubeadm) LastWords(ctx context.Context, nd *node.Node, c driver.Component) string {
	if services, _ := r.split(nd, []driver.Component{c}); len(services) > 0 {
		return r.services.LastWords(ctx, nd, c)
	}
	if runs, err := r.Runs(ctx, nd, c); err != nil || runs {
		return ""
	}
	return r.Log(ctx, nd, c)
}

// each is a script that does pod with a component that is a static pod on the node that it runs on, else service.
// kube-proxy is neither: its DaemonSet has it run. Also where somebody has put a manifest elsewhere a component is what
// it was: it is a service only where it has a unit.
func each(cs []driver.Component, pod, service func(driver.Component) string) string {
	var b strings.Builder
	b.WriteString(podsLib)
	for _, c := range cs {
		switch c {
		case driver.Proxy, driver.CoreDNS:
		case driver.Kubelet:
			b.WriteString(service(c))
		case driver.Etcd:
			b.WriteString("if [ -e " + shell.Quote(manifest(c)) + " ] || [ -e " + shell.Quote(ownDir+"/etcd.stopped") +
				" ] || [ ! -e " + layout.UnitDir + "etcd.service ]; then " + pod(c) + "; else\n" + service(c) + "fi\n")
		default:
			b.WriteString(pod(c) + "\n")
		}
	}
	return b.String()
}

// secondsToEnd are what a component may take to end.
func (r *Kubeadm) secondsToEnd(c driver.Component) string {
	return strconv.Itoa(int(r.endLimit(c).Seconds()))
}

// Stop implements driver.Driver: the manifests are put aside.
func (r *Kubeadm) Stop(cs ...driver.Component) string {
	down := func(c driver.Component) string { return "down " + shell.Quote(string(c)) + " " + r.secondsToEnd(c) }
	return each(cs, down, func(c driver.Component) string { return r.services.Stop(c) })
}

// Resume implements driver.Driver.
func (r *Kubeadm) Resume(cs ...driver.Component) string {
	up := func(c driver.Component) string { return "up " + shell.Quote(string(c)) }
	return each(cs, up, func(c driver.Component) string { return r.services.Resume(c) })
}

// Restart implements driver.Driver.
func (r *Kubeadm) Restart(c driver.Component) string {
	if c == driver.Kubelet {
		return r.services.Restart(c)
	}
	return r.Stop(c) + r.Resume(c)
}

// Stale implements driver.Driver.
func (r *Kubeadm) Stale(c driver.Component) string {
	return r.services.Stale(c) + "rm -f $D/applied/" + shell.Quote(string(c)) + "\n"
}

// StopAll implements driver.Driver: the containers end with those of all other pods.
func (r *Kubeadm) StopAll() string { return r.services.StopAll() }

// StatusScript implements driver.Driver.
func (r *Kubeadm) StatusScript(n config.Node) string {
	pods := podsOf(n)
	if slices.Contains(r.Components(n), driver.Proxy) {
		pods = append(pods, driver.Proxy)
	}
	script := r.services.StatusOf(n, servicesOf(n))
	if len(pods) > 0 {
		script = podsLib + "podstates " + words(pods) + "\nedited " + words(podsOf(n)) + "\n" + script
	}
	return script
}
