package config

import (
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// newLayout is the later layout: workers and install.
const newLayout = `cluster-id: k8s-cluster
username: root
private-key-path: /root/.ssh/id_rsa
masters:
- name: test0
  ip: 192.168.0.1
  port: 22
  arch: aarch64
workers:
- {name: test0, ip: 192.168.0.1, port: 22, arch: arm64}
- {name: test1, ip: 192.168.0.3, port: 22, arch: ARM64}
etcds:
- {name: test0, ip: 192.168.0.1, port: 22, arch: arm64}
network:
  podcidr: 10.244.0.0/16
  plugin: calico
  pluginargs: {"NetworkYamlPath": "/etc/kubernetes/addons/calico.yaml"}
runtime: iSulad
enable-kubelet-serving: false
open-ports:
  worker:
  - port: 111
    protocol: tcp
install:
  package-source:
    type: tar.gz
    dstpath: /root/.eggo
    srcpath:
      arm64: /root/packages-arm64.tar.gz
  etcd:
  - name: etcd
    type: pkg
  kubernetes-master:
  - name: kubernetes-client,kubernetes-master
    type: pkg
  kubernetes-worker:
  - name: docker-engine,kubernetes-client,kubernetes-node,kubernetes-kubelet
    type: pkg
  network:
  - name: containernetworking-plugins
    type: pkg
  container:
  - name: emacs
    type: bin
    dst: /usr/bin
  image:
  - name: pause.tar
    type: image
  dns:
  - name: coredns
    type: repo
  addition:
    master:
    - name: prejoin.sh
      type: shell
      schedule: prejoin
      timeout: 45s
    - name: https://example.com/calico.yaml
      type: yaml
    worker:
    - name: docker.service
      type: file
      dst: /usr/lib/systemd/system/
`

func TestLaterLayoutLoads(t *testing.T) {
	c, ps := Load([]byte(newLayout), "f")
	if c == nil {
		t.Fatal(dump(ps))
	}
	if len(c.Nodes) != 2 || len(c.Nodes[0].Roles) != 3 || c.Nodes[1].Arch != "arm64" {
		t.Errorf("nodes: %+v", c.Nodes)
	}
	var names []string
	for _, p := range c.Packages[bundle.ControlPlane] {
		names = append(names, p.Name+"/"+p.Type)
	}
	want := "kubernetes-client/pkg kubernetes-master/pkg containernetworking-plugins/pkg emacs/binary " +
		"pause.tar/image coredns/repo prejoin.sh/shell https://example.com/calico.yaml/yaml"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("packages of masters:\n got %s\nwant %s", got, want)
	}
	if sh := c.Packages[bundle.ControlPlane][6]; sh.Schedule != "prejoin" || sh.Timeout != 45*time.Second {
		t.Errorf("shell: %+v", sh)
	}
	if unit := c.Packages[bundle.Worker][7]; unit.Name != "docker.service" || unit.Dst != "/usr/lib/systemd/system" {
		t.Errorf("unit: %+v", unit)
	}
	if c.Source.Bundles["arm64"] != "/root/packages-arm64.tar.gz" || c.Runtime != "isulad" ||
		c.PluginArgs["NetworkYamlPath"] == "" || len(c.OpenPorts[bundle.Worker]) != 1 {
		t.Errorf("cluster: %+v", c)
	}
}

// Text of any look stays text where text is meant.
func TestTextStaysText(t *testing.T) {
	in := strings.Replace(minimal, "cluster-id: k8s\n",
		"cluster-id: 1e3\npassword: 0123456\netcd-token: 007\nservice: {dns: {imageversion: 1.10}}\n", 1)
	c, ps := Load([]byte(in), "f")
	if c == nil {
		t.Fatal(dump(ps))
	}
	if c.Name != "1e3" || c.SSH.Password != "0123456" || c.EtcdToken != "007" || c.DNS.ImageVersion != "1.10" {
		t.Errorf("%q %q %q %q", c.Name, c.SSH.Password, c.EtcdToken, c.DNS.ImageVersion)
	}
}

func TestDefaults(t *testing.T) {
	c, ps := Load([]byte("masters: [{name: m0, ip: 192.168.0.1, arch: x86_64}]\nnodes: [{name: w, ip: "+
		"192.168.0.2}]\nservice: {cidr: 10.96.0.0/12}\npackage-src: {x86src: a.tar.gz}\n"), "f")
	if c == nil || len(ps) > 0 {
		t.Fatal(dump(ps))
	}
	for name, pair := range map[string][2]string{
		"cluster-id": {c.Name, "k8s-cluster"}, "user": {c.SSH.User, "root"},
		"endpoint": {c.Endpoint, "192.168.0.1:6443"},
		"gateway":  {c.ServiceGateway.String(), "10.96.0.1"}, "dns": {c.DNSAddr.String(), "10.96.0.10"},
		"domain":  {c.DNSDomain, "cluster.local"},
		"runtime": {c.Runtime, "containerd"}, "socket": {c.RuntimeEndpoint, "unix:///run/containerd/containerd.sock"},
		"pods": {c.PodCIDR.String(), "10.244.0.0/16"}, "pause": {c.PauseImage, ""}, "coredns": {c.DNS.ImageVersion, ""},
		"dns type": {c.DNS.Type, "pod"}, "plugin": {c.NetworkPlugin, "flannel"}, "token": {c.EtcdToken, "etcd-cluster"},
		"cni":      {strings.Join(c.CNIBinDirs, ","), "/usr/libexec/cni,/opt/cni/bin"},
		"hostname": {c.Eggo.Hostname, "keep"}, "arch": {c.Nodes[0].Arch, "amd64"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", name, pair[0], pair[1])
		}
	}
	if !c.Nodes[0].Has(bundle.Etcd) || c.Nodes[0].Has(bundle.Worker) || c.LBPort != 0 || c.Nodes[0].Port != 22 {
		t.Errorf("nodes: %+v, balancer port %d", c.Nodes, c.LBPort)
	}
	if u := Unsupported(c); len(u) > 0 {
		t.Errorf("the defaults are refused:\n%s", dump(u))
	}
}

func TestEndpointDefaultsToTheLoadBalancer(t *testing.T) {
	c, ps := Load([]byte(minimal+"loadbalance: {name: lb, ip: 192.168.0.9, bind-port: 9443}\n"), "f")
	if c == nil {
		t.Fatal(dump(ps))
	}
	if c.Endpoint != "192.168.0.9:9443" || c.LBPort != 9443 || !c.Nodes[len(c.Nodes)-1].Has(bundle.LoadBalancer) {
		t.Errorf("endpoint %s, nodes %+v", c.Endpoint, c.Nodes)
	}
}
