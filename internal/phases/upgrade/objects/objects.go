// Package objects reads what a living cluster has at its API server, as values: nodes, pods, budgets, webhooks. What
// belongs together is put together while it is read, so that who checks it needs no client.
package objects

// Cluster is what the API server has.
type Cluster struct {
	Nodes    []Node
	Pods     []*Pod // all that have not ended
	Budgets  []Budget
	Webhooks []Webhook
}

// Node is one as the cluster has it.
type Node struct {
	Name     string
	NotReady string // why it is not Ready; "" when it is
	Kubelet  string // v1.34.2
	// Open: pods that tolerate no taint may come to it.
	Open   bool
	Images []string // names of those that it has; a kubelet names fifty at most
}

// Pod is one that has not ended.
type Pod struct {
	Namespace, Name string
	Node            string // "" when it has none yet
	Kind, Owner     string // of its controller; "" when it has none
	Mirror          bool   // it is of the kubelet's own manifests
	Running         bool   // it runs, and is not being deleted: others go whatever a budget says
	Ready           bool
	Images          []string
}

// Stays says whether a drain leaves the pod where it is: it belongs to its node.
func (p Pod) Stays() bool { return p.Mirror || p.Kind == "DaemonSet" }

// FullName has the namespace ahead.
func (p Pod) FullName() string { return p.Namespace + "/" + p.Name }

// Workload is the controller as its user knows it: a Deployment, not its ReplicaSet.
func (p Pod) Workload() string { return p.Kind + " " + p.Namespace + "/" + p.Owner }

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name  string
	Allowed          int    // pods that may be evicted now
	Healthy, Desired int    // pods that are, and that have to be
	AlwaysAllow      bool   // pods that are not Ready may be evicted all the same
	Pods             []*Pod // that it is for
}

// Blocks says whether the budget refuses that the pod is evicted now.
func (b Budget) Blocks(p *Pod) bool {
	switch {
	case b.Allowed > 0, !p.Running, !p.Ready && b.AlwaysAllow:
		return false
	}
	return p.Ready || b.Desired == 0 || b.Healthy < b.Desired
}

// FullName has the namespace ahead.
func (b Budget) FullName() string { return b.Namespace + "/" + b.Name }

// Webhook is an admission webhook that refuses requests when it does not answer, and is a Service of the cluster.
type Webhook struct {
	Config  string // ValidatingWebhookConfiguration NAME, MutatingWebhookConfiguration NAME
	Name    string
	Service string // namespace/name
	Ready   bool   // the Service has an endpoint that is ready
	// Guards: it is asked for objects without which a node or its pods do not come back.
	Guards bool
}
