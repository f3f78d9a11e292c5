package preflight

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkReach tries, from every node, the way to each control plane's SSH port, which is known to be open: a firewall or
// a wrong route between the nodes shows here and not ten minutes later as a kubelet that never joins. The control
// planes try it too: their SSH servers have to forward, for that is our way to the API.
func checkReach() Check {
	return Check{
		Name: "reach", Codes: []string{"preflight.unreachable"},
		Ask: func(ctx context.Context, in *Input, n config.Node, _ *facts.Facts) []event.Finding {
			var out []event.Finding
			for _, cp := range in.Cluster.With(bundle.ControlPlane) {
				if in.Nodes.Node(cp.Name) == nil { // those that we cannot reach ourselves are told already
					continue
				}
				target := net.JoinHostPort(cp.IP.String(), strconv.Itoa(cp.Port))
				dial, cancel := context.WithTimeout(ctx, 10*time.Second)
				c, err := in.Nodes.Node(n.Name).Dial(dial, "tcp", target)
				cancel()
				if err != nil {
					out = append(out, Finding(event.Error, n.Name, "preflight.unreachable", "target", target, "other",
						cp.Name, "cause", event.AsFault(err).Cause))
					continue
				}
				c.Close()
			}
			return out
		},
	}
}
