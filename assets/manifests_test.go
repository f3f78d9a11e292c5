package assets

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata again")

func params() CoreDNSParams {
	return CoreDNSParams{Image: "registry.k8s.io/coredns/coredns:v1.12.1", Domain: "air.gap", Address: "10.32.0.10",
		Replicas: 2, Forward: true}
}

// objects decodes a stream into the API's own types; a key that the API does not know is an error.
func objects(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	known := map[string]func() any{
		"ServiceAccount":     func() any { return new(corev1.ServiceAccount) },
		"ConfigMap":          func() any { return new(corev1.ConfigMap) },
		"Service":            func() any { return new(corev1.Service) },
		"Deployment":         func() any { return new(appsv1.Deployment) },
		"ClusterRole":        func() any { return new(rbacv1.ClusterRole) },
		"ClusterRoleBinding": func() any { return new(rbacv1.ClusterRoleBinding) },
	}
	out := map[string]any{}
	for _, doc := range strings.Split(string(stream), "\n---\n") {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		make, ok := known[head.Kind]
		if !ok {
			t.Fatalf("a %q", head.Kind)
		}
		o := make()
		if err := yaml.UnmarshalStrict([]byte(doc), o); err != nil {
			t.Fatalf("%s %s: %v", head.Kind, head.Metadata.Name, err)
		}
		out[head.Kind+"/"+head.Metadata.Name] = o
	}
	return out
}

func TestCoreDNSIsAsWritten(t *testing.T) {
	got, err := CoreDNS(params())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "coredns.yaml")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("go test ./assets -update, if this is meant:\n%s", d)
	}
}

func TestCoreDNSFitsTheAPI(t *testing.T) {
	stream, err := CoreDNS(params())
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, stream)
	if len(all) != 6 {
		t.Errorf("%d objects", len(all))
	}
	dep := all["Deployment/coredns"].(*appsv1.Deployment)
	svc := all["Service/kube-dns"].(*corev1.Service)
	pod := dep.Spec.Template
	if svc.Spec.ClusterIP != "10.32.0.10" || *dep.Spec.Replicas != 2 {
		t.Errorf("%s, %d replicas", svc.Spec.ClusterIP, *dep.Spec.Replicas)
	}
	if d := cmp.Diff(svc.Spec.Selector, pod.Labels); d != "" {
		t.Errorf("the Service does not select the pods: %s", d)
	}
	if d := cmp.Diff(dep.Spec.Selector.MatchLabels, pod.Labels); d != "" {
		t.Errorf("the Deployment does not select the pods: %s", d)
	}
	if pod.Spec.DNSPolicy != corev1.DNSDefault {
		t.Error("CoreDNS would ask itself")
	}
	tolerated := false
	for _, x := range pod.Spec.Tolerations {
		tolerated = tolerated || x.Key == "node-role.kubernetes.io/control-plane"
	}
	if !tolerated {
		t.Error("a cluster of control planes only would have no DNS")
	}
	c := pod.Spec.Containers[0]
	if c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation ||
		c.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("%+v", c)
	}
	for _, p := range svc.Spec.Ports {
		found := false
		for _, x := range c.Ports {
			found = found || x.ContainerPort == p.TargetPort.IntVal && x.Protocol == p.Protocol
		}
		if !found {
			t.Errorf("nobody listens behind port %s", p.Name)
		}
	}
	role := all["ClusterRole/system:coredns"].(*rbacv1.ClusterRole)
	binding := all["ClusterRoleBinding/system:coredns"].(*rbacv1.ClusterRoleBinding)
	if binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != pod.Spec.ServiceAccountName ||
		len(binding.Subjects) != 1 {
		t.Errorf("%+v", binding)
	}
	for _, r := range role.Rules {
		if cmp.Diff([]string{"list", "watch"}, r.Verbs) != "" {
			t.Errorf("CoreDNS only reads: %v", r)
		}
	}
}

func TestForwardingOnlyWhereThereIsSomebodyToAsk(t *testing.T) {
	for _, forward := range []bool{true, false} {
		p := params()
		p.Forward = forward
		stream, err := CoreDNS(p)
		if err != nil {
			t.Fatal(err)
		}
		corefile := objects(t, stream)["ConfigMap/coredns"].(*corev1.ConfigMap).Data["Corefile"]
		if strings.Contains(corefile, "forward .") != forward ||
			!strings.Contains(corefile, "kubernetes air.gap in-addr.arpa ip6.arpa {") {
			t.Errorf("forward %v:\n%s", forward, corefile)
		}
		if strings.Count(corefile, "{") != strings.Count(corefile, "}") {
			t.Errorf("braces:\n%s", corefile)
		}
	}
}

// Servers of deploy.yaml stand in the place of those of the nodes, also where the nodes have none.
func TestForwardingToServersOfTheFile(t *testing.T) {
	for _, forward := range []bool{true, false} {
		p := params()
		p.Forward, p.Upstreams = forward, []string{"192.0.2.53", "192.0.2.54"}
		stream, err := CoreDNS(p)
		if err != nil {
			t.Fatal(err)
		}
		corefile := objects(t, stream)["ConfigMap/coredns"].(*corev1.ConfigMap).Data["Corefile"]
		if !strings.Contains(corefile, "    forward . 192.0.2.53 192.0.2.54 {\n") ||
			strings.Contains(corefile, "resolv.conf") {
			t.Errorf("forward %v:\n%s", forward, corefile)
		}
	}
}

func TestNoValueChangesTheManifest(t *testing.T) {
	for name, change := range map[string]func(*CoreDNSParams){
		"a Corefile in the domain": func(p *CoreDNSParams) { p.Domain = "x {\n}\n. {\nforward . 192.0.2.1\n}" },
		"a brace":                  func(p *CoreDNSParams) { p.Domain = "x{" },
		"a variable":               func(p *CoreDNSParams) { p.Domain = "{$SECRET}" },
		"an empty domain":          func(p *CoreDNSParams) { p.Domain = "" },
		"YAML in the image":        func(p *CoreDNSParams) { p.Image = "x\"\n        command: [sh]" },
		"an empty image":           func(p *CoreDNSParams) { p.Image = "" },
		"YAML in the address":      func(p *CoreDNSParams) { p.Address = "10.0.0.1\n  type: NodePort" },
		"a Corefile in a server":   func(p *CoreDNSParams) { p.Upstreams = []string{"192.0.2.53 {\n}\n"} },
		"no replicas":              func(p *CoreDNSParams) { p.Replicas = 0 },
	} {
		p := params()
		change(&p)
		if out, err := CoreDNS(p); err == nil {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// Names get the rights that they need, no group of administrators, and nobody who has not shown who he is.
func TestRightsAreGivenToNames(t *testing.T) {
	all := objects(t, Rights())
	given := map[string]string{}
	for _, o := range all {
		b, ok := o.(*rbacv1.ClusterRoleBinding)
		if !ok {
			t.Fatalf("a %T", o)
		}
		for _, s := range b.Subjects {
			given[s.Kind+" "+s.Name+" → "+b.RoleRef.Name] = s.APIGroup
		}
	}
	want := map[string]string{
		"Group system:bootstrappers:eggo → system:node-bootstrapper":                                         rbacv1.GroupName,
		"Group system:bootstrappers:eggo → system:certificates.k8s.io:certificatesigningrequests:nodeclient": rbacv1.GroupName,
		"Group system:nodes → system:certificates.k8s.io:certificatesigningrequests:selfnodeclient":          rbacv1.GroupName,
		"User kube-apiserver-kubelet-client → system:kubelet-api-admin":                                      rbacv1.GroupName,
	}
	if d := cmp.Diff(want, given); d != "" {
		t.Error(d)
	}
}
