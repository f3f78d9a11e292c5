package phases

import (
	"cmp"
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Machine is what preflight saw of a node. The names of its fields in JSON do not change.
type Machine struct {
	Type        string       `json:"type"` // machine
	Node        string       `json:"node"`
	Address     string       `json:"address"`
	Roles       []string     `json:"roles"`
	Reached     bool         `json:"reached"` // the rest is known
	Fault       *event.Fault `json:"-"`       // why it was not reached; a finding says it, too
	OS          string       `json:"os,omitempty"`
	Arch        string       `json:"arch,omitempty"`
	CPUs        int          `json:"cpus,omitempty"`
	MemoryBytes int64        `json:"memory_bytes,omitempty"`
	DiskBytes   int64        `json:"disk_free_bytes,omitempty"` // where images and data go
	SkewNS      int64        `json:"clock_skew_ns"`             // the node's clock minus this machine's
	Runtime     string       `json:"runtime,omitempty"`         // that runs already
	Cluster     string       `json:"cluster,omitempty"`         // whose node it is already
	Kubelet     string       `json:"kubelet,omitempty"`         // version that runs
}

// Preflight plans an inspection of every machine and the result of the checks. machines gives what was seen, when the
// plan has run.
func Preflight(env Env) (p *engine.Plan, machines func() []Machine) {
	r := newRun(env)
	if env.Saved != nil { // a deploy would change container runtimes in turns, and CoreDNS
		r.turns, r.movesDNS = &upgrade.Options{}, true
	}
	o := r.options()
	o.Hosts = append(o.Hosts, inventory.Hosts(&config.Cluster{Nodes: r.FormerMachines()})...)
	b := plan.New(o, plan.Phase{ID: plan.PhasePreflight, Open: true})
	r.lookAtFormer(b)
	b.Add(preflight.Steps(r.Nodes, r.Sources(), preflight.Accept(r.Env, r.checkDeploy),
		plan.IDs(plan.PhasePreflight, "facts", r.FormerMachines())...)...)
	return b.Plan(), func() []Machine {
		var out []Machine
		for _, n := range env.Cluster.Nodes {
			m := machine(n, r.Fact(n.Name))
			if why := r.Failure(n.Name, n.Name).Fault; !m.Reached && why.Code != "internal" {
				m.Fault = &why
			}
			out = append(out, m)
		}
		return out
	}
}

func machine(n config.Node, f *facts.Facts) Machine {
	m := Machine{Type: "machine", Node: n.Name, Address: n.IP.String()}
	for _, role := range n.Roles {
		m.Roles = append(m.Roles, string(role))
	}
	if f == nil {
		return m
	}
	m.Reached, m.OS, m.Arch, m.CPUs, m.MemoryBytes = true, f.OS["PRETTY_NAME"], f.Arch, f.CPUs, f.Memory
	m.SkewNS, m.Cluster, m.Kubelet = int64(f.Skew), f.Cluster, f.Kubelet
	m.DiskBytes = cmp.Or(f.Free["/var/lib/containerd"], f.Free["/usr"]).Bytes
	m.Runtime = cmp.Or(strings.Join(f.OwnRuntimes, ", "), strings.Join(f.Runtimes, ", "))
	return m
}

// Probe inspects one machine by itself: what it is, and what preflight would say of it whatever the others and the
// bundles are. Nothing is changed. Of env it needs Cluster, Connect, Emit and Now.
func Probe(ctx context.Context, env Env, n config.Node) (Machine, *facts.Facts, []event.Finding, error) {
	r := newRun(env)
	if err := r.Inspect(ctx, n); err != nil {
		return machine(n, nil), nil, nil, err
	}
	f := r.Fact(n.Name)
	return machine(n, f), f, preflight.RunOn(ctx, r.checked([]config.Node{n}), preflight.Machine(), n, f), nil
}
