package phases

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// moves says whether nodes may still reach the API by what deploy.yaml no longer has.
func (r *run) moves() bool { return r.Former().Any() }

// all says whether the run brings every node to the endpoint. Within a limit that has others what they use stays.
func (r *run) all() bool {
	return len(r.Limit) == 0 || !slices.ContainsFunc(inventory.Kubelets(r.Cluster), func(n config.Node) bool {
		return !slices.Contains(r.Limit, n.Name)
	})
}

// lookAtFormer inspects machines that were load balancers and have no role any more. They may be gone.
func (r *run) lookAtFormer(b *plan.Builder) {
	for _, n := range r.FormerMachines() {
		s := preflight.LookOnce(r.Nodes, n)
		look := s.Verify
		s.Verify = func(ctx context.Context) error {
			if err := look(ctx); err != nil {
				return err
			}
			return r.stillOurs(n)
		}
		b.Add(s)
	}
}

// stillOurs lets go of a machine that has come to belong to another cluster.
func (r *run) stillOurs(n config.Node) error {
	f := r.Fact(n.Name)
	if f.Cluster == "" || f.Cluster == r.Cluster.Name {
		return nil
	}
	r.SetNode(n.Name, nil)
	return r.KeepFault(n.Name, event.NewFault(event.ClassPreflight, "endpoint.other-cluster", nil, "cluster",
		event.Clean(f.Cluster)).On(n.Name))
}

// keepMoves has what nodes may still use kept before the new deploy.yaml becomes the cluster's own. Certificates keep
// the addresses of what lives: nobody comes through a load balancer that is gone.
func (r *run) keepMoves() {
	if !r.moves() {
		return
	}
	accepted := r.Accepted
	r.Accepted = func(ctx context.Context) error {
		if err := r.WriteFormer(r.Former()); err != nil {
			return err
		}
		if err := r.Keep(ctx, input.KeptFormer); err != nil {
			return err
		}
		r.Certs.SetFormer(r.FormerLiving())
		if accepted == nil {
			return nil
		}
		return accepted(ctx)
	}
}

// newNames tell every node that the endpoint's name is at the new load balancer, when that answers.
func (r *run) newNames() []*engine.Step {
	if !r.moves() || r.EndpointName() == "" {
		return nil
	}
	var steps []*engine.Step
	for _, n := range r.Cluster.Nodes {
		steps = append(steps, r.host.Names(n, r.balancer.Ready()))
	}
	return steps
}

// endMoves adds what follows when every node is proven to reach the API by the endpoint of deploy.yaml: load balancers
// of old are stopped, their machines are cleaned if they have no other role, and the certificates of the API servers
// lose the old addresses.
func (r *run) endMoves(b *plan.Builder) {
	if !r.moves() || !r.all() {
		return
	}
	moved := plan.Step(plan.PhaseCheck, "endpoint", "", slices.Concat(b.IDs(plan.PhaseBootstrap, ""),
		r.balancer.Ready(), []string{plan.ID(plan.PhaseControl, "kubeconfig", ""),
			plan.ID(plan.PhaseCheck, "nodes", ""), plan.ID(plan.PhaseCheck, "control-plane", "")}))
	moved.Verify = r.allMoved
	moved.Retry, moved.Timeout = wait.Patience(), time.Minute
	b.Add(moved)
	needs := []string{moved.ID}
	var stopped []string
	cl := r.cleaning(false)
	cl.Snapshot = nil
	for _, f := range r.Former().Balancers {
		n := r.FormerNode(f)
		if slices.ContainsFunc(r.Cluster.Nodes, func(o config.Node) bool { return o.Name == n.Name }) {
			s := r.balancer.Stop(f, needs)
			shut := r.host.OpenPorts(n)
			shut.ID, shut.Phase, shut.Needs = s.ID+"-ports", plan.PhaseClean, []string{s.ID}
			b.Add(s, shut)
			stopped = append(stopped, shut.ID)
		}
	}
	for _, n := range r.FormerMachines() {
		steps, scripts := r.cleanAround(cl, n, cleanup.Options{Needs: needs, Leaving: true})
		b.Add(steps...)
		b.Add(scripts...)
		stopped = append(stopped, plan.StepIDs(steps)...)
		stopped = append(stopped, plan.StepIDs(scripts)...)
	}
	end := plan.Step(plan.PhaseClean, "endpoint", "", append(needs, stopped...))
	end.Apply = r.forgetFormer
	b.Add(end)
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		b.Add(r.driver.Start(driver.APIServer, n, r.control.ServerReady).Steps(plan.PhaseClean, "apiserver", n,
			[]string{end.ID})...)
	}
}

// allMoved wants every node to reach the API by the endpoint of deploy.yaml.
func (r *run) allMoved(ctx context.Context) error {
	var old []string
	for _, f := range r.Former().Balancers {
		if !slices.ContainsFunc(r.Cluster.With(bundle.LoadBalancer),
			func(n config.Node) bool { return n.IP == f.IP }) {
			old = append(old, f.IP.String())
		}
	}
	return r.join.AllThrough(ctx, old)
}

// forgetFormer ends the change: nobody uses the old addresses any more, and the next certificates do not have them.
func (r *run) forgetFormer(ctx context.Context) error {
	for _, n := range r.FormerMachines() {
		if !r.Unreachable(n) {
			continue
		}
		var open []string
		for _, port := range r.FormerPorts(n.IP) {
			open = append(open, strconv.Itoa(port))
		}
		if err := r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx), Text: event.M("notice.balancer-left",
			"node", n.Name, "ip", n.IP.String(), "port", strings.Join(open, ", "), "cluster",
			r.Cluster.Name)}); err != nil {
			return err
		}
	}
	if err := r.WriteFormer(input.Former{}); err != nil {
		return err
	}
	if err := r.Keep(ctx, input.KeptFormer); err != nil {
		return err
	}
	r.Nodes.SetFormer(input.Former{})
	r.Certs.SetFormer(input.Former{})
	if err := r.EnsurePKI(ctx); err != nil && !errors.Is(err, engine.ErrUnchanged) {
		return err
	}
	return nil
}
