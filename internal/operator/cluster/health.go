package cluster

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Health asks the API server of a cluster.
type Health interface {
	// Ask returns the answer of the API server. The error says why there is none.
	Ask(ctx context.Context, kubeconfig []byte) (Answer, error)
}

// Answer of an API server.
type Answer struct {
	Endpoint string // URL
	Etcd     bool   // the API server reaches etcd
	Nodes    []NodeHealth
}

// NodeHealth is a Node.
type NodeHealth struct {
	Name         string
	Ready        bool
	ControlPlane bool
}

// API is Health over the network.
type API struct{}

// patience is how long an API server has for its answers.
const patience = 10 * time.Second

// Ask implements Health. A kubeconfig that refers to commands or files is refused: a user who can write it must not run
// commands here.
func (API) Ask(ctx context.Context, kubeconfig []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	loaded, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return Answer{}, err
	}
	for _, a := range loaded.AuthInfos {
		if a.Exec != nil || a.AuthProvider != nil || a.TokenFile != "" || a.ClientCertificate != "" ||
			a.ClientKey != "" {
			return Answer{}, event.NewFault(event.ClassUsage, "operator.kubeconfig", nil)
		}
	}
	for _, c := range loaded.Clusters {
		if c.CertificateAuthority != "" || c.ProxyURL != "" || c.InsecureSkipTLSVerify {
			return Answer{}, event.NewFault(event.ClassUsage, "operator.kubeconfig", nil)
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if err != nil {
		return Answer{}, err
	}
	config.Timeout = patience
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Answer{}, err
	}
	out := Answer{Endpoint: config.Host}
	_, err = c.RESTClient().Get().AbsPath("/readyz/etcd").DoRaw(ctx)
	out.Etcd = err == nil
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return out, err
	}
	for _, n := range nodes.Items {
		_, control := n.Labels["node-role.kubernetes.io/control-plane"]
		h := NodeHealth{Name: n.Name, ControlPlane: control}
		for _, c := range n.Status.Conditions {
			h.Ready = h.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}
		out.Nodes = append(out.Nodes, h)
	}
	return out, nil
}

// answered is the answer of an API server, or why there is none.
type answered struct {
	Answer
	fault *event.Fault
	at    time.Time
	of    string // version of the kubeconfig
	after string // the last run before
	well  bool   // all nodes are ready
}

// soon is how long after an answer the next question comes while a cluster is not well.
const soon = 10 * time.Second

// counts returns how long the answer counts.
func (a *answered) counts() time.Duration {
	if a.well {
		return again
	}
	return soon
}

// health returns the answer of the API server of a cluster that is at most as old as the time between two looks; nil if
// it has none yet.
func (c *Controller) health(ctx context.Context, w *world) *answered {
	if w.has.config == nil || c.Health == nil {
		return nil
	}
	s := &corev1.Secret{}
	err := c.Client.Get(ctx, types.NamespacedName{Namespace: w.cluster.Namespace,
		Name: v1.KubeconfigSecret(w.cluster.Name)}, s)
	if err != nil || len(s.Data[v1.KubeconfigKey]) == 0 {
		return nil
	}
	c.mu.Lock()
	last, is := c.answers[w.cluster.UID]
	c.mu.Unlock()
	if is && last.of == s.ResourceVersion && last.after == w.ended() && w.now.Sub(last.at) < last.counts() {
		return &last
	}
	got := answered{at: w.now, of: s.ResourceVersion, after: w.ended()}
	if got.Answer, err = c.Health.Ask(ctx, s.Data[v1.KubeconfigKey]); err != nil {
		got.fault = event.NewFault(event.ClassFailed, "operator.api-away", err, "cluster", w.cluster.Name)
	} else {
		control, workers, _ := w.notReady(&got)
		got.well = got.Etcd && len(control)+len(workers) == 0
	}
	c.mu.Lock()
	c.answers[w.cluster.UID] = got
	c.mu.Unlock()
	return &got
}

// notReady returns the names of nodes that the cluster has to have and that are not ready, and how many it has to have.
func (w *world) notReady(h *answered) (control, workers []string, want int) {
	for _, n := range w.has.config.Nodes {
		if !n.Has("control-plane") && !n.Has("worker") {
			continue
		}
		want++
		ready := slices.ContainsFunc(h.Nodes, func(x NodeHealth) bool { return x.Name == n.Name && x.Ready })
		switch {
		case ready:
		case n.Has("control-plane"):
			control = append(control, n.Name)
		default:
			workers = append(workers, n.Name)
		}
	}
	return control, workers, want
}

// drift returns the differences between the Nodes of a cluster and those that it has to have, in words; "" without any.
func (w *world) drift(h *answered) string {
	var out []string
	for _, n := range w.has.config.Nodes {
		if (n.Has("worker") || n.Has("control-plane")) &&
			!slices.ContainsFunc(h.Nodes, func(x NodeHealth) bool { return x.Name == n.Name }) {
			out = append(out, "-"+n.Name)
		}
	}
	for _, x := range h.Nodes {
		known := false
		for _, n := range w.has.config.Nodes {
			known = known || n.Name == x.Name
		}
		if !known {
			out = append(out, "+"+event.Clean(x.Name))
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 20)], " ")
}
