package phases

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/addons"
	"github.com/eggo-k8s/eggo/internal/phases/balancer"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// The bounds of a status: what does not answer by then counts as not answering.
const (
	statusNode = 30 * time.Second // connecting to a node and asking it
	statusAsk  = 10 * time.Second // one question to the API server or to etcd
	soonEnds   = 30 * 24 * time.Hour
)

// Status is what was seen of a cluster. The names of its fields in JSON do not change.
type Status struct {
	Type      string           `json:"type"` // status
	Cluster   string           `json:"cluster"`
	Healthy   bool             `json:"healthy"` // nothing below is wrong
	Nodes     []NodeStatus     `json:"nodes"`
	Etcd      []EtcdStatus     `json:"etcd"`
	Workloads []WorkloadStatus `json:"workloads"`
	Drift     []event.Msg      `json:"drift"`
	Unknown   *event.Fault     `json:"unknown,omitempty"` // why the cluster itself could not be asked
}

// NodeStatus is one machine, as it and the API server tell.
type NodeStatus struct {
	Node         string         `json:"node"`
	Address      string         `json:"address"`
	Roles        []string       `json:"roles"`
	Reached      bool           `json:"reached"`
	Fault        *event.Fault   `json:"fault,omitempty"` // why not
	Registered   bool           `json:"registered"`
	Ready        bool           `json:"ready"` // as the API server has it; of a node with a kubelet
	Why          string         `json:"why,omitempty"`
	Kubelet      string         `json:"kubelet,omitempty"`
	Components   []Component    `json:"components"`
	Binaries     []Binary       `json:"binaries"` // that services execute
	Certificates []Certificates `json:"certificates"`

	balancer string // the servers in the load balancer's configuration, as it has them
}

// Component is a unit on a machine.
type Component struct {
	Name string `json:"name"`
	// active, inactive, failed, …, as systemd has it; "unready" when it runs and does not answer
	State string `json:"state"`
	// Version of its binary that runs, where that is one of the bundle.
	Version string `json:"version,omitempty"`
}

// Certificates is one that lies on a machine.
type Certificates struct {
	Path string    `json:"path"`
	Ends time.Time `json:"ends"`
}

// EtcdStatus is one member.
type EtcdStatus struct {
	Node    string   `json:"node"`
	Healthy bool     `json:"healthy"`
	Leader  bool     `json:"leader"`
	Learner bool     `json:"learner"`
	Version string   `json:"version,omitempty"`
	DBBytes int64    `json:"db_bytes,omitempty"`
	Alarms  []string `json:"alarms,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// WorkloadStatus is a DaemonSet or a Deployment of the system.
type WorkloadStatus struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"` // with its namespace
	Ready int32  `json:"ready"`
	Want  int32  `json:"want"`
}

// GatherStatus asks every machine, etcd and the API servers how they are. It changes nothing, does not wait for what
// does not come, and fails only when it is interrupted. env.StateDir needs the cluster's pki for all but the machines
// themselves.
func GatherStatus(ctx context.Context, env Env) (*Status, error) {
	env.Dry = true
	r := newRun(env)
	s := &Status{Type: "status", Cluster: env.Cluster.Name, Nodes: make([]NodeStatus, len(env.Cluster.Nodes)),
		Etcd: []EtcdStatus{}, Workloads: []WorkloadStatus{}, Drift: []event.Msg{}}
	var wg sync.WaitGroup
	for i, n := range env.Cluster.Nodes {
		wg.Go(func() { s.Nodes[i] = r.nodeStatus(ctx, n) })
	}
	wg.Wait()
	r.versionDrift(s)
	for _, st := range s.Nodes {
		for _, out := range r.balancer.Out(st.balancer) {
			s.Drift = append(s.Drift, event.M("drift.balancer-down", "node", st.Node, "server", out))
		}
	}
	if err := r.HavePKI(ctx); err != nil {
		s.Unknown = event.AsFault(err)
	} else {
		r.askServers(ctx, s)
		r.askMembers(ctx, s)
		r.askMembership(ctx, s)
		r.askCluster(ctx, s)
	}
	s.Healthy = s.well(env.Now())
	return s, ctx.Err()
}

// statusScript prints the state of the units that are given, the servers of the load balancer, and the certificates: of
// files that hold a key too only the certificate.
const statusScript = `
for u in @UNITS@; do printf 'unit=%s %s\n' "$u" "$(systemctl is-active "$u" 2>/dev/null || true)"; done
sed -n 's/^ *server \(.*;\)$/balancer=server \1/p' @BALANCER@ 2>/dev/null || true
for f in /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt /var/lib/kubelet/pki/kubelet-client-current.pem @SERVING@; do
  [ -r "$f" ] || continue
  printf 'cert=%s %s\n' "$f" "$(awk '/-BEGIN CERTIFICATE-/ {p=1} p {printf "%s", $0 "|"} /-END CERTIFICATE-/ {exit}' "$f")"
done
for f in /etc/kubernetes/*.conf /etc/eggo/coredns/kubeconfig; do
  [ -r "$f" ] || continue
  printf 'conf=%s %s\n' "$f" "$(awk '$1=="client-certificate-data:" {print $2; exit}' "$f")"
done
`

// units are those of the node's roles.
func statusUnits(c *config.Cluster, n config.Node) []string {
	var out []string
	if n.Has(bundle.LoadBalancer) {
		out = append(out, "eggo-lb.service")
	}
	if n.Has(bundle.Etcd) {
		out = append(out, "etcd.service")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, "kube-apiserver.service", "kube-controller-manager.service", "kube-scheduler.service")
		if c.DNS.Type == "binary" {
			out = append(out, "coredns.service")
		}
	}
	if nodes.IsKubelet(n) {
		switch c.Runtime {
		case "docker":
			out = append(out, layout.DockerdUnit, layout.CRIDockerUnit)
		case "isulad":
			out = append(out, layout.IsuladUnit)
		default:
			out = append(out, layout.ContainerdUnit)
		}
		out = append(out, "kubelet.service", "kube-proxy.service")
	}
	return out
}

func (r *run) nodeStatus(ctx context.Context, n config.Node) NodeStatus {
	ctx, cancel := context.WithTimeout(ctx, statusNode)
	defer cancel()
	st := NodeStatus{Node: n.Name, Address: n.IP.String(), Components: []Component{}, Binaries: []Binary{},
		Certificates: []Certificates{}}
	for _, role := range n.Roles {
		st.Roles = append(st.Roles, string(role))
	}
	var nd *node.Node
	h, err := r.Connect(ctx, n)
	if err == nil {
		nd = r.NewNode(h)
		var out string
		serving := "" // without enable-kubelet-serving one of an earlier time may lie there
		if r.Cluster.KubeletServing {
			serving = layout.ServingCert
		}
		if out, err = nd.Query(ctx, strings.NewReplacer("@UNITS@", node.QuoteAll(statusUnits(r.Cluster, n)),
			"@SERVING@", serving, "@BALANCER@", balancer.Conf).Replace(statusScript+versionsScript)); err == nil {
			st.Reached = true
			st.parse(out)
		}
	}
	if err != nil {
		st.Fault = event.AsFault(err).On(n.Name)
		return st
	}
	r.SetNode(n.Name, nd)
	return st
}

func (st *NodeStatus) parse(out string) {
	for line := range strings.Lines(out) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		name, value, _ := strings.Cut(rest, " ")
		switch kind {
		case "unit":
			if value == "" {
				value = "unknown"
			}
			st.Components = append(st.Components, Component{Name: strings.TrimSuffix(event.Clean(name), ".service"),
				State: event.Clean(value)})
		case "runs", "version", "link":
			st.parseVersion(kind, rest)
		case "balancer":
			st.balancer += rest + "\n"
		case "cert":
			st.certificate(name, []byte(strings.ReplaceAll(value, "|", "\n")))
		case "conf":
			if data, err := base64.StdEncoding.DecodeString(value); err == nil {
				st.certificate(name, data)
			}
		}
	}
}

func (st *NodeStatus) certificate(path string, data []byte) {
	block, _ := pem.Decode(data)
	if block == nil {
		return
	}
	if c, err := x509.ParseCertificate(block.Bytes); err == nil {
		st.Certificates = append(st.Certificates, Certificates{event.Clean(path), c.NotAfter.UTC()})
	}
}

// set says how a component that runs is.
func (st *NodeStatus) set(name, state string) {
	for i := range st.Components {
		if st.Components[i].Name == name && st.Components[i].State == "active" {
			st.Components[i].State = state
		}
	}
}

// askServers asks every API server that runs whether it is ready.
func (r *run) askServers(ctx context.Context, s *Status) {
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		if nd := r.Node(n.Name); nd != nil && n.Has(bundle.ControlPlane) {
			wg.Go(func() {
				one, cancel := context.WithTimeout(ctx, statusAsk)
				defer cancel()
				if r.Readyz(one, nd.Dial, "127.0.0.1:6443") != nil {
					s.Nodes[i].set("kube-apiserver", "unready")
				}
			})
		}
	}
	wg.Wait()
}

// askMembers asks every member of etcd by itself.
func (r *run) askMembers(ctx context.Context, s *Status) {
	members := r.Cluster.With(bundle.Etcd)
	s.Etcd = make([]EtcdStatus, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		s.Etcd[i].Node = n.Name
		wg.Go(func() {
			if err := r.askMember(ctx, n, &s.Etcd[i]); err != nil {
				s.Etcd[i].Error = event.Clean(err.Error())
			}
		})
	}
	wg.Wait()
}

// askMembership holds etcd's own list of its members against deploy.yaml. Without a quorum there is none.
func (r *run) askMembership(ctx context.Context, s *Status) {
	ctx, cancel := context.WithTimeout(ctx, statusAsk)
	defer cancel()
	list, err := r.etcd.List(ctx)
	if err != nil {
		return // told of the members themselves
	}
	nodes := r.Cluster.With(bundle.Etcd)
	for _, m := range list {
		if _, ours := etcd.NodeOf(m, nodes); !ours && len(m.PeerURLs) > 0 {
			s.Drift = append(s.Drift, event.M("drift.etcd-stranger", "member", event.Clean(m.Name), "url",
				event.Clean(m.PeerURLs[0])))
		}
	}
	for _, n := range nodes {
		if etcd.Listed(list, n) == nil {
			s.Drift = append(s.Drift, event.M("drift.etcd-absent", "node", n.Name))
		}
	}
}

func (r *run) askMember(ctx context.Context, n config.Node, st *EtcdStatus) error {
	ctx, cancel := context.WithTimeout(ctx, statusAsk)
	defer cancel()
	if r.Node(n.Name) == nil {
		return errors.New("the machine is not reached")
	}
	c, err := r.EtcdClient(ctx, []string{layout.ClientURL(n)}, r.Peers())
	if err != nil {
		return err
	}
	defer c.Close()
	is, err := c.Status(ctx, layout.ClientURL(n))
	if err != nil {
		return err
	}
	st.Leader, st.Learner, st.Version, st.DBBytes = is.Leader == is.Header.MemberId, is.IsLearner, is.Version, is.DbSize
	for _, e := range is.Errors {
		st.Alarms = append(st.Alarms, event.Clean(e))
	}
	if _, err := c.Get(ctx, "health"); err != nil { // a linearized read: the quorum answers
		return err
	}
	st.Healthy = len(st.Alarms) == 0
	return nil
}

// askCluster asks the API server for nodes and workloads, and holds them against deploy.yaml.
func (r *run) askCluster(ctx context.Context, s *Status) {
	ctx, cancel := context.WithTimeout(ctx, 2*statusAsk)
	defer cancel()
	k, err := r.NewAPI()
	if err != nil {
		s.Unknown = event.AsFault(err)
		return
	}
	list, err := k.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		s.Unknown = clients.Fault(err)
		return
	}
	for i, n := range r.Cluster.Nodes {
		if !nodes.IsKubelet(n) {
			continue
		}
		st := &s.Nodes[i]
		at := slices.IndexFunc(list.Items, func(o corev1.Node) bool { return o.Name == n.Name })
		if at < 0 {
			s.Drift = append(s.Drift, event.M("drift.absent", "node", n.Name))
			continue
		}
		o := list.Items[at]
		st.Registered, st.Why, st.Kubelet = true, event.Clean(clients.NotReady(o)),
			event.Clean(o.Status.NodeInfo.KubeletVersion)
		st.Ready = st.Why == ""
		if _, labelled := o.Labels[layout.LabelControlPlane]; labelled != n.Has(bundle.ControlPlane) {
			s.Drift = append(s.Drift, event.M("drift.label", "node", n.Name, "label", layout.LabelControlPlane))
		}
		tainted := slices.ContainsFunc(o.Spec.Taints,
			func(t corev1.Taint) bool { return t.Key == layout.LabelControlPlane })
		if n.Has(bundle.ControlPlane) && tainted == n.Has(bundle.Worker) {
			s.Drift = append(s.Drift, event.M("drift.taint", "node", n.Name, "taint", layout.LabelControlPlane))
		}
		if o.Spec.Unschedulable {
			s.Drift = append(s.Drift, event.M("drift.cordoned", "node", n.Name))
		}
	}
	var versions []string
	for _, o := range list.Items {
		if !slices.ContainsFunc(nodes.Kubelets(r.Cluster), func(n config.Node) bool { return n.Name == o.Name }) {
			s.Drift = append(s.Drift, event.M("drift.stranger", "node", event.Clean(o.Name)))
		}
		if v := event.Clean(o.Status.NodeInfo.KubeletVersion); v != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	if len(versions) > 1 {
		s.Drift = append(s.Drift, event.M("drift.versions", "versions", strings.Join(versions, ", ")))
	}
	if err := workloads(ctx, k, s); err != nil {
		s.Unknown = clients.Fault(err)
	}
}

func workloads(ctx context.Context, k *clients.API, s *Status) error {
	sets, err := k.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range sets.Items {
		if addons.SystemNamespace(d.Namespace) {
			s.Workloads = append(s.Workloads, WorkloadStatus{"DaemonSet", d.Namespace + "/" + d.Name,
				d.Status.NumberReady, d.Status.DesiredNumberScheduled})
		}
	}
	deps, err := k.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deps.Items {
		if addons.SystemNamespace(d.Namespace) {
			want := int32(1)
			if d.Spec.Replicas != nil {
				want = *d.Spec.Replicas
			}
			s.Workloads = append(s.Workloads, WorkloadStatus{"Deployment", d.Namespace + "/" + d.Name,
				d.Status.ReadyReplicas, want})
		}
	}
	return nil
}

// well says whether nothing is wrong: everything answers, runs and is ready, no certificate ends within a month, and
// the cluster is what deploy.yaml says.
func (s *Status) well(now time.Time) bool {
	if s.Unknown != nil || len(s.Drift) > 0 {
		return false
	}
	for _, n := range s.Nodes {
		kubelet := slices.ContainsFunc(n.Components, func(c Component) bool { return c.Name == "kubelet" })
		if !n.Reached || kubelet && !n.Ready ||
			slices.ContainsFunc(n.Components, func(c Component) bool { return c.State != "active" }) ||
			slices.ContainsFunc(n.Certificates, func(c Certificates) bool { return c.Ends.Before(now.Add(soonEnds)) }) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Etcd, func(e EtcdStatus) bool { return !e.Healthy }) &&
		!slices.ContainsFunc(s.Workloads, func(w WorkloadStatus) bool { return w.Ready < w.Want })
}
