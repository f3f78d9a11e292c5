package operation

import (
	"context"
	"net/netip"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A login that was said of a node that joins is the node's own, from the first connection on and in deploy.yaml; one
// that is the cluster's is nothing new, and one that contradicts deploy.yaml is refused.
func TestLoginsOfNodesThatJoin(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	var used Access
	d.Dialer = noting{f, &used}
	at := func(ip string) config.Node {
		return config.Node{IP: netip.MustParseAddr(ip), Arch: "amd64", Roles: []bundle.Role{bundle.Worker}}
	}
	prepared := func(n config.Node, l request.Login) (*prepared, error) {
		q := request.Join{Common: deployOf(f).Common, Nodes: []config.Node{n},
			Logins: map[string]request.Login{n.IP.String(): l}}
		p, err := prepare(context.Background(), q, d)
		if err == nil {
			t.Cleanup(p.close)
			_, err = p.extend(context.Background(), p.request.(request.Join))
		}
		return p, err
	}
	p, err := prepared(at("192.0.2.99"), request.Login{User: "pool", Key: "/keys/pool"})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]*config.Cluster{"the first connection": used.Cluster, "the run": p.cluster} {
		if l := c.LoginOf("k8s-worker-0"); l.User != "pool" || l.PrivateKeyPath != "/keys/pool" {
			t.Errorf("%s: %+v", what, l)
		}
	}
	written, problems := config.Load(p.text, "deploy.yaml")
	if written == nil || written.LoginOf("k8s-worker-0").User != "pool" {
		t.Errorf("%v\n%s", problems, p.text)
	}

	plain, err := prepared(at("192.0.2.98"), request.Login{User: written.LoginOf("").User})
	if err != nil || len(plain.logins) > 0 {
		t.Errorf("the cluster's own login: %v %v", plain.logins, err)
	}
	_, err = prepared(config.Node{IP: written.Nodes[0].IP}, request.Login{User: "pool"})
	if fault := event.AsFault(err); fault == nil || fault.Code != "join.login" {
		t.Errorf("a node that is in the cluster: %v", err)
	}
}

// Labels and taints that were said of a node that joins are in deploy.yaml, by the name that it gets.
func TestLabelsOfNodesThatJoin(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	n := config.Node{IP: netip.MustParseAddr("192.0.2.99"), Arch: "amd64", Roles: []bundle.Role{bundle.Worker}}
	q := request.Join{Common: deployOf(f).Common, Nodes: []config.Node{n},
		Settings: map[string]config.NodeSettings{"192.0.2.99": {Labels: map[string]string{"disk": "ssd"},
			Taints: []config.Taint{{Key: "dedicated", Effect: "NoSchedule"}}}}}
	p, err := prepare(context.Background(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	if _, err := p.extend(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	written, problems := config.Load(p.text, "deploy.yaml")
	if written == nil {
		t.Fatal(problems)
	}
	if s := written.Eggo.Nodes["k8s-worker-0"]; s.Labels["disk"] != "ssd" || len(s.Taints) != 1 ||
		p.cluster.Eggo.Nodes["k8s-worker-0"].Labels["disk"] != "ssd" {
		t.Errorf("%+v\n%s", s, p.text)
	}
}

// noting keeps how nodes are logged in to.
type noting struct {
	*fakes
	used *Access
}

// Connections implements Dialer.
func (n noting) Connections(a Access) (Connections, error) {
	if n.used.Cluster == nil {
		*n.used = a
	}
	return n.fakes.Connections(a)
}

// A login that deploy.yaml has for a node that is not there yet stays that node's own.
func TestALoginOfANodeToComeStays(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	q := request.Join{Common: deployOf(f).Common,
		Nodes:  []config.Node{{IP: netip.MustParseAddr("192.0.2.99"), Arch: "amd64"}},
		Logins: map[string]request.Login{"192.0.2.99": {User: "pool"}}}
	p, err := prepare(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.cluster.Eggo.Machines = map[string]config.Login{"k8s-worker-0": {User: "bob"}}
	if err := p.ownLogins(q); err != nil {
		t.Fatal(err)
	}
	if name := p.request.(request.Join).Nodes[0].Name; name == "" || name == "k8s-worker-0" ||
		p.cluster.LoginOf("k8s-worker-0").User != "bob" || p.cluster.LoginOf(name).User != "pool" {
		t.Errorf("%q: %+v", name, p.cluster.Eggo.Machines)
	}
}
