package objects_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func read(t *testing.T, has ...runtime.Object) *objects.Cluster {
	t.Helper()
	c, err := objects.Read(t.Context(), fake.NewClientset(has...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func node(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.NodeInfo.KubeletVersion = "v1.34.2"
	change(n)
	return n
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
		Labels: map[string]string{"app": "web", "pod-template-hash": "5d9"}}}
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d9", Controller: &yes}}
	p.Spec.NodeName, p.Status.Phase = "w1", corev1.PodRunning
	p.Spec.Containers = []corev1.Container{{Image: "registry.test/web:1"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	change(p)
	return p
}

func TestNodesAsTheClusterHasThem(t *testing.T) {
	c := read(t,
		node("a", func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"x@sha256:1", "x:1"}}}
		}),
		node("b", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		node("c", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Effect: corev1.TaintEffectNoSchedule}} }),
		node("d", func(n *corev1.Node) {
			n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse,
				Reason: "R", Message: "m"}
		}))
	want := []objects.Node{{Name: "a", Kubelet: "v1.34.2", Open: true, Images: []string{"x@sha256:1", "x:1"}},
		{Name: "b", Kubelet: "v1.34.2"}, {Name: "c", Kubelet: "v1.34.2"},
		{Name: "d", Kubelet: "v1.34.2", NotReady: "R: m"}}
	if diff := cmp.Diff(want, c.Nodes); diff != "" {
		t.Error(diff)
	}
}

func TestPodsAndTheirBudgets(t *testing.T) {
	always := policyv1.AlwaysAllow
	budget := func(ns, name string, s *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: s, UnhealthyPodEvictionPolicy: &always},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3,
				DesiredHealthy: 2}}
	}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	c := read(t, budget("shop", "all", &metav1.LabelSelector{}), budget("shop", "none", nil),
		budget("shop", "web", web), budget("other", "web", web),
		pod("web-1", func(p *corev1.Pod) {}),
		pod("ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("going", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers, p.OwnerReferences = &metav1.Time{}, []string{"x"}, nil
		}),
		pod("failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
		pod("bare", func(p *corev1.Pod) {
			p.OwnerReferences, p.Labels = nil, nil
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Status.Conditions = nil
			p.Spec.InitContainers = []corev1.Container{{Image: "registry.test/init:1"}}
		}))
	if len(c.Pods) != 3 || c.Pods[1].Name != "going" || c.Pods[1].Running {
		t.Fatalf("%d pods: %+v", len(c.Pods), c.Pods)
	}
	c.Pods = slices.Delete(c.Pods, 1, 2)
	bare := &objects.Pod{Namespace: "shop", Name: "bare", Node: "w1", Mirror: true, Running: true,
		Images: []string{"registry.test/init:1", "registry.test/web:1"}}
	one := &objects.Pod{Namespace: "shop", Name: "web-1", Node: "w1", Kind: "Deployment", Owner: "web", Running: true,
		Ready: true, Images: []string{"registry.test/web:1"}}
	if diff := cmp.Diff([]*objects.Pod{bare, one}, c.Pods); diff != "" {
		t.Error(diff)
	}
	if one.Workload() != "Deployment shop/web" || one.Stays() || !bare.Stays() {
		t.Error(one.Workload(), one.Stays(), bare.Stays())
	}
	got := map[string]int{}
	for _, b := range c.Budgets {
		got[b.FullName()] = len(b.Pods)
		if b.Allowed != 1 || b.Healthy != 3 || b.Desired != 2 || !b.AlwaysAllow {
			t.Errorf("%+v", b)
		}
	}
	if diff := cmp.Diff(map[string]int{"shop/all": 3, "shop/none": 0, "shop/web": 2, "other/web": 0}, got); diff != "" {
		t.Error(diff)
	}
}

// rule is one of a webhook's: GROUP/RESOURCE.
func rule(what string, ops ...admissionv1.OperationType) admissionv1.RuleWithOperations {
	group, resource, _ := strings.Cut(what, "/")
	if len(ops) == 0 {
		ops = []admissionv1.OperationType{admissionv1.Create}
	}
	return admissionv1.RuleWithOperations{Operations: ops,
		Rule: admissionv1.Rule{APIGroups: []string{group}, Resources: []string{resource}}}
}

func TestWhatWebhooksGuard(t *testing.T) {
	label := func(kv ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{kv[0]: kv[1]}}
	}
	namespacedOnly, cluster := admissionv1.NamespacedScope, admissionv1.ClusterScope
	scoped := func(s *admissionv1.ScopeType, what string) admissionv1.RuleWithOperations {
		r := rule(what)
		r.Scope = s
		return r
	}
	for name, c := range map[string]struct {
		rule       admissionv1.RuleWithOperations
		namespaces *metav1.LabelSelector
		want       bool
	}{
		"pods":                        {rule("/pods"), nil, true},
		"all":                         {rule("*/*"), nil, true},
		"evictions":                   {rule("/pods/eviction"), nil, true},
		"all subresources":            {rule("/pods/*"), nil, true},
		"all resources of a group":    {rule("coordination.k8s.io/*"), nil, true},
		"a connection":                {rule("/pods/exec", admissionv1.Connect), nil, false},
		"certificates":                {rule("cert-manager.io/certificates"), nil, false},
		"pods of another group":       {rule("metrics.k8s.io/pods"), nil, false},
		"pods of no namespace":        {rule("/pods"), label("team", "nobody"), false},
		"pods of a namespace":         {rule("/pods"), label("team", "a"), true},
		"nodes have none":             {rule("/nodes"), label("team", "nobody"), true},
		"all, without those of nodes": {scoped(&namespacedOnly, "/*"), label("team", "nobody"), false},
		"all of the cluster":          {scoped(&cluster, "/pods"), nil, false},
		"the cluster's":               {scoped(&cluster, "*/*"), label("team", "nobody"), true},
	} {
		conf := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"},
			Webhooks: []admissionv1.ValidatingWebhook{{Name: "w", NamespaceSelector: c.namespaces,
				Rules: []admissionv1.RuleWithOperations{c.rule}, ClientConfig: admissionv1.WebhookClientConfig{
					Service: &admissionv1.ServiceReference{Namespace: "ns", Name: "s"}}}}}
		got := read(t, conf, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a",
			Labels: map[string]string{"team": "a"}}}).Webhooks
		want := []objects.Webhook{{Config: "ValidatingWebhookConfiguration c", Name: "w", Service: "ns/s",
			Guards: c.want}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWebhooksWhoseServiceHasAnEndpoint(t *testing.T) {
	fail, ignore, no, yes := admissionv1.Fail, admissionv1.Ignore, false, true
	hook := func(name, service string, policy *admissionv1.FailurePolicyType) admissionv1.MutatingWebhook {
		w := admissionv1.MutatingWebhook{Name: name, FailurePolicy: policy}
		if service != "" {
			w.ClientConfig.Service = &admissionv1.ServiceReference{Namespace: "ns", Name: service}
		}
		return w
	}
	slice := func(service string, ready ...*bool) *discoveryv1.EndpointSlice {
		e := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: service + "-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: service}}}
		for _, r := range ready {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{
				Ready: r}})
		}
		return e
	}
	c := read(t, slice("up", &no, &yes), slice("old"), slice("down", &no), slice("unsaid", nil),
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"},
			Webhooks: []admissionv1.MutatingWebhook{hook("up", "up", &fail), hook("down", "down", nil),
				hook("old", "old", &fail), hook("unsaid", "unsaid", &fail), hook("ignored", "down", &ignore),
				hook("url", "", &fail), hook("gone", "gone", &fail), hook("again", "up", &fail)}})
	got := map[string]bool{}
	for _, w := range c.Webhooks {
		got[w.Name] = w.Ready
	}
	if diff := cmp.Diff(map[string]bool{"up": true, "down": false, "old": false, "unsaid": true, "gone": false,
		"again": true}, got); diff != "" {
		t.Error(diff)
	}
}

// Thousands of pods come page by page.
func TestPodsArePaged(t *testing.T) {
	k := fake.NewClientset()
	var limits []int64
	k.PrependReactor("list", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		o := a.(k8stesting.ListActionImpl).ListOptions
		limits = append(limits, o.Limit)
		list := &corev1.PodList{}
		for i := range o.Limit {
			list.Items = append(list.Items, *pod(fmt.Sprint(o.Continue, i), func(*corev1.Pod) {}))
		}
		if len(o.Continue) < 3 {
			list.Continue = o.Continue + "x"
		}
		return true, list, nil
	})
	c, err := objects.Read(t.Context(), k)
	if err != nil || len(limits) != 4 || len(c.Pods) != 4*int(limits[0]) || limits[0] == 0 {
		t.Errorf("%v: pages of %v, %d pods", err, limits, len(c.Pods))
	}
}

func TestWhatCannotBeReadIsAFault(t *testing.T) {
	for _, resource := range []string{"nodes", "pods", "poddisruptionbudgets", "validatingwebhookconfigurations",
		"mutatingwebhookconfigurations", "namespaces", "endpointslices"} {
		k := fake.NewClientset(&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"},
			Webhooks: []admissionv1.MutatingWebhook{{ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: "ns", Name: "s"}}}}})
		k.PrependReactor("list", resource, func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no " + resource)
		})
		c, err := objects.Read(t.Context(), k)
		if c != nil || event.AsFault(err).Code != "kube.api" {
			t.Errorf("%s: %v, %v", resource, c, err)
		}
	}
}
