// Package nodestest has nodes, facts and a bundle to test with, beneath what phasestest simulates, and reads units as
// systemd does.
package nodestest

import (
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
)

// Master is a control plane with a member of etcd.
func Master() config.Node {
	return config.Node{Name: "m1", IP: netip.MustParseAddr("192.0.2.11"), Port: 22, Arch: "amd64",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}
}

// Worker is a worker.
func Worker() config.Node {
	return config.Node{Name: "w1", IP: netip.MustParseAddr("192.0.2.21"), Port: 22, Arch: "amd64",
		Roles: []bundle.Role{bundle.Worker}}
}

// Manifest is that of a bundle for them, with no more than tests read.
func Manifest() *bundle.Manifest {
	return &bundle.Manifest{
		Name: "b", Arch: "amd64", Kubernetes: "v1.34.2",
		OS: bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"},
		Members: []bundle.Member{
			{Path: "containerd_1_amd64.deb", Kind: bundle.Deb, Name: "containerd", Version: "1.6.20~ds1-1+b1",
				Size: 10 << 20},
			{Path: "etcd", Kind: bundle.Binary, Name: "etcd", Dst: "/usr/local/bin", Mode: 0o755, Size: 20 << 20,
				Roles: []bundle.Role{bundle.Etcd}},
			{Path: "kube-apiserver", Kind: bundle.Binary, Name: "kube-apiserver", Dst: "/usr/local/bin", Mode: 0o755,
				Size: 80 << 20, Roles: []bundle.Role{bundle.ControlPlane}},
			{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Dst: "/usr/local/bin", Size: 60 << 20,
				Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}},
			{Path: "cni/bridge", Kind: bundle.Binary, Name: "cni", Dst: "/opt/cni/bin", Size: 4 << 20,
				Roles: []bundle.Role{bundle.Worker}},
			{Path: "cni/loopback", Kind: bundle.Binary, Name: "cni", Dst: "/opt/cni/bin", Size: 4 << 20,
				Roles: []bundle.Role{bundle.Worker}},
			{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml", Size: 4 << 10},
			{Path: "addons/metrics.yaml", Kind: bundle.Addon, Name: "metrics.yaml", Size: 4 << 10},
		},
		Images: []bundle.Image{
			{Name: "registry.k8s.io/pause:3.10.1", Digest: "sha256:aa", Size: 1 << 20,
				Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}},
			{Name: "registry.k8s.io/coredns/coredns:v1.12.1", Digest: "sha256:bb", Size: 20 << 20,
				Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}},
			{Name: "registry.k8s.io/e2e-test-images/agnhost:2.57", Digest: "sha256:cc", Size: 50 << 20,
				Roles: []bundle.Role{bundle.Worker}},
		},
		Install: []bundle.Package{{Name: "socat", Roles: []bundle.Role{bundle.Worker}},
			{Name: "containerd", Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}}},
	}
}

// Good are the facts of a machine with which nothing is wrong.
func Good(n config.Node) *facts.Facts {
	f := &facts.Facts{Arch: "amd64", OS: map[string]string{"ID": "debian", "VERSION_CODENAME": "bookworm",
		"PRETTY_NAME": "Debian"}, Systemd: true, Cgroup2: true, Conntrack: true, PkgManagers: []string{"apt-get"},
		Addresses: []string{"127.0.0.1", n.IP.String()}, Listening: map[int]string{},
		Free: map[string]facts.FreeSpace{}, MachineID: n.Name}
	for _, p := range facts.SpacePaths() {
		f.Free[p] = facts.FreeSpace{Device: "/dev/vda1", Bytes: 20 << 30}
	}
	return f
}
