package phases

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeReach tries, from every node, the way to each control plane's SSH port, which is known to be open: a firewall or
// a wrong route between the nodes shows here and not ten minutes later as a kubelet that never joins. The control
// planes try it too: their SSH servers have to forward, for that is our way to the API.
func (r *run) judgeReach(ctx context.Context) []event.Finding {
	found := make([][]event.Finding, len(r.Cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		nd := r.Node(n.Name)
		if nd == nil { // those that we cannot reach ourselves are told already
			continue
		}
		wg.Go(func() {
			for _, cp := range r.Cluster.With(bundle.ControlPlane) {
				if r.Node(cp.Name) == nil {
					continue
				}
				target := net.JoinHostPort(cp.IP.String(), strconv.Itoa(cp.Port))
				dial, cancel := context.WithTimeout(ctx, 10*time.Second)
				c, err := nd.Dial(dial, "tcp", target)
				cancel()
				if err != nil {
					found[i] = append(found[i], finding(event.Error, n.Name, "unreachable", "target", target, "other",
						cp.Name, "cause", event.AsFault(err).Cause))
					continue
				}
				c.Close()
			}
		})
	}
	wg.Wait()
	return slices.Concat(found...)
}
