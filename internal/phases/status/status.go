// Package status inspects a cluster and its nodes and changes nothing: how all of it is, what a cleanup would remove,
// which certificates nodes have and show.
package status

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The bounds of a status: what does not answer by then counts as not answering.
const (
	nodeLimit = 30 * time.Second // connecting to a node and asking it
	askLimit  = 10 * time.Second // one question to the API server or to etcd
	soonEnds  = 30 * 24 * time.Hour
)

// Status is what was seen of a cluster. The names of its fields in JSON do not change.
type Status struct {
	Type      string       `json:"type"` // status
	Cluster   string       `json:"cluster"`
	Healthy   bool         `json:"healthy"` // nothing below is wrong
	Nodes     []Node       `json:"nodes"`
	Etcd      []Member     `json:"etcd"`
	Workloads []Workload   `json:"workloads"`
	Drift     []event.Msg  `json:"drift"`
	Unknown   *event.Fault `json:"unknown,omitempty"` // why the cluster itself could not be asked
}

// Node is one machine, as it and the API server tell.
type Node struct {
	Node         string        `json:"node"`
	Address      string        `json:"address"`
	Roles        []string      `json:"roles"`
	Reached      bool          `json:"reached"`
	Fault        *event.Fault  `json:"fault,omitempty"` // why not
	Registered   bool          `json:"registered"`
	Ready        bool          `json:"ready"` // as the API server has it; of a node with a kubelet
	Why          string        `json:"why,omitempty"`
	Conditions   []Condition   `json:"conditions,omitempty"` // that impair the node although it may be ready
	Kubelet      string        `json:"kubelet,omitempty"`
	Components   []Component   `json:"components"`
	Binaries     []Binary      `json:"binaries"` // that services execute
	Certificates []Certificate `json:"certificates"`

	balancer string      // the servers in the load balancer's configuration, as it has them
	absent   []string    // units of ours that a node which was imported has not got yet
	bare     bool        // the kubelet is among them, and it has no other
	edited   [][2]string // components, and files of theirs that are not what they were started with
}

// LoginFailed says that the node answered, and that nobody was logged in: how it is, is unknown.
func (st *Node) LoginFailed() bool { return st.Fault != nil && st.Fault.Class == event.ClassAuth }

// Condition is a condition of a Node, other than Ready, that impairs it: DiskPressure, MemoryPressure, PIDPressure or
// NetworkUnavailable.
type Condition struct {
	Type    string    `json:"type"`
	Since   time.Time `json:"since"`
	Message string    `json:"message,omitempty"` // as the kubelet has it
}

// Component is one that a node runs: of Kubernetes, its runtime, a load balancer.
type Component struct {
	Name string `json:"name"`
	// active, inactive, failed, …, as systemd has it; "unready" when it runs and does not answer
	State string `json:"state"`
	// Version that it says it is (etcd, the kubelet), else that of its binary that runs, where that is one of the
	// bundle.
	Version string `json:"version,omitempty"`
}

// Certificate is one that lies on a machine.
type Certificate struct {
	Path string    `json:"path"`
	Ends time.Time `json:"ends"`
}

// Member is one member.
type Member struct {
	Node    string   `json:"node"`
	Healthy bool     `json:"healthy"`
	Leader  bool     `json:"leader"`
	Learner bool     `json:"learner"`
	Version string   `json:"version,omitempty"`
	DBBytes int64    `json:"db_bytes,omitempty"`
	Alarms  []string `json:"alarms,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Workload is a DaemonSet or a Deployment of the system.
type Workload struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"` // with its namespace
	Ready int32  `json:"ready"`
	Want  int32  `json:"want"`
}

// Gatherer is what a status is gathered with.
type Gatherer struct {
	*clients.Clients
	Driver   driver.Driver
	Runtime  runtimes.Runtime
	Balancer *balancer.Balancer
	Members  *etcd.Members
}

// Gather asks every machine, etcd and the API servers how they are. It does not wait for what does not come, and fails
// only when it is interrupted. The state directory needs the cluster's pki for all but the machines themselves.
func (r *Gatherer) Gather(ctx context.Context) (*Status, error) {
	s := &Status{Type: "status", Cluster: r.Cluster.Name, Nodes: make([]Node, len(r.Cluster.Nodes)),
		Etcd: []Member{}, Workloads: []Workload{}, Drift: []event.Msg{}}
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		wg.Go(func() { s.Nodes[i] = r.node(ctx, n) })
	}
	wg.Wait()
	r.versionDrift(s)
	for _, st := range s.Nodes {
		leftOut := r.Balancer.Out(st.balancer)
		for _, out := range leftOut {
			s.Drift = append(s.Drift, event.M("drift.balancer-down", "node", st.Node, "server", out))
		}
		for _, e := range st.edited {
			if e[1] == balancer.Conf && len(leftOut) > 0 {
				continue // a run that was killed wrote it, and the next one writes it again
			}
			s.Drift = append(s.Drift, event.M("drift.file", "node", st.Node, "component", e[0], "path", e[1]))
		}
	}
	if was := r.FormerDNS(); was != "" {
		s.Drift = append(s.Drift, event.M("drift.dns-change", "is", was, "want", r.Cluster.DNS.Type))
	}
	if err := r.HavePKI(ctx); err != nil {
		s.Unknown = event.AsFault(err)
	} else {
		r.askServers(ctx, s)
		r.askMembers(ctx, s)
		r.askMembership(ctx, s)
		r.askCluster(ctx, s)
	}
	s.release()
	s.Healthy = s.healthy(r.Now())
	return s, ctx.Err()
}

// script prints what a node has of its roles, the servers of its load balancer, and the versions of its binaries.
func (r *Gatherer) script(n config.Node) string {
	var units []string
	if n.Has(bundle.LoadBalancer) {
		units = append(units, balancer.Unit)
	}
	if inventory.IsKubelet(n) {
		units = append(units, r.Runtime.Units()...)
	}
	script := r.Driver.StatusScript(n) + node.Edited + versionsScript +
		"sed -n 's/^ *server \\(.*;\\)$/balancer=server \\1/p' " + balancer.Conf + " 2>/dev/null || true\n"
	if len(units) > 0 {
		script = systemd.StatusScript(units...) + script
	}
	if n.Has(bundle.ControlPlane) {
		script += absentScript + "absent " + shell.Quote(r.KubeletUnit()) + " || true\n"
	}
	if n.Has(bundle.LoadBalancer) {
		script += absentScript + "if absent " + balancer.Unit + "; then\n" + systemd.StatusScript(balancer.TheirUnit) +
			"fi\n"
	}
	return script
}

func (r *Gatherer) node(ctx context.Context, n config.Node) Node {
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	st := Node{Node: n.Name, Address: n.IP.String(), Components: []Component{}, Binaries: []Binary{},
		Certificates: []Certificate{}}
	for _, role := range n.Roles {
		st.Roles = append(st.Roles, string(role))
	}
	var nd *node.Node
	h, err := r.Connect(ctx, n)
	if err == nil {
		nd = r.NewNode(h)
		var out string
		if out, err = nd.Query(ctx, r.script(n)); err == nil {
			st.Reached = true
			st.parse(out)
			r.forget(&st)
		}
	}
	if err != nil {
		st.Fault = event.AsFault(err).On(n.Name)
		return st
	}
	r.SetNode(n.Name, nd)
	return st
}

// absentScript has a function that says that a node was imported, and that we have not started a unit on it since: a
// control plane of the original eggo has no kubelet until then, and a load balancer of it is another unit.
const absentScript = `absent() { awk -F'\t' -v u="$1" '$1=="imported" {i=1} $1=="unit" && $2==u {k=1} ` +
	`END {exit !(i && !k)}' ` + node.Dir + "/record 2>/dev/null && printf 'absent=%s\\n' \"$1\"; }\n"

// forget has a node lack nothing that it gets only when it is taken over.
func (r *Gatherer) forget(st *Node) {
	var none []string
	for _, unit := range st.absent {
		none = append(none, unit)
		if unit == r.KubeletUnit() {
			st.bare = true
			none = append(none, append(r.Runtime.Units(), string(driver.Proxy)+".service")...)
		}
	}
	st.Components = slices.DeleteFunc(st.Components, func(c Component) bool {
		return c.State != "active" && slices.Contains(none, c.Name+".service")
	})
}

func (st *Node) parse(out string) {
	for line := range strings.Lines(out) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		name, value, _ := strings.Cut(rest, " ")
		switch kind {
		case "unit":
			st.Components = append(st.Components, Component{Name: event.Clean(name), State: event.Clean(value)})
		case "runs", "version", "link":
			st.parseVersion(kind, rest)
		case "balancer":
			st.balancer += rest + "\n"
		case "absent":
			st.absent = append(st.absent, rest)
		case "edited":
			st.edited = append(st.edited, [2]string{event.Clean(name), event.Clean(value)})
		case "cert":
			st.certificate(name, []byte(strings.ReplaceAll(value, "|", "\n")))
		case "conf":
			if data, err := base64.StdEncoding.DecodeString(value); err == nil {
				st.certificate(name, data)
			}
		}
	}
}

func (st *Node) certificate(path string, data []byte) {
	block, _ := pem.Decode(data)
	if block == nil {
		return
	}
	if c, err := x509.ParseCertificate(block.Bytes); err == nil {
		st.Certificates = append(st.Certificates, Certificate{event.Clean(path), c.NotAfter.UTC()})
	}
}

// set says how a component that runs is.
func (st *Node) set(name, state string) {
	for i := range st.Components {
		if st.Components[i].Name == name && st.Components[i].State == "active" {
			st.Components[i].State = state
		}
	}
}

// healthy says whether nothing is wrong: everything answers, runs and is ready, no certificate ends within a month, and
// the cluster is what deploy.yaml says.
func (s *Status) healthy(now time.Time) bool {
	if s.Unknown != nil || len(s.Drift) > 0 {
		return false
	}
	for _, n := range s.Nodes {
		kubelet := slices.ContainsFunc(n.Components, func(c Component) bool { return c.Name == string(driver.Kubelet) })
		if !n.Reached || kubelet && !n.Ready || len(n.Conditions) > 0 ||
			slices.ContainsFunc(n.Components, func(c Component) bool { return c.State != "active" }) ||
			slices.ContainsFunc(n.Certificates, func(c Certificate) bool { return c.Ends.Before(now.Add(soonEnds)) }) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Etcd, func(e Member) bool { return !e.Healthy }) &&
		!slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Ready < w.Want })
}
