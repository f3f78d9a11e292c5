package status

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/addons"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// askServers asks every API server that runs whether it is ready.
func (r *Gatherer) askServers(ctx context.Context, s *Status) {
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		if nd := r.Node(n.Name); nd != nil && n.Has(bundle.ControlPlane) {
			wg.Go(func() {
				one, cancel := context.WithTimeout(ctx, askLimit)
				defer cancel()
				if r.Readyz(one, nd.Dial, "127.0.0.1:6443") != nil {
					s.Nodes[i].set(string(driver.APIServer), "unready")
				}
			})
		}
	}
	wg.Wait()
}

// askMembers asks every member of etcd by itself.
func (r *Gatherer) askMembers(ctx context.Context, s *Status) {
	members := r.Cluster.With(bundle.Etcd)
	s.Etcd = make([]Member, len(members))
	var wg sync.WaitGroup
	for i, n := range members {
		s.Etcd[i].Node = n.Name
		wg.Go(func() {
			err := s.loginFault(n)
			if err == nil {
				err = r.askMember(ctx, n, &s.Etcd[i])
			}
			if err != nil {
				s.Etcd[i].Error = event.Clean(err.Error())
			}
		})
	}
	wg.Wait()
}

// errNoLogin is why a member of etcd was not asked: it may be healthy.
var errNoLogin = errors.New("the login to the node failed")

// loginFault is errNoLogin of a node that answered, and could not be logged in to.
func (s *Status) loginFault(n config.Node) error {
	if slices.ContainsFunc(s.Nodes, func(st Node) bool { return st.Node == n.Name && st.LoginFailed() }) {
		return errNoLogin
	}
	return nil
}

// noLogin is why no control plane can be asked, where that is the login: nothing says then that one does not run.
func (r *Gatherer) noLogin(s *Status) *event.Fault {
	var why *event.Fault
	for i, n := range r.Cluster.Nodes {
		if !n.Has(bundle.ControlPlane) {
			continue
		}
		if s.Nodes[i].Reached {
			return nil
		}
		if s.Nodes[i].LoginFailed() && why == nil {
			why = s.Nodes[i].Fault
		}
	}
	if why != nil && !strings.HasPrefix(why.Code, "ssh.hostkey") { // of a host key its own advice helps
		why = event.NewFault(event.ClassAuth, "kube.no-login", nil)
	}
	return why
}

// askMembership holds etcd's own list of its members against deploy.yaml. Without a quorum there is none.
func (r *Gatherer) askMembership(ctx context.Context, s *Status) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	list, err := r.Members.List(ctx)
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

func (r *Gatherer) askMember(ctx context.Context, n config.Node, st *Member) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
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
	st.Leader, st.Learner, st.DBBytes = is.Leader == is.Header.MemberId, is.IsLearner, is.DbSize
	st.Version = event.Clean(is.Version)
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
func (r *Gatherer) askCluster(ctx context.Context, s *Status) {
	ctx, cancel := context.WithTimeout(ctx, 2*askLimit)
	defer cancel()
	if s.Unknown = r.noLogin(s); s.Unknown != nil {
		return
	}
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
		st := &s.Nodes[i]
		if !inventory.IsKubelet(n) || st.bare {
			continue
		}
		at := slices.IndexFunc(list.Items, func(o corev1.Node) bool { return o.Name == n.Name })
		if at < 0 {
			s.Drift = append(s.Drift, event.M("drift.absent", "node", n.Name))
			continue
		}
		o := list.Items[at]
		st.Registered, st.Why, st.Kubelet = true, event.Clean(clients.NotReady(o)),
			event.Clean(o.Status.NodeInfo.KubeletVersion)
		st.Ready, st.Conditions = st.Why == "", impaired(o)
		if _, labelled := o.Labels[layout.LabelControlPlane]; labelled != n.Has(bundle.ControlPlane) {
			s.Drift = append(s.Drift, event.M("drift.label", "node", n.Name, "label", layout.LabelControlPlane))
		}
		tainted := slices.ContainsFunc(o.Spec.Taints,
			func(t corev1.Taint) bool { return t.Key == layout.LabelControlPlane })
		if n.Has(bundle.ControlPlane) && tainted == n.Has(bundle.Worker) {
			s.Drift = append(s.Drift, event.M("drift.taint", "node", n.Name, "taint", layout.LabelControlPlane))
		}
		s.Drift = append(s.Drift, unlike(n, r.Cluster.Eggo.Nodes[n.Name], o)...)
		if o.Spec.Unschedulable {
			s.Drift = append(s.Drift, event.M("drift.cordoned", "node", n.Name))
		}
	}
	var versions []string
	for _, o := range list.Items {
		if !slices.ContainsFunc(inventory.Kubelets(r.Cluster), func(n config.Node) bool { return n.Name == o.Name }) {
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

// impaired returns the conditions that the kubelet reports as true because something is wrong. They are those that
// Kubernetes defines: another program's condition may be true when all is well.
func impaired(o corev1.Node) (out []Condition) {
	for _, c := range o.Status.Conditions {
		switch c.Type {
		case corev1.NodeDiskPressure, corev1.NodeMemoryPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
			if c.Status == corev1.ConditionTrue {
				out = append(out, Condition{string(c.Type), c.LastTransitionTime.UTC(), event.Clean(c.Message)})
			}
		}
	}
	return out
}

// unlike returns the labels and taints of eggo.nodes that a Node does not have.
func unlike(n config.Node, s config.NodeSettings, o corev1.Node) (out []event.Msg) {
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		if is, there := o.Labels[k]; !there || is != s.Labels[k] {
			out = append(out, event.M("drift.own-label", "node", n.Name, "label", k+"="+s.Labels[k]))
		}
	}
	for _, t := range s.Taints {
		if !slices.ContainsFunc(o.Spec.Taints, func(is corev1.Taint) bool {
			return is.Key == t.Key && is.Value == t.Value && string(is.Effect) == t.Effect
		}) {
			out = append(out, event.M("drift.own-taint", "node", n.Name, "taint", t.String()))
		}
	}
	return out
}

func workloads(ctx context.Context, k *clients.API, s *Status) error {
	sets, err := k.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range sets.Items {
		if addons.SystemNamespace(d.Namespace) {
			s.Workloads = append(s.Workloads, Workload{"DaemonSet", d.Namespace + "/" + d.Name,
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
			s.Workloads = append(s.Workloads, Workload{"Deployment", d.Namespace + "/" + d.Name,
				d.Status.ReadyReplicas, want})
		}
	}
	return nil
}
