package guide

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Several control planes whose endpoint is one of them: the load balancer is offered on the first machine that only
// runs workloads. In a running cluster, and without such a machine, the list of machines is opened.
func TestFix_OffersALoadBalancer(t *testing.T) {
	plane, worker := []bundle.Role{bundle.ControlPlane}, []bundle.Role{bundle.Worker}
	found := event.Finding{Fault: event.Fault{Code: "preflight.endpoint-single"}}
	for name, c := range map[string]struct {
		roles   [][]bundle.Role
		members map[string]bool
		at      int // the machine that gets the load balancer; -1: none
	}{
		"a worker":             {[][]bundle.Role{plane, plane, worker, worker}, nil, 2},
		"control planes alone": {[][]bundle.Role{plane, plane, plane}, nil, -1},
		"workers are planes":   {[][]bundle.Role{{bundle.ControlPlane, bundle.Worker}, plane}, nil, -1},
		"a running cluster":    {[][]bundle.Role{plane, plane, worker}, map[string]bool{}, -1},
	} {
		d := config.Draft{}.WithValues(map[string]string{"apiserver-endpoint": "192.0.2.1:6443"})
		for _, r := range c.roles {
			d.Machines = append(d.Machines, config.Machine{Roles: r})
		}
		s := New()
		s.Draft, s.Members = d, c.members
		word, change, to := s.fix(found)
		if c.at < 0 {
			if change != nil || to != MachinesStep {
				t.Errorf("%s: %s, %s", name, word, to)
			}
			continue
		}
		if change == nil {
			t.Errorf("%s: nothing is offered", name)
			continue
		}
		change()
		at := slices.IndexFunc(s.Draft.Machines, func(m config.Machine) bool { return m.Has(bundle.LoadBalancer) })
		if at != c.at || s.Draft.Value("apiserver-endpoint") != "" {
			t.Errorf("%s: machine %d, %v", name, at, s.Draft)
		}
		if _, again, _ := s.fix(found); again != nil {
			again()
		}
		if worker[0] != bundle.Worker || len(worker) != 1 {
			t.Errorf("%s: the roles of other machines changed", name)
		}
	}
}
