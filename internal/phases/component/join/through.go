package join

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// leases is the namespace in which kubelets say that they live.
const leases = "kube-node-lease"

// through waits until a kubelet that was just restarted says through its endpoint that it lives. The time of that is by
// the node's own clock, which is compared with nobody else's.
func (r *Join) through(n config.Node) driver.Ready {
	return func(ctx context.Context, nd *node.Node) error {
		if f := r.Fact(n.Name); f == nil || !f.Joined {
			return nil
		}
		out, err := nd.Query(ctx, "date -u +%s%N\n")
		if err != nil {
			return err
		}
		now, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		if err != nil {
			return fmt.Errorf("the clock of %s: %w", n.Name, err)
		}
		return r.Renews(ctx, n, time.Unix(0, now))
	}
}

// Renews waits until the kubelet has renewed its lease since then.
func (r *Join) Renews(ctx context.Context, n config.Node, since time.Time) error {
	stale := false // the API server has said so; the last question may fail for want of time
	err := wait.Until(ctx, 2*wait.ProbeLimit, func(ctx context.Context) error {
		lease, err := r.API().CoordinationV1().Leases(leases).Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return clients.Fault(err)
		}
		if t := lease.Spec.RenewTime; t == nil || !t.After(since) {
			stale = true
			return errStale
		}
		return nil
	})
	if err == nil || !stale {
		return err
	}
	return r.notThrough(context.WithoutCancel(ctx), n)
}

// errStale: the kubelet has not said since then that it lives.
var errStale = errors.New("the lease is not renewed")

func (r *Join) notThrough(ctx context.Context, n config.Node) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return wait.Again("bootstrap.not-through", "endpoint", r.Cluster.Endpoint, "log",
		r.Driver.Log(ctx, r.Node(n.Name), driver.Kubelet)).On(n.Name)
}

// AllThrough wants the files of every node to name no other endpoint than that of deploy.yaml, and wants no node to
// resolve its name to an address of old.
func (r *Join) AllThrough(ctx context.Context, old []string) error {
	for _, n := range inventory.Kubelets(r.Cluster) {
		nd := r.Node(n.Name)
		if ok, err := r.knowsEndpoint(ctx, nd); err != nil {
			return err
		} else if !ok {
			return r.notThrough(ctx, n)
		}
		name := r.EndpointName()
		if name == "" {
			continue
		}
		out, err := nd.Query(ctx, "getent ahosts "+shell.Quote(name)+" 2>/dev/null || true\n")
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			for _, addr := range old {
				if w := strings.Fields(line); len(w) > 0 && w[0] == addr {
					return event.NewFault(event.ClassFailed, "endpoint.resolves-old", nil, "name", name, "addr",
						addr).On(n.Name)
				}
			}
		}
	}
	return nil
}
