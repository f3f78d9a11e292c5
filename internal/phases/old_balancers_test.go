package phases

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// former is a load balancer of old on a machine of its own.
func former() input.Former {
	return input.Former{Endpoints: []string{"192.0.2.41:8443"}, Balancers: []input.Balancer{{Name: "m1",
		IP: netip.MustParseAddr("192.0.2.41"), Port: 22, Arch: "amd64", Bind: 8443}}}
}

// A kubelet that does not come through the new endpoint stops the change, and what it says is told.
func TestAKubeletThatDoesNotReachTheNewEndpoint(t *testing.T) {
	r := stand(t, to("journalctl", "connection refused"))
	serving(t, r, 0, fields{"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/w1": thing(
		"kube-node-lease", "w1", fields{"spec": fields{"renewTime": "2026-01-01T00:00:00.000000Z"}})})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	f := wantFault(t, r.join.Renews(ctx, r.Cluster.Nodes[1], time.Now()), "bootstrap.not-through", "w1", "")
	if f.Args["endpoint"] != r.Cluster.Endpoint || !f.Retry {
		t.Errorf("%+v", f)
	}
	if err := r.join.Renews(t.Context(), r.Cluster.Nodes[1], time.Unix(0, 0)); err != nil {
		t.Error(err)
	}
}

// While a node resolves the endpoint's name to the load balancer of old, that is not stopped.
func TestANameThatStillLeadsToTheFormerLoadBalancer(t *testing.T) {
	r := stand(t, to("getent", "192.0.2.41      STREAM api.example\n"))
	r.Cluster.Endpoint = "api.example:8443"
	r.Nodes.SetFormer(former())
	wantFault(t, r.allMoved(t.Context()), "endpoint.resolves-old", "m1", "")
	found := preflight.Run(t.Context(), r.checked(r.Cluster.Nodes), preflight.Deploy())
	if !slices.ContainsFunc(found, func(f event.Finding) bool { return f.Fault.Code == "preflight.endpoint-record" }) {
		t.Errorf("%+v", found)
	}
}

// The machine of old may have the name that its successor has now.
func TestAFormerLoadBalancerHasANameOfItsOwn(t *testing.T) {
	r := stand(t, silent)
	r.Nodes.SetFormer(former())
	if got := r.FormerMachines(); len(got) != 1 || got[0].Name != "m1-192.0.2.41" {
		t.Errorf("%+v", got)
	}
	// Nor is it cleaned when it is another cluster's by now.
	n := r.FormerMachines()[0]
	r.SetNode(n.Name, r.Node("m1"))
	r.SetFact(n.Name, &facts.Facts{Cluster: "theirs"})
	wantFault(t, r.stillOurs(n), "endpoint.other-cluster", n.Name, "")
	if !r.Unreachable(n) {
		t.Error("it would be cleaned")
	}
}
