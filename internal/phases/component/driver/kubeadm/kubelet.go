package kubeadm

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/start"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// needs are the steps without which a static pod does not start on the node: its images, and the programs that make it
// and run it.
func (r *Kubeadm) needs(n config.Node) []string {
	out := []string{plan.ID(plan.PhaseInfra, "load-images", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name)}
	for _, group := range plan.Groups(n) {
		out = append(out, plan.Programs(n, group))
	}
	return out
}

// aloneKubelet is the step that has the kubelet run before the first static pod of the node. One that has not joined
// runs alone: without an API server and without a server of its own, it runs the static pods. It joins when there is an
// API server, and their containers stay as they are.
func (r *Kubeadm) aloneKubelet(c driver.Component, n config.Node) *engine.Step {
	phase := plan.PhaseControl
	if c == driver.Etcd {
		phase = plan.PhaseEtcd
	}
	s := plan.Step(phase, "kubelet", n.Name, r.needs(n))
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		return r.services.Runs(ctx, nd, driver.Kubelet)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		out, err := nd.Query(ctx, "if [ -s "+shell.Quote(r.Paths().Kubeconfig)+" ]; then echo joined; fi\n")
		if err != nil {
			return err
		}
		if strings.TrimSpace(out) != "" {
			return r.joinedKubelet(ctx, n, nd)
		}
		svc, err := r.services.AloneKubelet(n)
		if err != nil {
			return err
		}
		if err := r.CheckLinks(ctx, n, nd, svc); err != nil {
			return err
		}
		return nd.Start(ctx, svc)
	})
	return s
}

// joinedKubelet starts a kubelet that has joined and does not run. In an upgrade it stays in its version: the new one
// is for the turn of its node, which is drained first.
func (r *Kubeadm) joinedKubelet(ctx context.Context, n config.Node, nd *node.Node) error {
	is := r.Fact(n.Name)
	if is == nil || is.Kubelet == "" || is.Kubelet == r.BundleOf(n).Manifest().Kubernetes {
		return r.services.StartLocked(ctx, driver.Kubelet, n, nd)
	}
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.start", "unit", string(driver.Kubelet)+".service"),
		Script: r.services.Resume(driver.Kubelet)})
	return err
}

// proxy is kube-proxy on a node: its DaemonSet starts it. A pod of another revision is deleted in the node's turn, for
// the DaemonSet replaces none by itself: a node may not have the image yet.
func (r *Kubeadm) proxy(n config.Node, ready driver.Ready) driver.Work {
	current := func(ctx context.Context, nd *node.Node) (bool, error) {
		revision, err := r.proxyRevision(ctx)
		if err != nil {
			return false, err
		}
		out, err := nd.Query(ctx, podsLib+"pods\n")
		p := pod{c: driver.Proxy, revision: revision}
		return err == nil && p.runsIn(out, true), err
	}
	if ready == nil {
		ready = r.answers(driver.Proxy, start.Health(driver.Proxy, n))
	}
	w := driver.Work{Needs: []string{plan.ID(plan.PhaseControl, "kube-proxy", "")}, Timeout: proxyLimit + time.Minute,
		Retry: engine.Retry{Tries: 2, Delay: 2 * time.Second}}
	w.Check = r.Ask(n.Name, current)
	w.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		if err := r.publish(ctx); err != nil {
			return err
		}
		revision, err := r.proxyRevision(ctx)
		if err != nil {
			return err
		}
		return r.proxyRuns(ctx, n, nd, revision, current, ready)
	})
	return w
}

// master is a control plane whose bundle says what the DaemonSet of kube-proxy is: the first one that is there.
func (r *Kubeadm) master() config.Node {
	all := r.Cluster.With(bundle.ControlPlane)
	return all[max(0, slices.IndexFunc(all, func(n config.Node) bool { return r.BundleOf(n) != nil }))]
}
