package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// proxyLimit bounds the wait until the DaemonSet has a pod on a node that runs.
const proxyLimit = 5 * time.Minute

// proxyRuns waits until the node's kube-proxy runs in the revision that was published, and works.
func (r *Kubeadm) proxyRuns(ctx context.Context, n config.Node, nd *node.Node,
	current func(context.Context, *node.Node) (bool, error), ready driver.Ready) error {
	if err := wait.Until(ctx, proxyLimit, func(ctx context.Context) error {
		ok, err := current(ctx, nd)
		if ok || err != nil {
			return err
		}
		return wait.Again("component.not-started", "component", string(driver.Proxy), "log", "").On(n.Name)
	}); err != nil {
		if f := event.AsFault(err); f.Code == "component.not-started" {
			f.Args["log"] = r.whyNot(context.WithoutCancel(ctx), nd, driver.Proxy)
		}
		return err
	}
	return ready(ctx, nd)
}

// publish has the DaemonSet as this run wants it. On the way back from an upgrade the nodes' turns come before the step
// that publishes it.
func (r *Kubeadm) publish(ctx context.Context) error {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if r.published {
		return nil
	}
	make := func() ([]byte, error) { return r.objects(ctx) }
	ok, err := r.clients.AppliedAsset(ctx, make)
	if err == nil && !ok {
		err = r.clients.ApplyAsset(ctx, make)
	}
	r.published = err == nil
	return err
}

// proxyConfiguration is what kubeadm makes the DaemonSet with, and the flags that kube-proxy reads beside it.
func (r *Kubeadm) proxyConfiguration() (text []byte, flags map[string]string, err error) {
	conntrack := !slices.ContainsFunc(r.Cluster.Nodes, func(n config.Node) bool {
		f := r.Fact(n.Name)
		return f != nil && !f.Conntrack
	})
	proxy, flags := r.services.ProxyConfig(conntrack, nil)
	n := r.master()
	text, err = documents(r.initial(n), r.cluster(n), proxy)
	return text, flags, err
}

// proxyRevision comes from all that the DaemonSet is made of.
func (r *Kubeadm) proxyRevision() (string, error) {
	text, flags, err := r.proxyConfiguration()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(text)
	more, err := yaml.Marshal(args(flags))
	h.Write(more)
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// Publish implements driver.Driver: the objects of kube-proxy, and the ConfigMap by which kubeadm and others' tools
// know the cluster. They are ours as all that we apply.
func (r *Kubeadm) Publish(needs []string) []*engine.Step {
	s := plan.Step(plan.PhaseControl, "kube-proxy", "", needs)
	s.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	s.Check = func(ctx context.Context) (bool, error) {
		return r.clients.AppliedAsset(ctx, func() ([]byte, error) { return r.objects(ctx) })
	}
	s.Apply = func(ctx context.Context) error {
		return r.clients.ApplyAsset(ctx, func() ([]byte, error) { return r.objects(ctx) })
	}
	return []*engine.Step{s}
}

// objects asks a control plane's kubeadm for those of kube-proxy. It changes nothing.
func (r *Kubeadm) objects(ctx context.Context) ([]byte, error) {
	text, flags, err := r.proxyConfiguration()
	if err != nil {
		return nil, err
	}
	var made string
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		nd := r.Node(n.Name)
		if nd == nil {
			continue
		}
		program := r.ProgramPath(n, Program)
		if b := r.Binaries(n, Program); len(b) > 0 {
			program = b[0].File
		}
		if made, err = nd.Query(ctx, "printf %s "+shell.Quote(string(text))+" | "+shell.Quote(program)+
			" init phase addon kube-proxy --print-manifest --config /dev/stdin 2>/dev/null\n"); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return r.withRevision(made, flags)
}

// withRevision gives the DaemonSet its revision and the flags, and adds the ConfigMap of kubeadm.
func (r *Kubeadm) withRevision(made string, flags map[string]string) ([]byte, error) {
	revision, err := r.proxyRevision()
	if err != nil {
		return nil, err
	}
	objs, err := clients.ParseManifests([]byte(made))
	if err != nil {
		return nil, err
	}
	var docs []doc
	for _, o := range objs {
		if o.GetKind() == "DaemonSet" {
			mark(o.Object, revision, flags)
		}
		docs = append(docs, o.Object)
	}
	n := r.master()
	whole, err := r.whole(n)
	if err != nil {
		return nil, err
	}
	docs = append(docs, doc{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": doc{"name": "kubeadm-config", "namespace": "kube-system"},
		"data":     doc{"ClusterConfiguration": string(whole)}})
	return documents(docs...)
}

// mark gives the container of a DaemonSet its revision and its flags. It replaces its pods when they are deleted.
func mark(o doc, revision string, flags map[string]string) {
	at := o
	if spec, ok := o["spec"].(doc); ok {
		spec["updateStrategy"] = doc{"type": "OnDelete"}
	}
	for _, k := range []string{"spec", "template", "spec"} {
		next, ok := at[k].(doc)
		if !ok {
			return
		}
		at = next
	}
	list, ok := at["containers"].([]any)
	if !ok || len(list) == 0 {
		return
	}
	c, ok := list[0].(doc)
	if !ok {
		return
	}
	env, _ := c["env"].([]any)
	c["env"] = append(env, doc{"name": revisionName, "value": revision})
	command, _ := c["command"].([]any)
	for _, k := range slices.Sorted(maps.Keys(flags)) {
		command = append(command, "--"+k+"="+flags[k])
	}
	c["command"] = command
}

// whole is the configuration of the cluster in one document, without what differs from node to node.
func (r *Kubeadm) whole(n config.Node) ([]byte, error) {
	c := r.cluster(n)
	for _, x := range podsOf(n) {
		if x == driver.Etcd {
			continue
		}
		flags := r.services.Flags(x, n)
		delete(flags, "advertise-address")
		key := map[driver.Component]string{driver.APIServer: "apiServer",
			driver.ControllerManager: "controllerManager", driver.Scheduler: "scheduler"}[x]
		c[key] = doc{"extraArgs": args(flags)}
	}
	var urls []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		urls = append(urls, layout.ClientURL(m))
	}
	if n.Has(bundle.Etcd) {
		c["etcd"] = doc{"local": doc{"dataDir": r.Paths().EtcdData}}
	} else {
		c["etcd"] = doc{"external": doc{"endpoints": urls, "caFile": r.Paths().EtcdCA,
			"certFile": pkiDir + "/apiserver-etcd-client.crt", "keyFile": pkiDir + "/apiserver-etcd-client.key"}}
	}
	return yaml.Marshal(c)
}
