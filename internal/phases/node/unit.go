package node

import (
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Unit is how a unit of systemd is on a node. Every question of the phases whether one runs, starts at boot or was
// started by us is asked by it. Scripts that ask a node for much more in one go (facts, status, support) and changes
// that must know it at their very moment ask systemd themselves.
type Unit struct {
	State   string // active, inactive, failed, activating, deactivating, reloading; "" when systemd does not answer
	Enabled bool
	Applied string // the checksum of what we started it with; "" when we did not
}

// Active says whether the unit runs.
func (u Unit) Active() bool { return u.State == "active" }

// Units asks in one round trip how units are, and answers in their order.
func (n *Node) Units(ctx context.Context, names ...string) ([]Unit, error) {
	out, err := n.Query(ctx, "for u in "+shell.QuoteAll(names)+"; do\n"+
		"  printf 'state=%s enabled=%s applied=%s\\n' \"$(systemctl is-active \"$u\" || true)\" \\\n"+
		"    \"$(systemctl is-enabled \"$u\" 2>/dev/null || true)\" \"$(cat "+Dir+"/applied/\"$u\" 2>/dev/null || true)\"\n"+
		"done\n")
	if err != nil {
		return nil, err
	}
	units := make([]Unit, len(names))
	i := 0
	for line := range strings.Lines(out) {
		if i == len(units) || !strings.HasPrefix(line, "state=") {
			continue
		}
		for _, word := range strings.Fields(line) {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "state":
				units[i].State = value
			case "enabled":
				units[i].Enabled = value == "enabled"
			case "applied":
				units[i].Applied = value
			}
		}
		i++
	}
	return units, nil
}

// Unit is how one unit is.
func (n *Node) Unit(ctx context.Context, name string) (Unit, error) {
	units, err := n.Units(ctx, name)
	if err != nil {
		return Unit{}, err
	}
	return units[0], nil
}
