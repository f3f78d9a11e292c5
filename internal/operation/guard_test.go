package operation

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func rack() *config.Cluster {
	at := func(name, ip string, roles ...bundle.Role) config.Node {
		return config.Node{Name: name, IP: netip.MustParseAddr(ip), Port: 22, Arch: "amd64", Roles: roles}
	}
	return &config.Cluster{Name: "rack", Nodes: []config.Node{
		at("m1", "192.0.2.1", bundle.ControlPlane, bundle.Etcd), at("m2", "192.0.2.2", bundle.ControlPlane),
		at("w1", "192.0.2.3", bundle.Worker), at("lb", "192.0.2.4", bundle.LoadBalancer),
	}}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func TestGuards(t *testing.T) {
	for _, c := range []struct {
		guard func([]string) ([]string, error)
		args  string
		want  string // nodes, or the code
	}{
		{limit, "w1", "w1"}, {limit, "role:master", "m1 m2"}, {limit, "role:control-plane w1", "m1 m2 w1"},
		{limit, "w1 m1", "m1 w1"}, {limit, "nobody", "usage.limit"}, {limit, "role:nobody", "usage.limit"},
		{removable, "w1", "w1"}, {removable, "192.0.2.3 w1", "w1"}, {removable, "m2", "m2"},
		{removable, "m1", "delete.last-etcd"}, {removable, "lb", "delete.balancer"},
		{removable, "w9", "delete.unknown"},
		{alone, "w1 192.0.2.9", "w1 192.0.2.9"}, {alone, "::ffff:192.0.2.3", "w1"}, {alone, "w9", "cleanup.unknown"},
	} {
		got, err := c.guard(strings.Fields(c.args))
		if have := strings.Join(got, " ") + code(err); have != c.want {
			t.Errorf("%s: %q, want %q", c.args, have, c.want)
		}
	}
	// Which of the two is named where both hold is not fixed.
	if _, err := Removable(rack(), []string{"m1", "m2"}); !slices.Contains(
		[]string{"delete.last-control-plane", "delete.last-etcd"}, code(err)) {
		t.Error(err)
	}
}

func limit(args []string) ([]string, error) { return Limit(rack(), args) }

func removable(args []string) ([]string, error) {
	nodes, err := Removable(rack(), args)
	return names(nodes), err
}

func alone(args []string) ([]string, error) {
	nodes, err := Alone(rack(), args)
	return names(nodes), err
}
