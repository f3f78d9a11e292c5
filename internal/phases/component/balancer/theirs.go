package balancer

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TheirUnit starts nginx as the load balancer of the original eggo, in the place of the distribution's unit; theirConf
// is the name of its configuration.
const (
	TheirUnit = "nginx.service"
	theirConf = "kube-nginx.conf"
)

// endTheirs stops the load balancer of the original eggo on a node that was imported, for ours listens on its port. An
// nginx that is somebody else's stays.
func (r *Balancer) endTheirs(ctx context.Context, nd *node.Node) error {
	if !r.Imported(nd.Name()) {
		return nil
	}
	unit, err := nd.Unit(ctx, TheirUnit)
	if err != nil || !unit.Active() {
		return err
	}
	out, err := nd.Query(ctx, "u=/etc/systemd/system/"+TheirUnit+"; [ -e $u ] || u=/usr/lib/systemd/system/"+
		TheirUnit+"\nif grep -qs "+theirConf+" $u; then echo theirs; fi\n")
	if err != nil || out == "" {
		return err
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.end-theirs", "unit", TheirUnit, "conf", theirConf),
		Records: []node.Record{{Kind: "unit", Key: TheirUnit, Was: "imported"}},
		Script:  "systemctl disable --now " + TheirUnit + "\n"})
	return err
}
