package addon_test

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
)

func TestImagesOfAVersionOfKubernetes(t *testing.T) {
	for _, c := range []struct{ version, etcd, coredns, pause string }{
		{"v1.30.0", "3.5.12-0", "v1.11.1", "3.9"},
		{"1.30.4", "3.5.12-0", "v1.11.1", "3.9"},
		{"v1.30.14", "3.5.15-0", "v1.11.3", "3.9"},
		{"v1.31.13", "3.5.15-0", "v1.11.3", "3.10"},
		{"v1.31.14", "3.5.24-0", "v1.11.3", "3.10"},
		{"v1.32.9", "3.5.16-0", "v1.11.3", "3.10"},
		{"v1.33.6", "3.5.24-0", "v1.12.0", "3.10"},
		{"v1.34.1", "3.6.4-0", "v1.12.1", "3.10.1"},
		{"v1.34.2", "3.6.5-0", "v1.12.1", "3.10.1"},
		{"v1.35.4", "3.6.6-0", "v1.13.1", "3.10.1"},
		{"v1.36.3", "3.6.8-0", "v1.14.2", "3.10.2"},
	} {
		list, notes, err := addon.KubernetesImages(c.version)
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: %v %v", c.version, notes, err)
			continue
		}
		var all, pods []string
		for _, i := range list {
			if all = append(all, i.Name); !i.Kubeadm {
				pods = append(pods, i.Name)
			}
		}
		v := "v" + strings.TrimPrefix(c.version, "v")
		want := "registry.k8s.io/kube-apiserver:" + v + " registry.k8s.io/kube-controller-manager:" + v +
			" registry.k8s.io/kube-scheduler:" + v +
			" registry.k8s.io/kube-proxy:" + v + " registry.k8s.io/coredns/coredns:" + c.coredns +
			" registry.k8s.io/pause:" + c.pause +
			" registry.k8s.io/etcd:" + c.etcd
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%s: %s", c.version, got)
		}
		if got := strings.Join(pods, " "); got != "registry.k8s.io/coredns/coredns:"+c.coredns+
			" registry.k8s.io/pause:"+c.pause {
			t.Errorf("%s without kubeadm: %s", c.version, got)
		}
	}
	for version, want := range map[string]string{"v1.29.4": "addon.kubernetes-unknown",
		"v1.99.0": "addon.kubernetes-unknown",
		"v1.34":   "addon.kubernetes-version", "v1.36.0-rc.1": "addon.kubernetes-version",
		"v2.0.0": "addon.kubernetes-version", "": "addon.kubernetes-version"} {
		if _, _, err := addon.KubernetesImages(version); code(t, err) != want {
			t.Errorf("%s: %v", version, err)
		}
	}
	if _, notes, err := addon.KubernetesImages("v1.36.99"); err != nil || len(notes) != 1 ||
		notes[0].Args["known"] != "v1.36.3" {
		t.Errorf("a newer patch release: %v %v", notes, err)
	}
}
