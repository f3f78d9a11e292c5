package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// proxyLimit bounds the wait until the DaemonSet has a pod on a node that runs.
const proxyLimit = 5 * time.Minute

// leavesAnnotation is on the DaemonSet of kube-proxy, with the names of nodes.
const leavesAnnotation = "eggo.isula.org/conntrack-left-alone"

// proxyAgain is how often pods of another revision are looked for while the right one is waited for.
const proxyAgain = 2 * time.Second

// proxyRuns has the node's kube-proxy run in the revision that was published, and waits until it works. A pod of
// another revision is deleted, also one that comes meanwhile: the controller of DaemonSets may not know yet what was
// published.
func (r *Kubeadm) proxyRuns(ctx context.Context, n config.Node, nd *node.Node, revision string,
	current func(context.Context, *node.Node) (bool, error), ready driver.Ready) error {
	which := clients.Pods{Namespace: metav1.NamespaceSystem, Label: "k8s-app=kube-proxy", Node: n.Name,
		But: [2]string{revisionName, revision}}
	var last time.Time
	if err := wait.Until(ctx, proxyLimit, func(ctx context.Context) error {
		ok, err := current(ctx, nd)
		if ok || err != nil {
			return err
		}
		if time.Since(last) > proxyAgain {
			if err := r.clients.DeletePods(ctx, which); err != nil {
				return err
			}
			last = time.Now()
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

// publish has the DaemonSet as this run wants it: on the way back from an upgrade the nodes' turns come before the step
// that publishes it, and in one each turn publishes it for its node.
func (r *Kubeadm) publish(ctx context.Context) error {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	data, err := r.objects(ctx)
	if err != nil {
		return err
	}
	make := func() ([]byte, error) { return data, nil }
	if ok, err := r.clients.AppliedAsset(ctx, make); ok || err != nil {
		return err
	}
	return r.clients.ApplyAsset(ctx, make)
}

// leaves are the nodes whose kernel does not let kube-proxy set the size of the table of connections, by their names.
// What is known of one that this run has not seen is what the DaemonSet says: else its revision would depend on which
// nodes were there.
func (r *Kubeadm) leaves(ctx context.Context) ([]string, error) {
	var out, unseen []string
	for _, n := range inventory.Kubelets(r.Cluster) {
		switch f := r.Fact(n.Name); {
		case f == nil:
			unseen = append(unseen, n.Name)
		case !f.Conntrack:
			out = append(out, n.Name)
		}
	}
	if api := r.clients.API(); len(unseen) > 0 && api != nil {
		o, err := api.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, string(driver.Proxy), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, clients.Fault(err)
		}
		said := strings.Split(o.GetAnnotations()[leavesAnnotation], ",")
		out = append(out, slices.DeleteFunc(unseen, func(name string) bool { return !slices.Contains(said, name) })...)
	}
	slices.Sort(out)
	return out, nil
}

// proxySettings are what the DaemonSet is made of.
type proxySettings struct {
	text   []byte            // what kubeadm makes it with
	lasts  []byte            // the part of it that names no node, for a node may leave
	digest string            // of the image, on the control planes
	flags  map[string]string // that kube-proxy reads beside it
	leaves []string
}

func (r *Kubeadm) proxySettings(ctx context.Context) (s proxySettings, err error) {
	if s.leaves, err = r.leaves(ctx); err != nil {
		return s, err
	}
	var proxy doc
	proxy, s.flags = r.services.ProxyConfig(len(s.leaves) == 0, nil)
	n := r.master()
	if s.lasts, err = documents(r.cluster(n), proxy); err != nil {
		return s, err
	}
	s.digest = digest(r.BundleOf(n).Manifest(), driver.Proxy)
	s.text, err = documents(r.initial(n), r.cluster(n), proxy) // kubeadm wants to be told of some node
	return s, err
}

// revision comes from all that the DaemonSet is made of.
func (s proxySettings) revision() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", s.lasts, s.digest)
	more, err := yaml.Marshal(args(s.flags))
	h.Write(more)
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

// proxyRevision is that of the DaemonSet as this run wants it.
func (r *Kubeadm) proxyRevision(ctx context.Context) (string, error) {
	s, err := r.proxySettings(ctx)
	if err != nil {
		return "", err
	}
	return s.revision()
}

// Publish implements driver.Driver: the objects of kube-proxy, and the ConfigMap by which kubeadm and others' tools
// know the cluster. They are ours as all that we apply.
func (r *Kubeadm) Publish(needs []string) []*engine.Step {
	s := plan.Step(plan.PhaseControl, "kube-proxy", "", needs)
	s.Retry = engine.Retry{Tries: 10, Delay: time.Second, MaxDelay: 3 * time.Second}
	s.Check = func(ctx context.Context) (bool, error) {
		return r.clients.AppliedAsset(ctx, func() ([]byte, error) { return r.objects(ctx) })
	}
	s.Apply = r.publish
	return []*engine.Step{s}
}

// objects asks a control plane's kubeadm for those of kube-proxy. It changes nothing.
func (r *Kubeadm) objects(ctx context.Context) ([]byte, error) {
	settings, err := r.proxySettings(ctx)
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
		if made, err = nd.Query(ctx, withoutProxies+"printf %s "+shell.Quote(string(settings.text))+" | "+
			shell.Quote(program)+" init phase addon kube-proxy --print-manifest --config /dev/stdin\n"); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return r.withRevision(made, settings)
}

// withRevision gives the DaemonSet its revision and the flags, and adds the ConfigMap of kubeadm.
func (r *Kubeadm) withRevision(made string, s proxySettings) ([]byte, error) {
	revision, err := s.revision()
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
			mark(o.Object, revision, s.flags)
			if len(s.leaves) > 0 {
				all := maps.Clone(o.GetAnnotations())
				if all == nil {
					all = map[string]string{}
				}
				all[leavesAnnotation] = strings.Join(s.leaves, ",")
				o.SetAnnotations(all)
			}
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
		part := doc{"extraArgs": args(flags)}
		if v, err := r.volumes(x, n, flags); err != nil {
			return nil, err
		} else if len(v) > 0 {
			part["extraVolumes"] = v
		}
		c[key] = part
	}
	var urls []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		urls = append(urls, layout.ClientURL(m))
	}
	if n.Has(bundle.Etcd) {
		c["etcd"] = doc{"local": doc{"dataDir": r.EtcdData(n.Name)}}
	} else {
		c["etcd"] = doc{"external": doc{"endpoints": urls, "caFile": r.Paths().EtcdCA,
			"certFile": pkiDir + "/apiserver-etcd-client.crt", "keyFile": pkiDir + "/apiserver-etcd-client.key"}}
	}
	return yaml.Marshal(c)
}
