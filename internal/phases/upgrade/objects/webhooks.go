package objects

import (
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// hook is what both kinds of webhooks have.
type hook struct {
	Webhook
	service    *admissionv1.ServiceReference
	rules      []admissionv1.RuleWithOperations
	namespaces *metav1.LabelSelector
}

// webhooks are those that are Services of the cluster and refuse what they cannot be asked.
func webhooks(ctx context.Context, k kubernetes.Interface) ([]Webhook, error) {
	var hooks []hook
	add := func(h hook, policy *admissionv1.FailurePolicyType) {
		if (policy == nil || *policy == admissionv1.Fail) && h.service != nil {
			h.Service = h.service.Namespace + "/" + h.service.Name
			hooks = append(hooks, h)
		}
	}
	err := each(ctx, k.AdmissionregistrationV1().ValidatingWebhookConfigurations().List,
		func(c *admissionv1.ValidatingWebhookConfiguration) error {
			for _, w := range c.Webhooks {
				add(hook{Webhook{Config: "ValidatingWebhookConfiguration " + c.Name, Name: w.Name},
					w.ClientConfig.Service, w.Rules, w.NamespaceSelector}, w.FailurePolicy)
			}
			return nil
		})
	if err == nil {
		err = each(ctx, k.AdmissionregistrationV1().MutatingWebhookConfigurations().List,
			func(c *admissionv1.MutatingWebhookConfiguration) error {
				for _, w := range c.Webhooks {
					add(hook{Webhook{Config: "MutatingWebhookConfiguration " + c.Name, Name: w.Name},
						w.ClientConfig.Service, w.Rules, w.NamespaceSelector}, w.FailurePolicy)
				}
				return nil
			})
	}
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	var namespaces []labels.Set
	err = each(ctx, k.CoreV1().Namespaces().List, func(n *corev1.Namespace) error {
		namespaces = append(namespaces, n.Labels)
		return nil
	})
	ready := map[string]bool{}
	var out []Webhook
	for _, h := range hooks {
		if err != nil {
			return nil, err
		}
		if _, asked := ready[h.Service]; !asked {
			ready[h.Service], err = endpoints(ctx, k, h.service)
		}
		h.Ready, h.Guards = ready[h.Service], h.guards(namespaces)
		out = append(out, h.Webhook)
	}
	return out, err
}

// endpoints says whether the Service has one that is ready.
func endpoints(ctx context.Context, k kubernetes.Interface, s *admissionv1.ServiceReference) (bool, error) {
	list, err := k.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: s.Name}.String()})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(e discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(e.Endpoints, func(p discoveryv1.Endpoint) bool {
			return p.Conditions.Ready == nil || *p.Conditions.Ready // nil is to be taken for true
		})
	}), nil
}

// clusterWide are the resources of the cluster without which a node or its pods do not come back. They have no
// namespace that a webhook could leave out.
func clusterWide() []string {
	return []string{"/nodes", "/nodes/status", "certificates.k8s.io/certificatesigningrequests",
		"rbac.authorization.k8s.io/clusterroles", "rbac.authorization.k8s.io/clusterrolebindings",
		"storage.k8s.io/csinodes", "storage.k8s.io/volumeattachments"}
}

// namespaced are those of namespaces.
func namespaced() []string {
	return []string{"/pods", "/pods/status", "/pods/binding", "/pods/eviction", "/configmaps", "/services",
		"/serviceaccounts", "/serviceaccounts/token", "apps/daemonsets", "apps/deployments", "apps/replicasets",
		"coordination.k8s.io/leases", "discovery.k8s.io/endpointslices"}
}

func (h hook) guards(namespaces []labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(h.namespaces)
	anywhere := h.namespaces == nil || err != nil ||
		slices.ContainsFunc(namespaces, func(n labels.Set) bool { return s.Matches(n) })
	for _, r := range h.rules {
		if !slices.ContainsFunc(r.Operations, func(o admissionv1.OperationType) bool {
			return o != admissionv1.Connect
		}) {
			continue
		}
		scope := admissionv1.AllScopes
		if r.Scope != nil {
			scope = *r.Scope
		}
		if scope != admissionv1.NamespacedScope && slices.ContainsFunc(clusterWide(), matches(r)) ||
			scope != admissionv1.ClusterScope && anywhere && slices.ContainsFunc(namespaced(), matches(r)) {
			return true
		}
	}
	return false
}

// matches says of a resource, as GROUP/RESOURCE or GROUP/RESOURCE/SUBRESOURCE, whether the rule is for it.
func matches(r admissionv1.RuleWithOperations) func(string) bool {
	return func(what string) bool {
		group, resource, _ := strings.Cut(what, "/")
		name, sub, _ := strings.Cut(resource, "/")
		return slices.ContainsFunc(r.APIGroups, func(g string) bool { return g == "*" || g == group }) &&
			slices.ContainsFunc(r.Resources, func(p string) bool {
				pn, ps, has := strings.Cut(p, "/")
				return (pn == "*" || pn == name) && (has && ps == "*" || ps == sub)
			})
	}
}
