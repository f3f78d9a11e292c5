package request

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// A machine that is logged in to in a way of its own has it in fields: nobody parses an address.
func TestLoginsOfACallAreFields(t *testing.T) {
	addr := func(s string) config.Node { return config.Node{IP: netip.MustParseAddr(s)} }
	for _, c := range []struct {
		q    Join
		want string
	}{
		{Join{Nodes: []config.Node{addr("192.0.2.5")}}, `{"verb":"join","nodes":["192.0.2.5"]}`},
		{Join{Nodes: []config.Node{addr("192.0.2.5")}, Logins: map[string]Login{"192.0.2.5": {"ops", "/my keys/k"}}},
			`{"verb":"join","nodes":["192.0.2.5"],` +
				`"machines":[{"address":"192.0.2.5","user":"ops","key":"/my keys/k"}]}`},
		{Join{Nodes: []config.Node{addr("192.0.2.5"), addr("192.0.2.6")},
			Logins: map[string]Login{"192.0.2.6": {User: "ops"}}},
			`{"verb":"join","nodes":["192.0.2.5","192.0.2.6"],` +
				`"machines":[{"address":"192.0.2.5"},{"address":"192.0.2.6","user":"ops"}]}`},
	} {
		if got, err := json.Marshal(c.q.Call()); err != nil || string(got) != c.want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, c.want)
		}
	}
}
