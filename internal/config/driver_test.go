package config

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// TestTheImageThatKubeadmIsTold: a bundle may have an etcd for something else.
func TestTheImageThatKubeadmIsTold(t *testing.T) {
	const others = "quay.io/coreos/etcd:v3.5.9"
	for _, tc := range []struct {
		images []string
		want   string
	}{
		{[]string{others, "registry.k8s.io/etcd:3.6.5-0"}, "registry.k8s.io/etcd:3.6.5-0"},
		{[]string{others, "r.example/k8s/etcd:3.6.5-0", "r.example/k8s/kube-apiserver:v1.34.2"},
			"r.example/k8s/etcd:3.6.5-0"},
		{[]string{"registry.k8s.io/etcd:3.5.9-0", "r.example/k8s/kube-apiserver:v1.34.2", "r.example/k8s/etcd:3.6.5-0"},
			"r.example/k8s/etcd:3.6.5-0"},
		{[]string{others, "r.example/etcd:3.6.5-0"}, "r.example/etcd:3.6.5-0"},
		{[]string{others}, "registry.k8s.io/etcd"},
	} {
		m := &bundle.Manifest{Kubernetes: "v1.34.2"}
		for _, name := range tc.images {
			m.Images = append(m.Images, bundle.Image{Name: name})
		}
		if got := PodImage(m, "etcd"); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.images, got, tc.want)
		}
	}
}
