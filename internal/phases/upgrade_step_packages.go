package phases

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/payload/packages"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/drain"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// nodes are the turns of the kubelets.
func (h *hop) nodes(needs string) []*engine.Step {
	r := h.to
	k := upgrade.NewKubelets(r.Clients, r.driver, r.runtimes.Start, h.o)
	if h.o.Packages {
		pk := h.packages()
		k.Moves = r.packageMoves(func(n config.Node) *engine.Step {
			s := pk.Upgrade(n, r.packaged(n)...)
			apply := s.Apply
			s.Apply = func(ctx context.Context) error {
				if !h.state.Is().Packages {
					if err := h.state.Change(ctx, func(b *upgrade.Begun) { b.Packages = true }); err != nil {
						return err
					}
				}
				return apply(ctx)
			}
			return s
		})
		k.Moves.Back = func(n config.Node) *engine.Step { return pk.Back(n, h.Version, r.packaged(n)...) }
		k.Moves.Was = h.started
	}
	k.Before = h.publishBefore()
	return k.Steps([]string{needs})
}

// packages are those of the hop; the old ones come from the bundles of before.
func (h *hop) packages() *packages.Packages {
	return &packages.Packages{Payload: h.to.Payload, Old: h.was.BundleOf}
}

// started is what is started from packages of a node, as it was before the hop.
func (h *hop) started(n config.Node) []*engine.Step {
	from := h.was
	if from.BundleOf(n) == nil {
		from = h.to
	}
	var out []*engine.Step
	if inventory.IsKubelet(n) {
		out = append(out, from.runtimes.Start(n))
	}
	if n.Has(bundle.LoadBalancer) {
		out = append(out, h.to.balancer.Start(n)) // it knows which servers are out
	}
	return out
}

// packageMoves are how the run moves packages: of a control plane while the load balancers send nobody to it, of a load
// balancer while every other one serves.
func (r *run) packageMoves(move func(config.Node) *engine.Step) *upgrade.Moves {
	return &upgrade.Moves{
		Move: func(n config.Node) *engine.Step {
			s := move(n)
			if apply := s.Apply; n.Has(bundle.ControlPlane) {
				s.Apply = func(ctx context.Context) error { return r.balancer.Aside(ctx, n, apply) }
			}
			return s
		},
		Balancer: r.balancer.Start,
		Answers: func(ctx context.Context, n config.Node) error {
			return wait.Until(ctx, 30*time.Second, func(ctx context.Context) error {
				return r.balancer.Answers(ctx, n, r.Node(n.Name))
			})
		},
		Alone: func(ctx context.Context, host string, f func(context.Context) error) error {
			return r.Restart(ctx, balancer.Unit, host, f)
		},
	}
}

// packaged are the units of a node whose programs come from packages.
func (r *run) packaged(n config.Node) []string {
	var out []string
	if inventory.IsKubelet(n) {
		out = append(out, r.runtimes.Runtime().Units()...)
	}
	if n.Has(bundle.LoadBalancer) {
		out = append(out, balancer.Unit)
	}
	return out
}

// forget are the steps that remove the old packages, if some were moved.
func (h *hop) forget(needs []string) []*engine.Step {
	if !h.o.Packages && !h.o.Begun.Packages {
		return nil
	}
	return h.to.forgetPackages(needs)
}

func (r *run) forgetPackages(needs []string) []*engine.Step {
	pk := packages.Packages{Payload: r.Payload}
	var steps []*engine.Step
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, pk.Forget(n, needs))
	}
	return steps
}

// listed are the packages of nodes that the bundles have in newer versions: what becomes of them on which nodes. A node
// that does not answer has had its finding.
func (h *hop) listed(ctx context.Context) []event.Msg {
	all := h.to.Cluster.Nodes
	found := make([]packages.Found, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { found[i], _ = h.packages().Find(ctx, n) })
	}
	wg.Wait()
	var out []event.Msg
	for l := h; l != nil; l = l.next {
		on := map[[2]string][]string{} // nodes by the message and what is said of packages
		add := func(key string, n config.Node, moves []packages.Move) {
			if len(moves) > 0 {
				at := [2]string{key, packages.Told(moves)}
				on[at] = append(on[at], n.Name)
			}
		}
		for i, n := range all {
			if h.to.Fact(n.Name) == nil || len(h.to.Limit) > 0 && !slices.Contains(h.to.Limit, n.Name) {
				continue
			}
			if l != h {
				l.to.SetFact(n.Name, h.to.Fact(n.Name)) // it meets the nodes when it begins
			}
			list := l.packages().List(n, found[i])
			if h.o.Packages {
				add("notice.upgrade-packages", n, list.Moves)
				add("notice.upgrade-packages-stuck", n, list.Stuck)
			} else {
				add("notice.upgrade-packages-stay", n, list.Moves)
			}
			add("notice.upgrade-packages-theirs", n, list.Theirs)
		}
		sorted := slices.SortedFunc(maps.Keys(on), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		for _, at := range sorted {
			out = append(out, event.M(at[0], "packages", at[1], "nodes", drain.Names(on[at]), "version", l.Version))
		}
	}
	return out
}
