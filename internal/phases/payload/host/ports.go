package host

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Inbound are the ports on which others come to the components of the node's roles, and those that deploy.yaml opens
// for a role. The controller manager and the scheduler listen on loopback; NodePorts come in by address translation,
// ahead of the rules for ports.
func (r *Host) Inbound(n config.Node) []facts.PortRange {
	var p []facts.PortRange
	add := func(port int, protos ...string) {
		for _, proto := range protos {
			if x := (facts.PortRange{From: port, To: port, Proto: proto}); port != 0 && !slices.Contains(p, x) {
				p = append(p, x)
			}
		}
	}
	if n.Has(bundle.Etcd) {
		add(2379, "tcp")
		add(2380, "tcp")
	}
	if n.Has(bundle.ControlPlane) {
		add(6443, "tcp")
		if r.Cluster.DNS.IsBinary() || r.FormerDNS() == "binary" {
			add(53, "tcp", "udp")
			add(9153, "tcp")
		}
	}
	if n.Has(bundle.LoadBalancer) {
		add(r.Cluster.LBPort, "tcp")
	}
	for _, port := range r.FormerPorts(n.IP) { // of a load balancer that nodes may still use
		add(port, "tcp")
	}
	if inventory.IsKubelet(n) {
		add(10250, "tcp")
		add(10256, "tcp")
		for _, x := range config.PluginPorts(r.Cluster.NetworkPlugin) {
			add(x.Port, x.Protocol)
		}
	}
	for _, role := range n.Roles {
		for _, x := range r.Cluster.OpenPorts[role] {
			add(x.Port, x.Protocol)
		}
	}
	return p
}

// podNetworks are the networks that pods send from, as the packet filter names them.
func (r *Host) podNetworks() []string { return []string{r.Cluster.PodCIDR.String()} }

// rules are the rules of the machine's firewalls that the node's roles need, in the words of their records. Without all
// those are left out whose port the firewall lets in already by a rule of somebody else's.
func (r *Host) rules(n config.Node, f *facts.Facts, all bool) []string {
	var out []string
	for i := range f.Firewalls {
		out = append(out, f.Firewalls[i].Rules(r.Inbound(n), r.pods(n), all)...)
	}
	return out
}

// pods are the networks whose packets the machine has to forward.
func (r *Host) pods(n config.Node) []string {
	if !inventory.IsKubelet(n) {
		return nil
	}
	return r.podNetworks()
}

// FirewallUnit opens ports again at each start of a machine.
const FirewallUnit = "eggo-firewall.service"

const firewallScriptPath = "/etc/eggo/firewall.sh"

// forgets are those of the rules that are gone when the machine or its packet filter is restarted: their owner's
// files are not ours to write in.
func forgets(rules []string) []string {
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		return strings.HasPrefix(rule, "firewalld ") || strings.HasPrefix(rule, "ufw ")
	})
}

// firewallService brings them back at boot and whenever the packet filter's own unit loads its file.
func firewallService(rules []string) node.Service {
	u := "# Written by Eggo; removed by eggo-tui cleanup.\n[Unit]\nDescription=Ports of Kubernetes in the packet " +
		"filter\n" +
		"After=nftables.service netfilter-persistent.service iptables.service\nPartOf=nftables.service " +
		"netfilter-persistent.service iptables.service\n" +
		"ReloadPropagatedFrom=nftables.service netfilter-persistent.service iptables.service\n" +
		"Before=kubelet.service\n\n" +
		"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh " + firewallScriptPath +
		"\nExecReload=/bin/sh " + firewallScriptPath + "\n\n[Install]\nWantedBy=multi-user.target\n"
	return node.Service{Unit: FirewallUnit, Files: []node.File{
		{Path: firewallScriptPath, Mode: 0o755, Data: []byte(node.FirewallAtBoot(rules))},
		layout.PlainFile(layout.UnitDir+FirewallUnit, []byte(u)),
	}}
}

// OpenPorts opens what the node's roles need in the machine's firewalls, and closes of what it opened once whatever
// they need no more.
func (r *Host) OpenPorts(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "ports", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	var recorded []string
	s.When = func(ctx context.Context) (bool, event.Msg, error) {
		recs, err := r.Node(n.Name).Records(ctx)
		recorded = nil
		for _, x := range recs {
			if x.Kind == "port" {
				recorded = append(recorded, x.Key)
			}
		}
		return len(recorded) > 0 || len(r.Fact(n.Name).Firewalls) > 0, event.M("why.no-firewall"), err
	}
	// want are the rules to have: those that are needed, and what was opened once for the same need.
	want := func() (open, shut []string) {
		f := r.Fact(n.Name)
		open = r.rules(n, f, false)
		all := r.rules(n, f, true)
		for _, rule := range recorded {
			switch {
			case !slices.Contains(all, rule):
				shut = append(shut, rule)
			case !slices.Contains(open, rule):
				open = append(open, rule)
			}
		}
		return open, shut
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		open, shut := want()
		closed, err := nd.Closed(ctx, open)
		if err != nil || len(closed)+len(shut) > 0 {
			return false, err
		}
		if kept := forgets(open); len(kept) > 0 {
			return nd.Running(ctx, firewallService(kept))
		}
		return true, nil
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		open, shut := want()
		if len(shut) > 0 {
			if err := nd.Close(ctx, event.M("change.close-ports", "rules", strings.Join(shut, "; ")),
				shut); err != nil {
				return err
			}
		}
		closed, err := nd.Closed(ctx, open)
		if err != nil {
			return err
		}
		if len(closed) > 0 {
			if err := nd.Open(ctx, event.M("change.open-ports", "rules", strings.Join(closed, "; ")),
				closed); err != nil {
				return err
			}
		}
		if kept := forgets(open); len(kept) > 0 {
			return nd.Start(ctx, firewallService(kept))
		}
		return nil
	})
	return s
}

// TellPorts says what will be opened where, in the name of a step.
func (r *Host) TellPorts(step string) error {
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		if f == nil {
			continue
		}
		for i := range f.Firewalls {
			w := &f.Firewalls[i]
			if closed := w.Closed(r.Inbound(n)); len(closed) > 0 {
				text := event.M("notice.ports", "node", n.Name, "firewall", w.Name, "ports", strings.Join(closed, ", "))
				if err := r.Emit(event.Notice{Host: n.Name, Step: step,
					Text: text}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
