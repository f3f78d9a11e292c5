package kubeapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestWhatAVersionServes(t *testing.T) {
	table := kubeapi.Load()
	if table.First != 30 || table.Last < 36 {
		t.Fatalf("the table is of 1.%d to 1.%d", table.First, table.Last)
	}
	for _, c := range []struct{ version, api, kind, code, minor, instead string }{
		{"v1.34.2", "policy/v1", "PodDisruptionBudget", "", "", ""},
		{"v1.34.2", "policy/v1beta1", "PodDisruptionBudget", kubeapi.Replaced, "1.25", "policy/v1"},
		{"v1.34.2", "policy/v1beta1", "PodSecurityPolicy", kubeapi.Removed, "1.25", ""},
		{"v1.34.2", "extensions/v1beta1", "Ingress", kubeapi.Replaced, "1.22", "networking.k8s.io/v1"},
		{"v1.34.2", "extensions/v1beta1", "Deployment", kubeapi.Replaced, "1.16", "apps/v1"},
		{"v1.34.2", "networking.k8s.io/v1beta1", "Ingress", kubeapi.Replaced, "1.22", "networking.k8s.io/v1"},
		{"v1.34.2", "batch/v1beta1", "CronJob", kubeapi.Replaced, "1.25", "batch/v1"},
		{"v1.34.2", "autoscaling/v2beta2", "HorizontalPodAutoscaler", kubeapi.Replaced, "1.26", "autoscaling/v2"},
		{"v1.34.2", "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", kubeapi.Replaced, "1.22",
			"apiextensions.k8s.io/v1"},
		{"v1.34.2", "rbac.authorization.k8s.io/v1beta1", "ClusterRole", kubeapi.Replaced, "1.22",
			"rbac.authorization.k8s.io/v1"},
		{"v1.34.2", "rbac.authorization.k8s.io/v1alpha1", "ClusterRole", kubeapi.Unknown, "",
			"rbac.authorization.k8s.io/v1"},
		{"v1.34.2", "batch/v2alpha1", "CronJob", kubeapi.Unknown, "", "batch/v1"},
		{"v1.34.2", "apps/v1", "Deploymnet", kubeapi.Unknown, "", ""},
		{"v1.31.14", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "", "", ""},
		{"v1.32.0", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", kubeapi.Replaced, "1.32",
			"flowcontrol.apiserver.k8s.io/v1"},
		{"v1.33.0", "resource.k8s.io/v1", "ResourceClaim", kubeapi.Later, "1.34", ""},
		{"v1.34.0", "resource.k8s.io/v1", "ResourceClaim", "", "", ""},
		{"v1.34.0", "resource.k8s.io/v1beta1", "ResourceClaim", kubeapi.OnDemand, "", ""},
		{"v1.35.0", "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", kubeapi.Later, "1.36", ""},
		{"v1.34.2", "v1", "Pod", "", "", ""},
		{"v1.34.2", "v1", "ComponentStatus", "", "", ""}, // deprecated, and served
		// A minor that is newer than the table may have what it does not know, but brings nothing back.
		{"v1.99.0", "policy/v1beta1", "PodDisruptionBudget", kubeapi.Replaced, "1.25", "policy/v1"},
		{"v1.99.0", "apps/v2", "Deployment", "", "", ""},
		{"v1.20.0", "policy/v1beta1", "PodDisruptionBudget", "", "", ""},
		// What is not Kubernetes' own is left alone.
		{"v1.34.2", "monitoring.coreos.com/v1beta1", "Prometheus", "", "", ""},
		{"v1.34.2", "gateway.networking.k8s.io/v1beta1", "Gateway", "", "", ""},
		{"v1.34.2", "snapshot.storage.k8s.io/v1beta1", "VolumeSnapshot", "", "", ""},
		{"v1.34.2", "metrics.k8s.io/v1beta1", "PodMetrics", "", "", ""},
		{"v1.34.2", "v1", "List", "", "", ""},
		{"", "policy/v1beta1", "PodDisruptionBudget", "", "", ""},
	} {
		found := table.Check(c.version, []kubeapi.Object{{APIVersion: c.api, Kind: c.kind, Name: "a/b"}}, nil)
		code, minor, instead := "", "", ""
		if len(found) > 0 {
			f := found[0].Fault(event.ClassFailed, "x", c.version)
			code, minor, instead = f.Code, f.Args["minor"], f.Args["instead"]
			if code == kubeapi.Unknown {
				instead = found[0].Instead
			}
		}
		if code != c.code || minor != c.minor || instead != c.instead {
			t.Errorf("%s %s in %s: %s %s %s, want %s %s %s", c.api, c.kind, c.version, code, minor, instead, c.code,
				c.minor, c.instead)
		}
	}
}

func TestObjectsOfOneKindAreOneFinding(t *testing.T) {
	var objects []kubeapi.Object
	for _, n := range "abcdefghijkl" {
		objects = append(objects, kubeapi.Object{APIVersion: "policy/v1beta1", Kind: "PodDisruptionBudget",
			Name: "web/" + string(n)})
	}
	objects = append(objects, objects[0])
	found := kubeapi.Load().Check("v1.34.2", objects, nil)
	if len(found) != 1 || len(found[0].Names) != 12 {
		t.Fatalf("%+v", found)
	}
	text, next := i18n.NewPrinter(i18n.English).Fault(found[0].Fault(event.ClassFailed, "net.yaml", "v1.34.2"))
	for _, s := range []string{"net.yaml", "policy/v1beta1 PodDisruptionBudget", "web/a, web/b", "…", "v1.34.2",
		"1.25"} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in %s", s, text)
		}
	}
	if !strings.Contains(next, "policy/v1") || strings.Contains(text, "web/l") {
		t.Errorf("%s\n%s", text, next)
	}
}

// What a definition in the same manifests brings is served, whatever its group is called.
func TestDefinitionsAreServed(t *testing.T) {
	objects := []kubeapi.Object{{APIVersion: "policy/v9", Kind: "Rule", Name: "x"}}
	if found := kubeapi.Load().Check("v1.34.2", objects, nil); len(found) != 1 {
		t.Errorf("%+v", found)
	}
	objects = append(objects, kubeapi.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
		Name: "rules.policy", Defines: "policy/Rule"})
	if found := kubeapi.Load().Check("v1.34.2", objects, nil); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestRuntimeConfigEnablesVersions(t *testing.T) {
	for _, c := range []struct {
		value, api string
		want       bool
	}{
		{"", "resource.k8s.io/v1beta1", false},
		{"api/all=true", "resource.k8s.io/v1alpha3", true},
		{"api/beta=true", "resource.k8s.io/v1beta1", true},
		{"api/beta=true", "resource.k8s.io/v1alpha3", false},
		{"api/alpha=true", "resource.k8s.io/v1alpha3", true},
		{"resource.k8s.io/v1beta1=true", "resource.k8s.io/v1beta1", true},
		{"resource.k8s.io/v1beta1", "resource.k8s.io/v1beta1", true},
		{"resource.k8s.io/v1beta1/resourceclaims=true", "resource.k8s.io/v1beta1", true},
		{"api/all=true, resource.k8s.io/v1beta1=false", "resource.k8s.io/v1beta1", false},
		{"api/all=maybe", "resource.k8s.io/v1beta1", false},
	} {
		objects := []kubeapi.Object{{APIVersion: c.api, Kind: "ResourceClaim", Name: "x"}}
		found := kubeapi.Load().Check("v1.33.2", objects, kubeapi.Enabled(c.value))
		if got := len(found) == 0; got != c.want {
			t.Errorf("%q enables %s: %v", c.value, c.api, got)
		}
	}
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		api, kind         string
		namespaced, known bool
	}{
		{"v1", "Pod", true, true},
		{"v1", "Namespace", false, true},
		{"policy/v1beta1", "PodSecurityPolicy", false, true},
		{"resource.k8s.io/v1alpha2", "ResourceClass", false, true},
		{"rbac.authorization.k8s.io/v1alpha1", "RoleBinding", true, true},
		{"example.com/v1", "Pod", false, false},
		{"apps/v1", "Thing", false, false},
	} {
		if n, k := kubeapi.Load().Namespaced(c.api, c.kind); n != c.namespaced || k != c.known {
			t.Errorf("%s %s: %v %v", c.api, c.kind, n, k)
		}
	}
	served := kubeapi.Load().Served(34)
	for name, want := range map[string]bool{"policy/v1": true, "policy/v1/PodDisruptionBudget": true, "v1/Pod": true,
		"policy/v1beta1": false, "resource.k8s.io/v1beta1": false} {
		if slices.Contains(served, name) != want {
			t.Errorf("%s is served: %v", name, !want)
		}
	}
}
