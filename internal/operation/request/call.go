package request

import (
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// call is the request as what a message advises; which deploy.yaml it is for is not in it. That something was confirmed
// is said for nobody who follows the advice.
func (c Common) call(verb string) event.Call {
	return event.Call{
		Verb: verb, Limit: c.Limit, HostKeys: c.HostKeys, OnFailure: c.OnFailure.String(), Signers: c.Trust.Signers,
		AllowUnsigned: c.Trust.AllowUnsigned, OfNodes: c.Hooks.OfNodes, Before: c.Hooks.Before, After: c.Hooks.After,
	}
}

// Call implements Request.
func (d Deploy) Call() event.Call {
	c := d.call("deploy")
	c.Force, c.Batch = d.Force, d.Batch
	if d.Drain != ChangeDrain {
		c.Drain = d.Drain
	}
	return c
}

// Call implements Request.
func (j Join) Call() event.Call {
	c := j.call("join")
	if j.List != "" || len(j.Nodes) == 0 {
		c.List = j.List
		return c
	}
	var each []event.CallMachine
	for _, n := range j.Nodes {
		m := machine(n)
		login := j.Logins[m.Addr]
		m.User, m.Key = login.User, login.Key
		m.Labels, m.Taints = settings(j.Settings[m.Addr])
		each = append(each, m)
		c.Nodes = append(c.Nodes, m.Addr)
	}
	first := each[0]
	differs := func(m event.CallMachine) bool {
		return m.Name != "" || m.Arch != first.Arch || m.Port != first.Port || !slices.Equal(m.Roles, first.Roles) ||
			!slices.Equal(m.Labels, first.Labels) || !slices.Equal(m.Taints, first.Taints)
	}
	ownLogin := func(m event.CallMachine) bool { return m.User != "" || m.Key != "" }
	if slices.ContainsFunc(each, ownLogin) || len(each) > 1 && slices.ContainsFunc(each, differs) {
		c.Machines = each
		return c
	}
	c.Name, c.Arch, c.Port, c.Roles = first.Name, first.Arch, first.Port, first.Roles
	c.Labels, c.Taints = first.Labels, first.Taints
	return c
}

// settings are labels and taints as they are typed.
func settings(s config.NodeSettings) (labels, taints []string) {
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, k+"="+s.Labels[k])
	}
	for _, t := range s.Taints {
		taints = append(taints, t.String())
	}
	return labels, taints
}

// machine is a node as a call has it.
func machine(n config.Node) event.CallMachine {
	m := event.CallMachine{Addr: n.IP.String(), Name: n.Name, Arch: n.Arch, Port: n.Port}
	for _, r := range n.Roles {
		word := string(r)
		if r == bundle.ControlPlane { // deploy.yaml's own word
			word = "master"
		}
		m.Roles = append(m.Roles, word)
	}
	return m
}

// Call implements Request.
func (d Delete) Call() event.Call {
	c := d.call("delete")
	c.Nodes, c.Purge, c.Force = slices.Clone(d.Names), d.Purge, d.Force
	if d.Drain != DrainTimeout {
		c.Drain = d.Drain
	}
	return c
}

// Call implements Request.
func (c Cleanup) Call() event.Call {
	out := c.call("cleanup")
	out.Nodes, out.Purge = slices.Clone(c.Nodes), c.Purge
	return out
}

// Call implements Request.
func (r Renew) Call() event.Call { return r.call("certs renew") }

// Call implements Request.
func (s Snapshot) Call() event.Call { return s.call("etcd snapshot") }

// Call implements Request.
func (r Restore) Call() event.Call {
	c := r.call("etcd restore")
	c.Snapshot = r.Snapshot
	return c
}
