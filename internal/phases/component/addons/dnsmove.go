package addons

import (
	"context"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What the cluster's DNS consists of in the API.
const (
	dnsNamespace = "kube-system"
	dnsService   = "kube-dns"
	dnsSlice     = "kube-dns-eggo" // names the control planes as servers
)

// moveDNS changes CoreDNS from the kind that the cluster has to that of deploy.yaml. Both run until every node has been
// shown to get its answers from the new one; the Service leads to both for a moment, and never to none.
func (r *Addons) moveDNS(was string, needs []string) []*engine.Step {
	steps := r.newDNS(needs)
	dns := plan.Step(plan.PhaseAddons, "dns", "", plan.StepIDs(steps))
	dns.Title = event.M("step.addons.dns-switch")
	dns.Retry = wait.Patience()
	dns.Check, dns.Apply = r.switched, r.switchDNS
	steps = append(steps, dns)
	var proven []string
	for _, n := range inventory.Kubelets(r.Cluster) {
		s := plan.Step(plan.PhaseAddons, "dns-through", n.Name, []string{dns.ID})
		s.Verify = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
			if r.Skipped(n.Name) {
				return nil
			}
			return r.throughService(ctx, nd)
		})
		s.Retry, s.Timeout = wait.Patience(), time.Minute
		steps, proven = append(steps, s), append(proven, s.ID)
	}
	if was == "binary" {
		for _, n := range r.Cluster.With(bundle.ControlPlane) {
			s := plan.Step(plan.PhaseAddons, "dns-stop", n.Name, proven)
			s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
			s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
				return r.Driver.RemoveDNS(ctx, n, nd)
			})
			steps = append(steps, s)
		}
	}
	former := plan.Step(plan.PhaseAddons, "dns-former", "", plan.StepIDs(steps))
	former.Retry = wait.Patience()
	former.Apply = func(ctx context.Context) error { return r.removeFormer(ctx, was) }
	return append(steps, former)
}

// newDNS starts what deploy.yaml says beside what there is, and wants it to answer.
func (r *Addons) newDNS(needs []string) []*engine.Step {
	first := plan.Step(plan.PhaseAddons, "dns-new", "", needs)
	first.Retry = dnsRetry()
	first.Check = func(ctx context.Context) (bool, error) {
		objs, err := r.beside()
		if err != nil {
			return false, err
		}
		return r.Clients.API().Applied(ctx, objs)
	}
	first.Apply = func(ctx context.Context) error {
		objs, err := r.beside()
		if err == nil {
			err = r.tellNameserver(ctx)
		}
		if err != nil {
			return err
		}
		return r.Clients.API().Apply(ctx, objs)
	}
	steps := []*engine.Step{first}
	if !r.Cluster.DNS.IsBinary() {
		ready := plan.Step(plan.PhaseAddons, "dns-ready", "", []string{first.ID})
		ready.Verify, ready.Retry, ready.Timeout = r.podsReady, wait.Patience(), 30*time.Second
		return append(steps, ready)
	}
	servers := r.dnsServers(first.ID)
	steps = append(steps, servers...)
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		s := plan.Step(plan.PhaseAddons, "dns-answers", n.Name, plan.StepIDs(servers))
		s.Verify = r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.resolves(ctx, nd, n.IP) })
		s.Retry, s.Timeout = wait.Patience(), 30*time.Second
		steps = append(steps, s)
	}
	return steps
}

// dnsObjects are those of a kind of CoreDNS.
func (r *Addons) dnsObjects(kind string) ([]*unstructured.Unstructured, error) {
	text, err := r.dnsManifest(kind)()
	if err != nil {
		return nil, err
	}
	return clients.ParseManifests(text)
}

// beside are the objects of the new kind that change nothing for those who ask.
func (r *Addons) beside() ([]*unstructured.Unstructured, error) {
	objs, err := r.dnsObjects(r.Cluster.DNS.Type)
	return slices.DeleteFunc(objs, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Service" || o.GetKind() == "EndpointSlice"
	}), err
}

// podsReady wants the Deployment to be rolled out.
func (r *Addons) podsReady(ctx context.Context) error {
	d, err := r.Clients.API().AppsV1().Deployments(dnsNamespace).Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	if !rolledOut(*d) {
		return r.deploymentWaits(ctx, d)
	}
	return nil
}

// switched says whether the Service is as the new kind has it and leads to nothing else.
func (r *Addons) switched(ctx context.Context) (bool, error) {
	ok, err := r.Clients.AppliedAsset(ctx, r.dnsManifest(r.Cluster.DNS.Type))
	if !ok || err != nil {
		return false, err
	}
	left, err := r.formerEndpoints(ctx)
	return len(left) == 0, err
}

// switchDNS leads the Service to the new kind, first beside the old one, then alone.
func (r *Addons) switchDNS(ctx context.Context) error {
	objs, err := r.dnsObjects(r.Cluster.DNS.Type)
	if err != nil {
		return err
	}
	slices.SortStableFunc(objs, func(a, b *unstructured.Unstructured) int { // servers before the selector goes
		return weight(a) - weight(b)
	})
	if err := r.Clients.API().Apply(ctx, objs); err != nil {
		return err
	}
	if r.Cluster.DNS.IsBinary() {
		err = r.dropSelector(ctx)
	} else {
		err = r.podsBehind(ctx)
	}
	if err != nil {
		return err
	}
	return r.dropEndpoints(ctx)
}

func weight(o *unstructured.Unstructured) int {
	if o.GetKind() == "Service" {
		return 1
	}
	return 0
}

// dropSelector takes a selector from the Service that somebody else has come to own with us.
func (r *Addons) dropSelector(ctx context.Context) error {
	services := r.Clients.API().CoreV1().Services(dnsNamespace)
	s, err := services.Get(ctx, dnsService, metav1.GetOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	if len(s.Spec.Selector) == 0 || wait.Dry(ctx) {
		return nil
	}
	_, err = services.Patch(ctx, dnsService, types.MergePatchType, []byte(`{"spec":{"selector":null}}`),
		metav1.PatchOptions{})
	if err != nil {
		return clients.Fault(err)
	}
	return nil
}

// podsBehind wants the cluster to have found pods for the Service.
func (r *Addons) podsBehind(ctx context.Context) error {
	all, err := r.dnsSlices(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if byCluster(s) && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return e.Conditions.Ready != nil && *e.Conditions.Ready
		}) {
			return nil
		}
	}
	if wait.Dry(ctx) {
		return nil
	}
	return wait.Again("dns.no-endpoints")
}

func (r *Addons) dnsSlices(ctx context.Context) ([]discoveryv1.EndpointSlice, error) {
	list, err := r.Clients.API().DiscoveryV1().EndpointSlices(dnsNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + dnsService})
	if err != nil {
		return nil, clients.Fault(err)
	}
	return list.Items, nil
}

// byCluster says whether the cluster's own controllers made a slice: for a selector, or as a copy of Endpoints.
func byCluster(s discoveryv1.EndpointSlice) bool {
	return strings.HasSuffix(s.Labels[discoveryv1.LabelManagedBy], ".k8s.io")
}

// formerEndpoints are what still leads the Service to the former kind, as paths of the API below the namespace. Of a
// Service that loses its selector the cluster's controllers leave what they have made, and copy it even.
func (r *Addons) formerEndpoints(ctx context.Context) ([][2]string, error) {
	var out [][2]string
	if r.Cluster.DNS.IsBinary() {
		_, err := r.Clients.API().Dynamic().Resource(endpoints()).Namespace(dnsNamespace).Get(ctx, dnsService,
			metav1.GetOptions{})
		switch {
		case err == nil:
			out = append(out, [2]string{"endpoints", dnsService})
		case !apierrors.IsNotFound(err):
			return nil, clients.Fault(err)
		}
	}
	all, err := r.dnsSlices(ctx)
	for _, s := range all {
		if s.Name == dnsSlice && !r.Cluster.DNS.IsBinary() || byCluster(s) && r.Cluster.DNS.IsBinary() {
			out = append(out, [2]string{"endpointslices", s.Name})
		}
	}
	return out, err
}

func endpoints() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}
}

// dropEndpoints deletes them, and looks again: a controller that has not heard of the change yet makes them again.
func (r *Addons) dropEndpoints(ctx context.Context) error {
	left, err := r.formerEndpoints(ctx)
	if err != nil {
		return err
	}
	for _, x := range left {
		res := endpoints()
		if x[0] != res.Resource {
			res = discoveryv1.SchemeGroupVersion.WithResource(x[0])
		}
		err := r.Clients.API().Dynamic().Resource(res).Namespace(dnsNamespace).Delete(ctx, x[1], metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return clients.Fault(err)
		}
	}
	if len(left) == 0 || wait.Dry(ctx) {
		return nil
	}
	if left, err = r.formerEndpoints(ctx); err != nil {
		return err
	}
	if len(left) > 0 {
		return wait.Again("dns.former-endpoints", "name", event.Clean(left[0][1]))
	}
	return nil
}

// removeFormer deletes the objects of the former kind that Eggo has applied and the new one does not have.
func (r *Addons) removeFormer(ctx context.Context, was string) error {
	// A controller that was late has led the Service there again.
	if err := r.dropEndpoints(ctx); err != nil {
		return err
	}
	r.SetFormerDNS("")
	old, err := r.dnsObjects(was)
	if err != nil {
		return err
	}
	now, err := r.dnsObjects(r.Cluster.DNS.Type)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(o *unstructured.Unstructured) bool {
		return slices.ContainsFunc(now, func(x *unstructured.Unstructured) bool {
			return x.GetKind() == o.GetKind() && x.GetName() == o.GetName()
		})
	})
	slices.Reverse(old) // what uses the others goes first
	deleted, kept, err := r.Clients.API().Delete(ctx, old)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		return r.Emit(event.Notice{Step: engine.StepID(ctx),
			Text: event.M("notice.kept", "what", strings.Join(kept, ", "))})
	}
	if deleted == 0 {
		return engine.ErrUnchanged
	}
	return nil
}

// proofs is how often a node asks the Service: each time kube-proxy may lead it to another server.
const proofs = 20

// throughService wants the node to get answers through the Service, all of them from the new kind.
func (r *Addons) throughService(ctx context.Context, nd *node.Node) error {
	for range proofs {
		if err := r.resolves(ctx, nd, r.Cluster.DNSAddr); err != nil {
			return err
		}
		binary, err := r.isService(ctx, nd)
		if err != nil {
			return r.silent(nd, r.Cluster.DNSAddr, layout.DNSMetrics, err)
		}
		if binary != r.Cluster.DNS.IsBinary() {
			return wait.Again("dns.former-answers", "server", r.Cluster.DNSAddr.String(), "want",
				r.Cluster.DNS.Type).On(nd.Name())
		}
	}
	return nil
}
