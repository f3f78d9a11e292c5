package balancer

import (
	"context"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Stop ends a load balancer on a machine that stays in the cluster, when the steps of needs have shown that no node
// uses it: the service goes with the files that the record says are ours. The package stays until the machine is
// cleaned up. A machine on which only the port changes gives up the port.
func (r *Balancer) Stop(b input.Balancer, needs []string) *engine.Step {
	n := r.FormerNode(b)
	s := plan.Step(plan.PhaseClean, "balancer", n.Name, needs)
	s.ID += "-" + strconv.Itoa(b.Bind)
	s.Title = event.M("step.clean.balancer", "node", n.Name, "port", strconv.Itoa(b.Bind))
	s.Retry = engine.Retry{Tries: 2}
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		r.DropFormer(b)
		return r.balancing(ctx, func() error {
			if len(r.ports(n.Name)) == 0 {
				return r.remove(ctx, nd)
			}
			svc, err := r.service(ctx, nd)
			if err != nil {
				return err
			}
			return nd.StartAs(ctx, svc, event.M("change.balancer-port", "port", strconv.Itoa(b.Bind)))
		})
	})
	return s
}

// remove stops the service and takes its files away.
func (r *Balancer) remove(ctx context.Context, nd *node.Node) error {
	recs, err := nd.Records(ctx)
	if err != nil {
		return err
	}
	var script strings.Builder
	for _, x := range recs {
		switch {
		case x.Kind == "unit" && x.Key == Unit:
			script.WriteString("systemctl disable --now " + Unit + " 2>/dev/null || systemctl stop " + Unit + "\n")
		case x.Kind == "file" && (x.Key == Conf || x.Key == layout.UnitDir+Unit):
			k := shell.Quote(x.Key)
			script.WriteString("unfile " + k + "\nunrec file " + k + "\nunrec via " + k + "\n")
		}
	}
	if script.Len() == 0 {
		return engine.ErrUnchanged
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.balancer-stop", "unit", Unit),
		Script: "keep() { printf 'kept %s\\n' \"$1\"; }\n" + script.String() +
			"rm -f $D/applied/" + Unit + " $D/applied/" + Unit + ".file\nsystemctl daemon-reload\nunrec unit " + Unit +
			"\n"})
	return err
}

// Ready are the steps that have shown that the load balancers of deploy.yaml answer.
func (r *Balancer) Ready() []string {
	return plan.IDs(plan.PhaseBalancer, "ready", r.Cluster.With(bundle.LoadBalancer))
}
