// Package join has kubelets join the cluster, gives their Nodes what their roles want, and approves their serving
// certificates. It may import driver and clients and what lies beneath them.
package join

import (
	"context"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Join makes the steps by which the nodes of a run join.
type Join struct {
	*clients.Clients
	Driver driver.Driver
	// Seeded: the cluster began with a snapshot, whose Nodes say nothing about the machines.
	Seeded bool

	leases    clients.Leases
	mu        sync.Mutex
	restarted map[string]bool // nodes whose kubelet was restarted to register
	moved     map[string]bool // nodes whose kubelet was told another endpoint
}

// Steps join every kubelet when the steps of needs are done, by TLS bootstrapping: a token that can only ask for a
// certificate, and the certificate approved by the controller manager.
func (r *Join) Steps(needs []string) []*engine.Step {
	kubelets := inventory.Kubelets(r.Cluster)
	token := plan.Step(plan.PhaseBootstrap, "token", "", needs)
	token.When = func(context.Context) (bool, event.Msg, error) {
		for _, n := range kubelets {
			if !r.Skipped(n.Name) && !r.Fact(n.Name).Joined {
				return true, event.Msg{}, nil
			}
		}
		return false, event.M("why.all-joined"), nil
	}
	token.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	token.Check = r.tokenValid
	token.Apply = r.makeToken
	steps := []*engine.Step{token}
	for _, n := range kubelets {
		ready := []string{token.ID, plan.Programs(n, plan.GroupNode), plan.ID(plan.PhaseInfra, "system", n.Name),
			plan.ID(plan.PhaseInfra, "load-images", n.Name)}
		kubelet := r.Driver.Start(driver.Kubelet, n, nil)
		moved := r.Driver.Start(driver.Kubelet, n, r.through(n))
		running, apply := kubelet.Check, kubelet.Apply
		// A kubelet that has not joined may hold a token that has ended since: then it is given the new one and
		// restarted.
		kubelet.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
			if ok, err := running(ctx); !ok || err != nil {
				return false, err
			}
			if ok, err := r.knowsEndpoint(ctx, nd); !ok || err != nil {
				return false, err
			}
			return r.mayJoin(ctx, nd)
		})
		kubelet.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			if err := r.handToken(ctx, nd); err != nil {
				return err
			}
			if tell, err := r.tellEndpoint(ctx, nd); err != nil {
				return err
			} else if tell {
				return moved.Apply(ctx)
			}
			return apply(ctx)
		})
		steps = append(steps, kubelet.Steps(plan.PhaseBootstrap, "kubelet", n, ready)...)
		joined := plan.Step(plan.PhaseBootstrap, "join", n.Name,
			[]string{plan.ID(plan.PhaseBootstrap, "kubelet", n.Name)})
		joined.Check = func(ctx context.Context) (bool, error) { return r.joined(ctx, n) }
		joined.Apply = func(ctx context.Context) error { return r.join(ctx, n) }
		joined.Timeout = 2 * time.Minute
		joined.Retry = engine.Retry{Tries: 60, Delay: 500 * time.Millisecond, MaxDelay: 2 * time.Second, Polls: true}
		// kube-proxy asks for its Node object first, and sits out a back-off of up to half a minute when it is not
		// there yet.
		proxy := r.Driver.Start(driver.Proxy, n, nil)
		proxy.Apply = r.Announce(n, proxy.Apply, "notice.no-conntrack",
			func(f *facts.Facts) bool { return !f.Conntrack })
		steps = append(append(steps, joined), proxy.Steps(plan.PhaseBootstrap, "proxy", n, []string{joined.ID})...)
		if r.Cluster.KubeletServing {
			steps = append(steps, r.serving(n, joined.ID))
		}
	}
	return steps
}

// serverLine is the line of the kubelet's own kubeconfig that names the cluster's endpoint. The kubelet writes the file
// when it joins, from the one with the token, and never reads it again; so a new endpoint is told by us.
func (r *Join) serverLine() string { return "    server: https://" + r.Cluster.Endpoint }

// knowsEndpoint says whether a kubelet that has joined was told the endpoint that counts.
func (r *Join) knowsEndpoint(ctx context.Context, nd *node.Node) (bool, error) {
	conf := shell.Quote(r.Driver.Paths().Kubeconfig)
	out, err := nd.Query(ctx, "if [ -s "+conf+" ] && grep -q '^ *server: ' "+conf+
		"; then sed -n 's/^ *server: */server /p' "+conf+"; fi")
	return out == "" || strings.TrimSpace(out) == "server https://"+r.Cluster.Endpoint, err
}

// tellEndpoint says whether the kubelet was told another endpoint, in this try or in an earlier one of the run.
func (r *Join) tellEndpoint(ctx context.Context, nd *node.Node) (bool, error) {
	if ok, err := r.knowsEndpoint(ctx, nd); ok || err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.moved[nd.Name()], err
	}
	r.mu.Lock()
	if r.moved == nil {
		r.moved = map[string]bool{}
	}
	r.moved[nd.Name()] = true
	r.mu.Unlock()
	conf := shell.Quote(r.Driver.Paths().Kubeconfig)
	_, err := nd.Change(ctx, node.Change{Desc: event.M("change.endpoint", "path", r.Driver.Paths().Kubeconfig,
		"endpoint", r.Cluster.Endpoint),
		Env: map[string]string{"LINE": r.serverLine()},
		Script: r.Driver.Stale(driver.Kubelet) + "(umask 077; awk '/^ *server: / {print ENVIRON[\"LINE\"]; next} " +
			"{print}' " + conf + " >" + conf + ".eggo-new)\nsync " + conf + ".eggo-new 2>/dev/null || sync\nmv -f " +
			conf + ".eggo-new " + conf + "\n"})
	return true, err
}

// mayJoin says whether the node has its certificate, or the token that counts to ask for one.
func (r *Join) mayJoin(ctx context.Context, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "[ -s "+shell.Quote(r.Driver.Paths().Kubeconfig)+" ] && echo joined || true")
	if err != nil || strings.TrimSpace(out) == "joined" {
		return err == nil, err
	}
	t, ok := r.readToken()
	if !ok {
		return false, nil
	}
	conf, err := r.BootstrapKubeconfig(t.ID + "." + t.Secret)
	if err != nil {
		return false, err
	}
	return nd.Same(ctx, []node.File{layout.SecretFile(r.Driver.Paths().Bootstrap, conf)})
}

// joined: the Node object is there with its role, the kubelet has its own kubeconfig, and the token is gone from the
// machine.
func (r *Join) joined(ctx context.Context, n config.Node) (bool, error) {
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, clients.Fault(err)
	}
	if !inRole(n, obj) {
		return false, nil
	}
	if ok, err := r.settled(ctx, n, obj); !ok || err != nil {
		return false, err
	}
	if stale, err := r.stalePods(ctx, obj); err != nil || len(stale) > 0 {
		return false, err
	}
	return r.has(ctx, n, "[ -s "+shell.Quote(r.Driver.Paths().Kubeconfig)+" ] && [ ! -e "+
		shell.Quote(r.Driver.Paths().Bootstrap)+" ]")
}

// has says whether a condition holds on a node.
func (r *Join) has(ctx context.Context, n config.Node, condition string) (bool, error) {
	out, err := r.Node(n.Name).Query(ctx, condition+" && echo yes || true")
	return strings.TrimSpace(out) == "yes", err
}

func (r *Join) join(ctx context.Context, n config.Node) error {
	nd := r.Node(n.Name)
	if wait.Dry(ctx) {
		if err := r.tellFuture(ctx, n); err != nil {
			return err
		}
	}
	obj, err := r.API().CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if err := r.registerAgain(ctx, n, nd); err != nil {
			return err
		}
		return r.unregistered(ctx, n, nd)
	}
	if err != nil {
		return clients.Fault(err)
	}
	if err := r.setRole(ctx, n, obj); err != nil {
		return err
	}
	if err := r.settle(ctx, n); err != nil {
		return err
	}
	if err := r.dropStalePods(ctx, obj); err != nil {
		return err
	}
	// The Node may be that of a machine before, or of the data that the cluster began with: a kubelet that has no
	// kubeconfig of its own still needs the token.
	if own, err := r.has(ctx, n, "[ -s "+shell.Quote(r.Driver.Paths().Kubeconfig)+" ]"); err != nil {
		return err
	} else if !own && !wait.Dry(ctx) {
		return r.unregistered(ctx, n, nd)
	}
	token := r.Driver.Paths().Bootstrap
	if there, err := r.has(ctx, n, "[ -e "+shell.Quote(token)+" ]"); err != nil || !there {
		return err
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.remove", "path", token),
		Script: "rm -f " + shell.Quote(token) + "\n"})
	return err
}

// unregistered is the fault of a kubelet that has not registered yet.
func (r *Join) unregistered(ctx context.Context, n config.Node, nd *node.Node) error {
	f := event.NewFault(event.ClassFailed, "bootstrap.not-registered", nil, "log",
		r.Driver.LastWords(ctx, nd, driver.Kubelet)).On(n.Name)
	f.Retry = true
	return f
}
