package host

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Imported writes whose node this is, and that others have made it one: a cleanup stops those of the units that run,
// and removes nothing of what was there before.
func (r *Host) Imported(n config.Node, units []string) *engine.Step {
	s := plan.Step(plan.PhaseImport, "node", n.Name, plan.Checked())
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, "head -n 2 "+node.Dir+"/node 2>/dev/null || true")
		return out == r.Cluster.Name+"\n"+n.Name+"\n", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		is, err := nd.Units(ctx, units...)
		if err != nil {
			return err
		}
		records := []node.Record{{Kind: "imported", Key: r.Cluster.Name, Was: "-"}}
		for i, u := range is {
			if u.Active() {
				records = append(records, node.Record{Kind: "unit", Key: units[i], Was: "imported"})
			}
		}
		_, err = nd.Change(ctx, node.Change{Desc: event.M("change.imported", "cluster", r.Cluster.Name),
			Records: records, Stdin: []byte(r.Cluster.Name + "\n" + n.Name + "\n"),
			Script: node.OwnerScript(r.Fence.Raised()) + "cat >$D/node.new\nmv -f $D/node.new $D/node\n"})
		return err
	})
	return s
}
