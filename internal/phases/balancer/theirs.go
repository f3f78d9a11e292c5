package balancer

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// The load balancer of the original eggo: the name of its configuration, and the unit that starts nginx with it, in the
// place of the distribution's.
const (
	theirConf = "kube-nginx.conf"
	theirUnit = "nginx.service"
)

// endTheirs stops the load balancer of the original eggo on a node that was imported, for ours listens on its port. An
// nginx that is somebody else's stays.
func (r *Balancer) endTheirs(ctx context.Context, nd *node.Node) error {
	if !r.Imported(nd.Name()) {
		return nil
	}
	unit, err := nd.Unit(ctx, theirUnit)
	if err != nil || !unit.Active() {
		return err
	}
	out, err := nd.Query(ctx, "if grep -qs "+theirConf+" /usr/lib/systemd/system/"+theirUnit+"; then echo theirs; fi\n")
	if err != nil || out == "" {
		return err
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.end-theirs", "unit", theirUnit, "conf", theirConf),
		Records: []node.Record{{Kind: "unit", Key: theirUnit, Was: "imported"}},
		Script:  "systemctl disable --now " + theirUnit + "\n"})
	return err
}
