package main

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestTheEtcdThatKubeadmWants: kubeadm makes a manifest whose flags are those of one minor version of etcd.
func TestTheEtcdThatKubeadmWants(t *testing.T) {
	c, ps := config.Load([]byte("cluster-id: mine\nmasters: [{name: m1, ip: 192.0.2.11}]\netcds: [{name: m1, ip: "+
		"192.0.2.11}]\npackage-src: {x86src: /b.tar.gz}\neggo: {driver: kubeadm}\n"), "deploy.yaml")
	if c == nil {
		t.Fatal(ps)
	}
	for _, tc := range []struct{ kubernetes, image, want string }{
		{"v1.34.2", "registry.k8s.io/etcd:3.6.5-0", ""},
		{"v1.34.2", "registry.k8s.io/etcd:3.6.6-0", ""},
		{"v1.34.2", "registry.k8s.io/etcd:3.6.4-0", "registry.k8s.io/etcd:3.6.5-0"},
		{"v1.34.2", "registry.k8s.io/etcd:3.5.24-0", "registry.k8s.io/etcd:3.6.5-0"},
		{"v1.34.2", "registry.k8s.io/etcd:latest", "registry.k8s.io/etcd:3.6.5-0"},
		{"v1.33.6", "registry.k8s.io/etcd:3.6.5-0", "registry.k8s.io/etcd:3.5.24-0"},
		{"v1.99.0", "registry.k8s.io/etcd:3.5.9-0", ""},
	} {
		m := &bundle.Manifest{Arch: "amd64", Kubernetes: tc.kubernetes, Images: []bundle.Image{
			{Name: "quay.io/coreos/etcd:v3.5.9"}, {Name: tc.image}}}
		is := ""
		(&offline{cluster: c}).parts(m, func(code string, kv ...string) {
			if code == "verify.no-image" && strings.Contains(strings.Join(kv, " "), "etcd") {
				t.Errorf("%s: %s %v", tc.image, code, kv)
			}
			if code == "verify.etcd-image" {
				is = event.NewFault(event.ClassBundle, code, nil, kv...).Args["want"]
			}
		})
		if is != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kubernetes, tc.image, is, tc.want)
		}
	}
}
