package v1_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/testkit/apiservertest"
)

// TestAPIServer shares one API server between the tests of what it does with the objects.
func TestAPIServer(t *testing.T) {
	s := apiservertest.Start(t)
	c := s.Client(t)
	t.Run("the original's samples apply unchanged", func(t *testing.T) { samples(t, c) })
	t.Run("examples of the manual", func(t *testing.T) { applied(t, c) })
	t.Run("rules of one object", func(t *testing.T) { rules(t, c) })
	t.Run("rules of changes", func(t *testing.T) { changes(t, c) })
	t.Run("ports of stored objects", func(t *testing.T) { ratcheting(t, s, c) })
	t.Run("status begins unobserved", func(t *testing.T) { unobserved(t, c) })
	t.Run("columns", func(t *testing.T) { columns(t, s, c) })
	t.Run("fields that select", func(t *testing.T) { selectors(t, c) })
	t.Run("deletions", func(t *testing.T) { deletions(t, s, c) })
	t.Run("roles of people", func(t *testing.T) { roles(t, s) })
}

// apply applies as kubectl does: unknown fields are errors.
func apply(t *testing.T, c client.Client, o client.Object) error {
	t.Helper()
	return client.WithFieldValidation(c, metav1.FieldValidationStrict).Patch(t.Context(), o, client.Apply,
		client.FieldOwner("kubectl"), client.ForceOwnership)
}

func samples(t *testing.T, c client.Client) {
	text, err := os.ReadFile("testdata/original.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range apiservertest.Objects(t, text) {
		if err := apply(t, c, o.DeepCopy()); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		if o.GroupVersionKind().Group != v1.Group {
			continue
		}
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(o.GroupVersionKind())
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), got); err != nil {
			t.Fatal(err)
		}
		if lost := missing("spec", o.Object["spec"], got.Object["spec"]); lost != "" {
			t.Errorf("%s: %s was not kept", o.GetKind(), lost)
		}
	}
}

// missing returns the path of the first value of want that is not in got.
func missing(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		has, _ := got.(map[string]any)
		for k, v := range want {
			if lost := missing(path+"."+k, v, has[k]); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		has, _ := got.([]any)
		if len(has) != len(want) {
			return path
		}
		for i := range want {
			if lost := missing(fmt.Sprintf("%s[%d]", path, i), want[i], has[i]); lost != "" {
				return lost
			}
		}
		return ""
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return path
	}
	return ""
}

// object reads one object of kind, named "x" unless the YAML of its metadata names it.
func object(t *testing.T, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	name := "x"
	if before, after, named := strings.Cut(spec, "|"); named {
		name, spec = before, after
	}
	text := fmt.Sprintf("apiVersion: eggo.isula.org/v1\nkind: %s\nmetadata: {name: %s, namespace: default}\nspec: %s\n",
		kind, name, spec)
	return apiservertest.Objects(t, []byte(text))[0]
}

// rules tries objects; the error is to contain a text, "" allows them.
func rules(t *testing.T, c client.Client) {
	long := strings.Repeat("n", 41)
	const claim, url = "claim: {name: c, path: a/b.tgz}", "url: 'https://x/b', sha256: "
	sum, image := strings.Repeat("a", 64), "image: 'r.io/b@sha256:"+strings.Repeat("a", 64)+"'"
	bundle := func(s string) string { return "{bundles: [{version: v1.34.2, arch: amd64, " + s + "}]}" }
	for _, r := range []struct{ kind, spec, want string }{
		{"Machine", "{hostname: a, ip: 192.0.2.1}", ""},
		{"Machine", "{hostname: a, ip: 192.0.2.256}", "must be an IPv4 address"},
		{"Machine", "{hostname: a, ip: '2001:db8::1'}", "must be an IPv4 address"},
		{"Machine", "{hostname: a, ip: '$(reboot)'}", "must be an IPv4 address"},
		{"Machine", "{hostname: 'a;reboot', ip: 192.0.2.1}", "spec.hostname"},
		{"Machine", "{hostname: " + long + long + ", ip: 192.0.2.1}", "spec.hostname"},
		{"Machine", "{ip: 192.0.2.1}", "spec.hostname: Required"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, port: 0}", "spec.port"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, port: 65536}", "spec.port"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, arch: sparc}", "spec.arch"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, hostKeys: [\"ssh-ed25519 AAAA\\nx\"]}", "spec.hostKeys"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, hostKeys: ['ssh-ed25519 AAAA me@here']}", ""},
		{"Machine", "{hostname: a, ip: 192.0.2.1, hostKeyPolicy: Never}", "spec.hostKeyPolicy"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, nodeTaints: [{key: a, effect: No}]}", "effect"},
		{"Machine", "{hostname: a, ip: 192.0.2.1, password: secret}", "unknown field"},
		{"Machine", long + long + "|{hostname: a, ip: 192.0.2.1}", "at most 63"},

		{"Infrastructure", "{}", "bundles or packagePersistentVolumeClaim is required"},
		{"Infrastructure", bundle(claim), ""},
		{"Infrastructure", bundle(image), ""},
		{"Infrastructure", bundle(url + sum), ""},
		{"Infrastructure", bundle("os: debian"), "exactly one of claim, image and url"},
		{"Infrastructure", bundle(claim + ", " + image), "exactly one of claim, image and url"},
		{"Infrastructure", bundle("url: 'https://x/b'"), "url and sha256 belong together"},
		{"Infrastructure", bundle("url: 'http://x/b', sha256: " + sum), "must begin with https"},
		{"Infrastructure", bundle("image: 'r.io/b:latest'"), "image"},
		{"Infrastructure", bundle("claim: {name: c, path: /etc/shadow}"), "path"},
		{"Infrastructure", bundle("claim: {name: c, path: a/../../b}"), "path"},
		{"Infrastructure", "{bundles: [{version: '1.34', arch: amd64, " + claim + "}]}", "version"},
		{"Infrastructure", "{bundles: [{version: v1.34.2, arch: amd64, " + claim +
			"}, {version: v1.34.2, arch: amd64, " + image + "}]}", "Duplicate value"},

		{"Cluster", "{masterRequire: {number: 1}}", ""},
		{"Cluster", "{machines: [{name: a, roles: [master]}]}", ""},
		{"Cluster", "{}", "either masterRequire or machines"},
		{"Cluster", "{masterRequire: {number: 1}, machines: [{name: a, roles: [master]}]}", "either masterRequire or"},
		{"Cluster", "{machines: [{name: a, roles: [master]}], workerRequire: {number: 1}}", "cannot be combined"},
		{"Cluster", "{machines: [{name: a, roles: [worker]}]}", "must have the role master"},
		{"Cluster", "{machines: [{name: a, roles: [master]}, {name: a, roles: [worker]}]}", "Duplicate value"},
		{"Cluster", "{machines: [{name: a, roles: [king]}]}", "roles"},
		{"Cluster", "{masterRequire: {number: 0}}", "must be at least 1"},
		{"Cluster", "{masterRequire: {number: -1}}", "number"},
		{"Cluster", "{masterRequire: {number: 1}, loadbalanceRequires: {number: 2}}", "must be 0 or 1"},
		{"Cluster", "{masterRequire: {number: 1}, version: '1.34'}", "version"},
		{"Cluster", "{masterRequire: {number: 1}, driver: helm}", "driver"},
		{"Cluster", "{masterRequire: {number: 1}, deletionPolicy: Never}", "deletionPolicy"},
		{"Cluster", "{masterRequire: {number: 1}, maintenanceWindow: always}", "maintenanceWindow"},
		{"Cluster", "{masterRequire: {number: 1}, maintenanceWindow: '22:00-06:00'}", ""},
		{"Cluster", "{masterRequire: {number: 1}, upgrade: {batch: '0'}}", "batch"},
		{"Cluster", "{masterRequire: {number: 1}, network: {pod-cidr: 10.0.0.1}}", "must be an IPv4 network"},
		{"Cluster", "{masterRequire: {number: 1}, network: {service-cidr: 'fd00::/64'}}", "must be an IPv4 network"},
		{"Cluster", "{masterRequire: {number: 1}, network: {service-dns-ip: dns}}", "must be an address"},
		{"Cluster", "{masterRequire: {number: 1}, network: {service-gateway: gw}}", "must be an address"},
		{"Cluster", "{masterRequire: {number: 1}, config: {etcd-token: t}}", ""},
		{"Cluster", "{masterRequire: {number: 1}, backup: {schedule: 24h, claim: c}}", "recipients"},
		{"Cluster", long + "|{masterRequire: {number: 1}}", "at most 40 characters"},
		{"Cluster", "a.b|{masterRequire: {number: 1}}", "at most 40 characters"},

		{"MachineBinding", "{machines: [{name: a, uid: u, roles: [master]}]}", ""},
		{"MachineBinding", "{machines: [{name: a, uid: u, roles: []}]}", "roles"},
		{"MachineBinding", "{machines: [{name: a, uid: u, roles: [worker]}, {name: a, uid: v, roles: [worker]}]}",
			"Duplicate value"},

		{"Operation", "{clusterRef: {name: c}, verb: deploy}", ""},
		{"Operation", "{clusterRef: {name: c}, verb: destroy}", "verb"},
		{"Operation", "{verb: deploy}", "clusterRef"},
		{"Operation", "{clusterRef: {name: c}, verb: restore}", "restore needs args.snapshot"},
		{"Operation", "{clusterRef: {name: c}, verb: restore, args: {snapshot: ../../etc/shadow}}", "snapshot"},
		{"Operation", "{clusterRef: {name: c}, verb: restore, args: {snapshot: s.db}}", ""},
		{"Operation", "{clusterRef: {name: c}, verb: delete}", "delete needs args.nodes"},
		{"Operation", "{clusterRef: {name: c}, verb: deploy, stop: Kill}", "stop"},
		{"Operation", "{clusterRef: {name: c}, verb: deploy, decisions: [{step: s, decision: maybe}]}", "decision"},
		{"Operation", long + long + "|{clusterRef: {name: c}, verb: deploy}", "at most 63 characters"},
	} {
		o := object(t, r.kind, r.spec)
		err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(t.Context(), o, client.DryRunAll)
		checkError(t, r.kind+" "+r.spec, err, r.want)
	}
}

func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// changes tries changes of objects that exist. With a status of the operator, some fields are fixed.
func changes(t *testing.T, c client.Client) {
	const begun, bound = "{hasCluster: true}", "{clusterRef: {name: c}}"
	base := "{masterRequire: {number: 1}}"
	op := "{clusterRef: {name: c}, verb: delete, args: {nodes: [a]}, specDigest: d, fence: 3"
	for i, r := range []struct{ kind, from, status, to, want string }{
		{"Machine", "{hostname: a, ip: 192.0.2.1}", "", "{hostname: a, ip: 192.0.2.2}", ""},
		{"Machine", "{hostname: a, ip: 192.0.2.1}", bound, "{hostname: a, ip: 192.0.2.2}", "ip cannot change"},
		{"Machine", "{hostname: a, ip: 192.0.2.1}", bound, "{hostname: a, ip: 192.0.2.1, maintenance: true}", ""},
		{"Cluster", base, "", "{masterRequire: {number: 1}, driver: kubeadm}", ""},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, driver: kubeadm}", "driver cannot change"},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, driver: binary}", ""},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, network: {pod-cidr: 10.9.0.0/16}}", "pod-cidr cannot"},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, network: {pod-cidr: 10.244.0.0/16}}", ""},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, network: {service-cidr: 10.9.0.0/16}}", "cidr cannot"},
		{"Cluster", base, begun, "{masterRequire: {number: 1}, network: {domain: example.org}}", "domain cannot"},
		{"Cluster", base, begun, "{masterRequire: {number: 3}, version: v1.35.1}", ""},
		{"Operation", op + "}", "", op + ", stop: Stop, decisions: [{step: s, decision: skip}]}", ""},
		{"Operation", op + "}", "", strings.Replace(op, "delete", "cleanup", 1) + "}", "cannot change"},
		{"Operation", op + "}", "", strings.Replace(op, "[a]", "[a, b]", 1) + "}", "cannot change"},
		{"Operation", op + "}", "", strings.Replace(op, "fence: 3", "fence: 4", 1) + "}", "cannot change"},
		{"Operation", op + "}", "", strings.Replace(op, "name: c", "name: d", 1) + "}", "cannot change"},
		{"Operation", op + "}", "", "{clusterRef: {name: c}, verb: delete, args: {nodes: [a]}}", "cannot change"},
	} {
		name := fmt.Sprintf("change-%d|", i)
		o := object(t, r.kind, name+r.from)
		if err := apply(t, c, o); err != nil {
			t.Fatal(err)
		}
		if r.status != "" {
			patch := client.RawPatch("application/merge-patch+json", asJSON(t, "status: "+r.status))
			if err := c.Status().Patch(t.Context(), o, patch); err != nil {
				t.Fatal(err)
			}
		}
		checkError(t, r.kind+" "+r.to, apply(t, c, object(t, r.kind, name+r.to)), r.want)
	}
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	return jsonOf(t, apiservertest.Objects(t, []byte(text))[0].Object)
}

// ratcheting: an object of the original with port 0 stays valid, and other fields of it can change.
func ratcheting(t *testing.T, s *apiservertest.Server, c client.Client) {
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("machines.eggo.isula.org")
	minimum := func(n int) {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/`+
			`properties/port/minimum","value":%d}]`, n)
		change := client.RawPatch("application/json-patch+json", []byte(patch))
		if err := c.Patch(t.Context(), definition, change); err != nil {
			t.Fatal(err)
		}
	}
	minimum(0)
	spec := "old|{hostname: a, ip: 192.0.2.1, port: 0"
	apiservertest.Until(t, func() error { return apply(t, c, object(t, "Machine", spec+"}")) })
	minimum(1)
	apiservertest.Until(t, func() error {
		n := object(t, "Machine", "new|{hostname: a, ip: 192.0.2.1, port: 0}")
		if err := c.Create(t.Context(), n, client.DryRunAll); err != nil {
			return nil
		}
		return fmt.Errorf("a new machine with port 0 is accepted")
	})
	if err := apply(t, c, object(t, "Machine", spec+", maintenance: true}")); err != nil {
		t.Error(err)
	}
}

func unobserved(t *testing.T, c client.Client) {
	for kind, spec := range map[string]string{
		"Machine": "{hostname: a, ip: 192.0.2.1}", "Cluster": "{masterRequire: {number: 1}}",
		"Infrastructure": "{packagePersistentVolumeClaim: {name: c}}",
		"Operation":      "{clusterRef: {name: c}, verb: plan}",
	} {
		o := object(t, kind, "unobserved|"+spec)
		if err := apply(t, c, o); err != nil {
			t.Fatal(err)
		}
		got, _, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if err != nil || got != -1 {
			t.Errorf("%s: observedGeneration is %d, %v", kind, got, err)
		}
	}
}

// columns reads what kubectl get prints.
func columns(t *testing.T, s *apiservertest.Server, c client.Client) {
	config := rest.CopyConfig(s.Config)
	gv := v1.GroupVersion()
	config.APIPath, config.GroupVersion = "/apis", &gv
	config.NegotiatedSerializer = codecs(t)
	r, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for plural, want := range map[string]string{
		"clusters":        "Name Ready Version Nodes Operation Step Age",
		"machines":        "Name Ready IP Arch Cluster Reason Age",
		"machinebindings": "Name Cluster Machines Age",
		"infrastructures": "Name Ready Versions Age",
		"operations":      "Name Cluster Verb Phase Step Age",
	} {
		var table metav1.Table
		data, err := r.Get().Namespace("default").Resource(plural).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		fromJSON(t, data, &table)
		var names []string
		for _, column := range table.ColumnDefinitions {
			if column.Priority == 0 {
				names = append(names, column.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", plural, got, want)
		}
	}
}

func selectors(t *testing.T, c client.Client) {
	for _, o := range []*unstructured.Unstructured{
		object(t, "Machine", "here|{hostname: a, ip: 198.51.100.1}"),
		object(t, "Machine", "there|{hostname: b, ip: 198.51.100.2}"),
		object(t, "Operation", "mine|{clusterRef: {name: selected}, verb: plan}"),
	} {
		if err := apply(t, c, o); err != nil {
			t.Fatal(err)
		}
	}
	var machines v1.MachineList
	if err := c.List(t.Context(), &machines, client.MatchingFields{"spec.ip": "198.51.100.2"}); err != nil {
		t.Fatal(err)
	}
	var operations v1.OperationList
	err := c.List(t.Context(), &operations, client.MatchingFields{"spec.clusterRef.name": "selected"})
	if err != nil || len(machines.Items) != 1 || machines.Items[0].Name != "there" || len(operations.Items) != 1 {
		t.Errorf("%d machines, %d operations, %v", len(machines.Items), len(operations.Items), err)
	}
}

// deletions that the policies refuse, and what allows them.
func deletions(t *testing.T, s *apiservertest.Server, c client.Client) {
	s.Apply(t, c, "namespace.yaml")
	s.Apply(t, c, "rbac.yaml")
	s.Apply(t, c, "everywhere/secrets.yaml")
	s.Apply(t, c, "policies.yaml")
	manager := s.As(t, "system:serviceaccount:eggops-system:eggops-manager", "system:serviceaccounts")
	confirm := func(o client.Object) {
		o.SetAnnotations(map[string]string{v1.AnnotationConfirmDeletion: o.GetName()})
		if err := c.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	free, taken := object(t, "Machine", "free|{hostname: a, ip: 203.0.113.1}"),
		object(t, "Machine", "taken|{hostname: b, ip: 203.0.113.2}")
	kept, orphan := object(t, "Cluster", "kept|{masterRequire: {number: 1}}"),
		object(t, "Cluster", "orphan|{masterRequire: {number: 1}, deletionPolicy: Orphan}")
	state, mine := stateSecret("kept-state-pki"), stateSecret("other-state-pki")
	for _, o := range []client.Object{free, taken, kept, orphan} {
		if err := apply(t, c, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []client.Object{state, mine} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"clusterRef":{"name":"kept"}}}`))
	if err := c.Status().Patch(t.Context(), taken, patch); err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	if err := c.Get(t.Context(), client.ObjectKey{Name: "clusters.eggo.isula.org"}, definition); err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct { // a policy holds a moment after it was created
		o    client.Object
		text string
	}{{kept, "annotate ec/kept -n default"}, {taken, "cluster kept has this"}, {state, "annotate secret/kept"},
		{definition, "annotate crd/clusters"}} {
		apiservertest.Until(t, func() error { return refused(t.Context(), c, d.o, d.text) })
	}
	all := kept.DeepCopy()
	if err := c.DeleteAllOf(t.Context(), all, client.InNamespace("default"), client.DryRunAll); err == nil {
		t.Error("a collection with a protected cluster is deleted")
	}
	wrong := kept.DeepCopy()
	wrong.SetAnnotations(map[string]string{v1.AnnotationConfirmDeletion: "another"})
	if err := c.Update(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	if err := refused(t.Context(), c, wrong, "confirm-deletion=kept"); err != nil {
		t.Error(err)
	}
	confirm(wrong)
	confirm(state)
	for name, err := range map[string]error{
		"a free machine":            c.Delete(t.Context(), free),
		"a confirmed cluster":       c.Delete(t.Context(), wrong),
		"another policy":            c.Delete(t.Context(), orphan),
		"a confirmed Secret":        c.Delete(t.Context(), state),
		"a Secret, by the operator": manager.Delete(t.Context(), mine),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// refused returns nil if a deletion is refused with a text.
func refused(ctx context.Context, c client.Client, o client.Object, text string) error {
	err := c.Delete(ctx, o, client.DryRunAll)
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), text) {
		return nil
	}
	return fmt.Errorf("%s %s: %v, want %q", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err, text)
}

func stateSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Type: v1.SecretTypeState}
}

// roles: what each role of people may do with each kind, and that none has Secrets or pods.
func roles(t *testing.T, s *apiservertest.Server) {
	c := s.Client(t)
	s.Apply(t, c, "roles.yaml")
	all := []string{"machines", "machinebindings", "infrastructures", "clusters", "operations"}
	for role, writes := range map[string][]string{
		"eggops-machine-admin": {"machines"},
		"eggops-cluster-admin": {"clusters", "infrastructures", "operations"},
		"eggops-viewer":        {},
	} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "default"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: role}}}
		if err := c.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		apiservertest.Until(t, func() error {
			if !may(t, c, role, "get", v1.Group, "machinebindings") {
				return fmt.Errorf("%s has no rights yet", role)
			}
			return nil
		})
		for _, resource := range all {
			if got := may(t, c, role, "delete", v1.Group, resource); got != slices.Contains(writes, resource) {
				t.Errorf("%s may delete %s: %v", role, resource, got)
			}
			if may(t, c, role, "patch", v1.Group, resource+"/status") {
				t.Errorf("%s writes the status of %s", role, resource)
			}
		}
		for _, resource := range []string{"secrets", "pods", "configmaps"} {
			for _, verb := range []string{"get", "list", "create"} {
				if may(t, c, role, verb, "", resource) {
					t.Errorf("%s may %s %s", role, verb, resource)
				}
			}
		}
	}
	manager := "system:serviceaccount:eggops-system:eggops-manager"
	for _, verb := range []string{"list", "watch"} {
		if may(t, c, manager, verb, "", "secrets") {
			t.Errorf("the operator may %s Secrets", verb)
		}
	}
	if !may(t, c, manager, "patch", v1.Group, "clusters/status") {
		t.Error("the operator may not write the status of clusters")
	}
}
