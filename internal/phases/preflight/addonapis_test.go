package preflight

import (
	"errors"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// What the new version does not serve is found before a node is touched, with the addon and the version to use.
func TestVersionsThatAddonsUseAreServed(t *testing.T) {
	object := func(api, kind string) []kubeapi.Object {
		return []kubeapi.Object{{APIVersion: api, Kind: kind, Name: "web/a"}}
	}
	for name, c := range map[string]struct {
		version string
		objects []kubeapi.Object
		change  func(*Input)
		role    bundle.Role
		want    []string
	}{
		"served": {"v1.34.2", object("policy/v1", "PodDisruptionBudget"), nil, cpRole, nil},
		"removed": {"v1.34.2", object("policy/v1beta1", "PodDisruptionBudget"), nil, cpRole,
			[]string{"error addon.api-replaced"}},
		"removed by this minor": {"v1.32.1", object("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"), nil, cpRole,
			[]string{"error addon.api-replaced"}},
		"by the next minor": {"v1.31.1", object("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"), nil, cpRole,
			nil},
		"not there yet": {"v1.33.1", object("resource.k8s.io/v1", "ResourceClaim"), nil, cpRole,
			[]string{"error addon.api-later"}},
		"on demand": {"v1.34.2", object("resource.k8s.io/v1beta1", "ResourceClaim"), nil, cpRole,
			[]string{"warning addon.api-off"}},
		"enabled": {"v1.34.2", object("resource.k8s.io/v1beta1", "ResourceClaim"), func(in *Input) {
			in.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kube-apiserver",
				Args: map[string]string{"--runtime-config": "resource.k8s.io/v1beta1=true"}}}
		}, cpRole, nil},
		"of an upgrade that is continued": {"v1.34.2", object("policy/v1beta1", "PodDisruptionBudget"),
			func(in *Input) { in.Upgrade = &Upgrading{Continues: true} }, cpRole,
			[]string{"warning addon.api-replaced"}},
		"for workers": {"v1.34.2", object("policy/v1beta1", "PodDisruptionBudget"), nil, workerRole, nil},
		"custom":      {"v1.34.2", object("example.com/v1beta1", "Thing"), nil, cpRole, nil},
		"unreadable":  {"v1.34.2", nil, nil, cpRole, nil},
	} {
		in := newInput()
		in.Cluster.Addons = []config.Addon{{Filename: "x.yaml"}}
		in.Manifest = func(_ input.Bundle, file string) ([]kubeapi.Object, error) {
			if c.objects == nil || file != "x.yaml" {
				return nil, errors.ErrUnsupported
			}
			return c.objects, nil
		}
		if c.change != nil {
			c.change(in)
		}
		m := nodestest.Manifest()
		m.Kubernetes = c.version
		found := onBundle(in, []Check{checkAddonAPIs()}, Source{Bundle: nodestest.Box{Is: m},
			Roles: []bundle.Role{c.role}})
		if got := nodestest.Codes(found); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for _, f := range found {
			if f.Fault.Args["addon"] != "x.yaml" || f.Fault.Args["version"] != c.version {
				t.Errorf("%s: %v", name, f.Fault.Args)
			}
		}
	}
}
