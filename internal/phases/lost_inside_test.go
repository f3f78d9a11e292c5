package phases

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// A load balancer that deploy.yaml no longer has on its machine goes on there, and nobody brings its list up to date:
// that is said.
func TestALoadBalancerThatMovedIsTold(t *testing.T) {
	r := newTestRun()
	was := worker
	was.Roles = []bundle.Role{workerRole, bundle.LoadBalancer}
	r.Saved = &config.Cluster{Name: "mine", Nodes: []config.Node{master, was}}
	if got := codes(r.judgeLost()); !slices.Equal(got, []string{"warning preflight.balancer-left"}) {
		t.Error(got)
	}
	r.Cluster.Nodes[1] = was
	if got := r.judgeLost(); got != nil {
		t.Error(got)
	}
}
