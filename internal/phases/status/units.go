package status

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// UnitStates asks a machine what systemd knows of units: of each that is there a block of NAME=VALUE. Nothing is
// changed.
func UnitStates(ctx context.Context, h node.Host, units []string) (string, error) {
	nd := node.New(h, func(event.Event) error { return nil })
	return nd.Query(ctx, "for u in "+strings.Join(units, " ")+"; do\n"+
		"  s=$(timeout 20 systemctl show -p "+
		"Id,LoadState,UnitFileState,ActiveState,SubState,Result,NRestarts,ExecMainCode,ExecMainStatus,ActiveEnterTimestamp,InactiveEnterTimestamp,MemoryCurrent \"$u\" 2>&1) || true\n"+
		"  case $s in *LoadState=not-found*) ;; *) printf '%s\\n\\n' \"$s\" ;; esac\ndone\n")
}
