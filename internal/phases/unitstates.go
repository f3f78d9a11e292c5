package phases

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// UnitStates asks a machine what systemd knows of the units that are ours or that we configure: of each that is there a
// block of NAME=VALUE. Nothing is changed.
func UnitStates(ctx context.Context, h node.Host) (string, error) {
	nd := node.New(h, func(event.Event) error { return nil })
	units := []string{"etcd.service", "kube-apiserver.service", "kube-controller-manager.service",
		"kube-scheduler.service", "kubelet.service", "kube-proxy.service",
		"coredns.service", balancer.Unit, layout.ContainerdUnit, layout.DockerdUnit, layout.CRIDockerUnit,
		layout.IsuladUnit, "eggo-firewall.service"}
	return nd.Query(ctx, "for u in "+strings.Join(units, " ")+"; do\n"+
		"  s=$(timeout 20 systemctl show -p "+
		"Id,LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainCode,ExecMainStatus,ActiveEnterTimestamp,InactiveEnterTimestamp,MemoryCurrent \"$u\" 2>&1) || true\n"+
		"  case $s in *LoadState=not-found*) ;; *) printf '%s\\n\\n' \"$s\" ;; esac\ndone\n")
}
