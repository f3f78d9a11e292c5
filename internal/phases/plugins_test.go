package phases

import (
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// pluginRun is a run of a cluster with a network plugin whose manifest the bundle has.
func pluginRun(t *testing.T, network string, members ...bundle.Member) *run {
	t.Helper()
	r := componentRun(t, "network: "+network+"\n")
	m := manifest()
	for _, name := range []string{"calico.yaml", "cilium.yaml"} {
		m.Members = append(m.Members, bundle.Member{Path: "addons/" + name, Kind: bundle.Addon, Name: name})
	}
	m.Members = append(m.Members, members...)
	r.SetBundle("amd64", nodestest.Box{Is: m})
	return r
}

func TestTheManifestThatNetworkYamlPathNames(t *testing.T) {
	placed := bundle.Member{Path: "own/calico-own.yaml", Kind: bundle.ExtraFile, Name: "calico-own.yaml",
		Dst: "/etc/kubernetes/network", Roles: []bundle.Role{cpRole}}
	for at, want := range map[string]string{
		"/etc/kubernetes/addons/calico.yaml":      "addons/calico.yaml",
		"/etc/kubernetes/addons/kube-flannel.yml": "addons/kube-flannel.yml",
		"/etc/kubernetes/addons/absent.yaml":      "",
	} {
		r := pluginRun(t, "{plugin: calico, plugin-args: {NetworkYamlPath: "+at+"}}", placed)
		m := r.Bundle("amd64").Manifest()
		got, ok := r.AddonMember(m, r.AddonFiles(m)[0])
		if want == "" {
			if ok {
				t.Errorf("%s: %s", at, got)
			}
			if c := r.findings(t, preflight.Bundle(), master); !slices.Contains(c,
				"error bundle.no-addon") {
				t.Errorf("%s: %v", at, c)
			}
			continue
		}
		if got != want || !ok {
			t.Errorf("%s: %s", at, got)
		}
		if c := r.findings(t, preflight.Bundle(), master); len(c) > 0 {
			t.Errorf("%s: %v", at, c)
		}
	}
}

// A file that the packages place on the control plane can be the network's manifest.
func TestTheManifestThatPackagesBring(t *testing.T) {
	r := pluginRun(t, "{plugin: calico, plugin-args: {NetworkYamlPath: /etc/kubernetes/calico-own.yaml}}",
		bundle.Member{Path: "calico-own.yaml", Kind: bundle.ExtraFile, Name: "calico-own", Dst: "/etc/kubernetes",
			Roles: []bundle.Role{cpRole}})
	m := r.Bundle("amd64").Manifest()
	if got, ok := r.AddonMember(m, r.AddonFiles(m)[0]); !ok || got != "calico-own.yaml" {
		t.Errorf("%q", got)
	}
}
