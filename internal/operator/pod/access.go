package pod

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
)

// Access returns the objects that give the pod of an Operation its rights: its own Operation, the Secrets and the Lease
// of its Cluster, by their names. It can create, list and delete nothing, so those objects have to exist.
func Access(o *eggov1.Operation) []client.Object {
	cluster := o.Spec.ClusterRef.Name
	var state []string
	for _, part := range eggov1.StateParts() {
		state = append(state, eggov1.StateSecret(cluster, part))
	}
	state = append(state, eggov1.KubeconfigSecret(cluster), eggov1.LogSecret(o.Name))
	rule := func(group, resource string, names []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names,
			Verbs: verbs}
	}
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: Meta(o, o.Name)}
	role := &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: Meta(o, o.Name), Rules: []rbacv1.PolicyRule{
			// A watch of one object needs list as well, for that name.
			rule(eggov1.Group, "operations", []string{o.Name}, "get", "list", "watch"),
			rule(eggov1.Group, "operations/status", []string{o.Name}, "get", "patch", "update"),
			rule(eggov1.Group, "clusters", []string{cluster}, "get"),
			rule("", "secrets", []string{eggov1.InputSecret(o.Name)}, "get"),
			rule("", "secrets", state, "get", "patch", "update"),
			rule("coordination.k8s.io", "leases", []string{eggov1.LeaseName(cluster)}, "get", "patch", "update"),
		}}
	return []client.Object{account, role, &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: Meta(o, o.Name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: o.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: o.Name, Namespace: o.Namespace}}}}
}
