package takeover

import (
	"embed"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
)

// made is what kubeadm v1.34.2 has made: kubeadm init phase control-plane all and etcd local, the ConfigMaps of
// addon kube-proxy and kubelet-config.
//
//go:embed testdata
var made embed.FS

func file(t *testing.T, name string) string {
	t.Helper()
	data, err := made.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cluster is one as kubeadm makes it: a control plane and a worker.
func cluster(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{Config: file(t, "kubeadm-config.yaml"), Proxy: file(t, "kube-proxy.yaml"),
		Kubelet: file(t, "kubelet-config.yaml"), DaemonSets: []string{"kube-proxy", "kube-flannel-ds"},
		DNS:     DNS{Address: "10.96.0.10", Replicas: 2, Corefile: file(t, "Corefile")},
		Servers: []Server{server(t, "m1")},
		Nodes:   []corev1.Node{aNode("m1", "192.0.2.11", true), aNode("w1", "192.0.2.21", false)}}
	return c
}

func server(t *testing.T, name string) Server {
	t.Helper()
	s := Server{Node: name, Manifests: map[string][]byte{}, PKI: map[string][]byte{}}
	for _, c := range []string{etcd, apiServer, controller, scheduler} {
		s.Manifests[c+".yaml"] = []byte(file(t, c+".yaml"))
	}
	for _, name := range Secrets() {
		s.PKI[name] = []byte(name + "\n")
	}
	return s
}

// second is a cluster with another control plane, which kubeadm join has made.
func second(t *testing.T) *Cluster {
	t.Helper()
	c := cluster(t)
	c.Nodes = append(c.Nodes, aNode("m2", "192.0.2.12", true))
	c.Servers = append(c.Servers, server(t, "m2"))
	for name, data := range c.Servers[1].Manifests {
		c.Servers[1].Manifests[name] = []byte(onM2(string(data)))
	}
	return c
}

func aNode(name, ip string, master bool) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{},
		Annotations: map[string]string{
			"kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock",
		}}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name},
		{Type: corev1.NodeInternalIP, Address: ip}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{Architecture: "amd64", ContainerRuntimeVersion: "containerd://1.7.27"}
	if master {
		n.Labels[controlPlaneLabel] = ""
		n.Spec.Taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func wanted() Wanted {
	return Wanted{Name: "prod", User: "ops", Key: "/home/ops/.ssh/id", Port: 2222, SudoPW: "prompt",
		Bundles: map[string]string{"amd64": "/srv/amd64.tar.gz", "arm64": "/srv/arm64.tar.gz"}}
}

// found are the codes of the findings, each with the first argument that tells it from others.
func found(t *Taken) string {
	var out []string
	for _, f := range t.Findings {
		out = append(out, string(f.Severity)+" "+f.Fault.Code)
	}
	return strings.Join(out, ", ")
}

// What kubeadm makes is kept whole: nothing is found, and deploy.yaml says what the cluster is.
func TestAClusterAsKubeadmMakesIt(t *testing.T) {
	taken := cluster(t).Take(wanted())
	if got := found(taken); got != "" {
		t.Error(got)
	}
	if got, want := string(taken.Text), file(t, "deploy.yaml"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c, problems := config.Load(taken.Text, "deploy.yaml")
	if c == nil || problems.HasErrors() {
		t.Fatal(problems)
	}
	if !c.ByKubeadm() || len(c.Nodes) != 2 || c.PodCIDR.String() != "10.244.0.0/16" || c.ExtraArgs != nil {
		t.Errorf("%+v", c)
	}
	if len(taken.PKI) != len(Secrets())+1 || string(taken.PKI["etcd/ca.key"]) != "etcd/ca.key\n" {
		t.Errorf("%q", taken.PKI)
	}
}

// with replaces words of a control plane's manifest.
func with(component, old, fresh string) func(*Cluster) {
	return func(c *Cluster) {
		m := c.Servers[0].Manifests
		m[component+".yaml"] = []byte(strings.Replace(string(m[component+".yaml"]), old, fresh, 1))
	}
}

func both(changes ...func(*Cluster)) func(*Cluster) {
	return func(c *Cluster) {
		for _, change := range changes {
			change(c)
		}
	}
}

// What differs from what kubeadm makes is kept, named or refused.
func TestWhatDiffersIsKeptNamedOrRefused(t *testing.T) {
	const flag = "    - --allow-privileged=true\n"
	config1 := func(old, fresh string) func(*Cluster) {
		return func(c *Cluster) { c.Config = strings.Replace(c.Config, old, fresh, 1) }
	}
	for name, x := range map[string]struct {
		change func(*Cluster)
		found  string
		text   string // in deploy.yaml
	}{
		"a flag that is the user's": {with(apiServer, flag, flag+"    - --max-requests-inflight=800\n"), "",
			"- name: kube-apiserver\n    extra-args:\n      --max-requests-inflight: \"800\""},
		"a flag of etcd": {with(etcd, "--snapshot-count=10000", "--snapshot-count=5000"), "",
			"ETCD_SNAPSHOT_COUNT: \"5000\""},
		"more admission plugins": {with(apiServer, "=NodeRestriction\n", "=NodeRestriction,PodNodeSelector\n"), "",
			"--enable-admission-plugins: NodeRestriction,PodNodeSelector"},
		"a flag that holds the cluster together": {with(apiServer, "--secure-port=6443", "--secure-port=8443"),
			"error import.flag", ""},
		"an unknown flag":       {with(scheduler, "--leader-elect=true", "--no-such-flag=1"), "error import.flag", ""},
		"etcd's data elsewhere": {with(etcd, "--data-dir=/var/lib/etcd", "--data-dir=/data"), "error import.flag", ""},
		"a flag twice":          {with(apiServer, flag, flag+flag), "error import.flag-twice", ""},
		"no manifest": {func(c *Cluster) { delete(c.Servers[0].Manifests, "etcd.yaml") },
			"error import.no-manifest", ""},
		"something else": {with(scheduler, "- kube-scheduler\n", "- sh\n"), "error import.manifest", ""},
		"a volume of two files": {both(with(scheduler, "    - --leader-elect=true\n",
			"    - --leader-elect=true\n    - --tls-sni-cert-key=/srv/a.crt,/srv/a.key\n"),
			with(scheduler, "  volumes:\n", "  volumes:\n  - {name: a, hostPath: {path: /srv/a.crt}}\n"),
			with(scheduler, "    volumeMounts:\n", "    volumeMounts:\n    - {name: a, mountPath: /srv/a.crt}\n")), "",
			"--tls-sni-cert-key: /srv/a.crt,/srv/a.key"},
		"a volume that a flag seems to name": {both(with(scheduler, "    - --leader-elect=true\n",
			"    - --leader-elect=true\n    - --authorization-always-allow-paths=/srv\n"),
			with(scheduler, "  volumes:\n", "  volumes:\n  - {name: a, hostPath: {path: /srv}}\n"),
			with(scheduler, "    volumeMounts:\n", "    volumeMounts:\n    - {name: a, mountPath: /srv}\n")),
			"error import.volume", ""},
		"a volume": {with(scheduler, "path: /etc/kubernetes/scheduler.conf", "path: /srv/x"),
			"error import.volume", ""},
		"a proxy": {with(controller, "    image:", "    env: [{name: HTTP_PROXY, value: x}]\n    image:"),
			"warning import.environment", ""},

		"kube-vip": {func(c *Cluster) { c.Servers[0].Manifests["kube-vip.yaml"] = nil },
			"warning import.static-pods", ""},
		"no kubeadm":     {func(c *Cluster) { c.Config = "" }, "error import.not-kubeadm", ""},
		"an old version": {config1("v1.34.2", "v1.28.0"), "error import.version", ""},
		"external etcd": {config1("local:\n    dataDir: /var/lib/etcd",
			"external:\n    endpoints: [https://x:2379]"),
			"error import.external-etcd", ""},
		"two address families": {config1("10.244.0.0/16", "10.244.0.0/16,fd00::/64"),
			"error import.dual-stack, error import.flag, warning import.setting", ""},
		"no network of pods": {config1("podSubnet: 10.244.0.0/16", "podSubnet: \"\""), "error import.no-pods", ""},
		"more names": {config1("apiServer: {}", "apiServer: {certSANs: [api.example.com, 192.0.2.99]}"),
			"", "dnsnames:\n    - api.example.com\n  ips:\n    - 192.0.2.99"},
		"a node without address": {func(c *Cluster) { c.Nodes[1].Status.Addresses = nil },
			"error import.no-address", ""},
		"no control plane": {func(c *Cluster) { c.Nodes[0].Labels = nil }, "error import.no-control-plane", ""},
		"CRI-O": {func(c *Cluster) { c.Nodes[1].Status.NodeInfo.ContainerRuntimeVersion = "cri-o://1.34" },
			"error import.runtime", ""},
		"two runtimes": {func(c *Cluster) { c.Nodes[1].Status.NodeInfo.ContainerRuntimeVersion = "docker://28.1" },
			"error import.runtime-differs", ""},
		"a socket of its own": {func(c *Cluster) {
			c.Nodes[1].Annotations["kubeadm.alpha.kubernetes.io/cri-socket"] = "unix:///run/x.sock"
		}, "error import.socket", ""},
		"an unknown plugin": {func(c *Cluster) { c.DaemonSets = nil }, "error import.plugin", ""},
		"no CoreDNS":        {func(c *Cluster) { c.DNS = DNS{} }, "warning import.no-dns", ""},
		"other servers of names": {func(c *Cluster) {
			c.DNS.Corefile = strings.Replace(c.DNS.Corefile, "/etc/resolv.conf", "192.0.2.53 192.0.2.54", 1)
		}, "", "dns-upstreams:\n    - 192.0.2.53\n    - 192.0.2.54"},
		"an endpoint without a port": {config1("controlPlaneEndpoint: 192.0.2.11:6443",
			"controlPlaneEndpoint: lb.example.com"), "", "apiserver-endpoint: lb.example.com:6443"},
		"no anonymous requests": {with(apiServer, flag, flag+"    - --anonymous-auth=false\n"),
			"error import.flag", ""},
		"networks that overlap": {func(c *Cluster) {
			c.Config = strings.Replace(c.Config, "serviceSubnet: 10.96.0.0/12", "serviceSubnet: 10.244.0.0/20", 1)
			with(apiServer, "10.96.0.0/12", "10.244.0.0/20")(c)
			with(controller, "10.96.0.0/12", "10.244.0.0/20")(c)
			c.DNS.Address = "10.244.0.10"
			c.Kubelet = strings.Replace(c.Kubelet, "10.96.0.10", "10.244.0.10", 1)
		}, "error import.rejected", ""},
		"servers of names over TLS": {func(c *Cluster) {
			c.DNS.Corefile = strings.Replace(c.DNS.Corefile, "/etc/resolv.conf", "tls://9.9.9.9", 1)
		}, "warning import.corefile", ""},
		"a stub domain": {func(c *Cluster) {
			c.DNS.Corefile = "consul.local:53 {\n    errors\n    forward . 10.150.0.1\n}\n" + c.DNS.Corefile
		}, "warning import.corefile", ""},
		"a policy in a directory": {func(c *Cluster) {
			with(apiServer, flag, flag+"    - --audit-policy-file=/etc/kubernetes/audit/policy.yaml\n")(c)
			with(apiServer, "    volumeMounts:\n", "    volumeMounts:\n    - {mountPath: /etc/kubernetes/audit, "+
				"name: audit}\n")(c)
			with(apiServer, "  volumes:\n",
				"  volumes:\n  - {hostPath: {path: /etc/kubernetes/audit}, name: audit}\n")(c)
		}, "", "--audit-policy-file: /etc/kubernetes/audit/policy.yaml"},
		"a zone of its own": {func(c *Cluster) { c.DNS.Corefile += "example.org:53 {\n    file db\n}\n" },
			"warning import.corefile", ""},
		"IPVS": {func(c *Cluster) {
			c.Proxy = strings.NewReplacer("mode: \"\"", "mode: ipvs", "strictARP: false",
				"strictARP: true").Replace(c.Proxy)
		}, "", "--ipvs-strict-arp: \"true\"\n      --proxy-mode: ipvs"},
		"a setting without a flag": {func(c *Cluster) {
			c.Proxy = strings.Replace(c.Proxy, "enableDSR: false", "enableDSR: true", 1)
		},

			"warning import.setting", ""},
		"no kube-proxy": {func(c *Cluster) { c.Proxy = "" }, "warning import.no-proxy", ""},
		"more pods":     {func(c *Cluster) { c.Kubelet += "maxPods: 250\n" }, "", "--max-pods: \"250\""},
		"thresholds": {func(c *Cluster) { c.Kubelet += "evictionHard: {memory.available: 500Mi}\n" }, "",
			"--eviction-hard: memory.available<500Mi"},
		"a setting of kubelets": {func(c *Cluster) {
			c.Kubelet += "shutdownGracePeriodByPodPriority: [{priority: 1}]\n"
		},
			"warning import.setting", ""},
		"no configuration of kubelets": {func(c *Cluster) { c.Kubelet = "" }, "warning import.no-kubelet-config", ""},
		"cgroupfs": {func(c *Cluster) {
			c.Kubelet = strings.Replace(c.Kubelet, "cgroupDriver: systemd", "cgroupDriver: cgroupfs", 1)
		},
			"error import.cgroup-driver", ""},
		"manifests elsewhere": {func(c *Cluster) {
			c.Kubelet = strings.Replace(c.Kubelet, "/etc/kubernetes/manifests", "/srv/m", 1)
		}, "error import.static-pod-path", ""},
		"no key of the CA": {func(c *Cluster) { delete(c.Servers[0].PKI, "ca.key") }, "error import.no-key", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t)
			x.change(c)
			taken := c.Take(wanted())
			if got := found(taken); got != x.found {
				t.Errorf("found %q, want %q", got, x.found)
			}
			if taken.Refused() != strings.Contains(x.found, "error") {
				t.Error("refused:", taken.Refused())
			}
			if !strings.Contains(string(taken.Text), x.text) {
				t.Errorf("%q is not in\n%s", x.text, taken.Text)
			}
			if _, problems := config.Load(taken.Text, "deploy.yaml"); !taken.Refused() && problems.HasErrors() {
				t.Error(problems)
			}
		})
	}
}

// Control planes have the same flags and the same keys.
func TestControlPlanesAreAlike(t *testing.T) {
	c := second(t)
	if got := found(c.Take(wanted())); got != "" {
		t.Error(got)
	}
	c.Servers[1].PKI["sa.key"] = []byte("another one\n")
	with(scheduler, "--leader-elect=true\n", "--leader-elect=true\n    - --kube-api-qps=80\n")(c)
	if got := found(c.Take(wanted())); got != "error import.flag-differs, error import.other-key" {
		t.Error(got)
	}
}

// Secrets that are not encrypted stay so: the API servers are restarted one after another, and all of them read what
// each writes.
func TestSecretsThatAreNotEncryptedStaySo(t *testing.T) {
	conf := string(cluster(t).Take(wanted()).PKI["encryption-config.yaml"])
	if !strings.HasSuffix(conf, "  providers:\n  - identity: {}\n") || strings.Contains(conf, "secretbox") {
		t.Error(conf)
	}
}

// The keys of secrets at rest come along; without them nobody could read the Secrets.
func TestSecretsAtRest(t *testing.T) {
	const conf = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
		"- resources: [secrets]\n" +
		"  providers:\n  - aescbc: {keys: [{name: a, secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}\n  - identity: {}\n"
	for name, x := range map[string]struct{ conf, found string }{
		"a key":   {conf, ""},
		"no file": {"", "error import.encryption"},
		"a plugin": {strings.Replace(conf, "aescbc: {keys: [{name: a, secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}",
			"kms: {name: a}", 1),
			"error import.encryption-kms"},
	} {
		c := cluster(t)
		const at = "/etc/kubernetes/enc/conf.yaml"
		const flag = "    - --allow-privileged=true\n"
		if x.found == "" { // as an argument of the command
			with(apiServer, flag, "    args:\n"+flag)(c)
		}
		with(apiServer, flag, flag+"    - "+EncryptionFlag+"="+at+"\n")(c)
		if got := EncryptionFile(c.Servers[0].Manifests["kube-apiserver.yaml"]); got != at {
			t.Error(got)
		}
		c.Servers[0].Encryption = []byte(x.conf)
		taken := c.Take(wanted())
		if got := found(taken); got != x.found {
			t.Errorf("%s: %q", name, got)
		}
		if x.found == "" && (string(taken.PKI["encryption-config.yaml"]) != conf ||
			strings.Contains(string(taken.Text), at)) {
			t.Errorf("%s\n%s", taken.PKI, taken.Text)
		}
	}
	c := cluster(t) // taken over: nothing was read, and nothing is said
	c.Servers[0].Ours = Pods()
	if taken := c.Take(wanted()); taken.PKI[encryptionName] != nil {
		t.Errorf("%s", taken.PKI[encryptionName])
	}
}
