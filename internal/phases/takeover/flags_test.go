package takeover

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No flag of a control plane gets lost: with any other value than the one that kubeadm sets it is kept or refused. Only
// what a member of etcd reads at its first start has no effect any more.
func TestEveryFlagOfKubeadmWithAnotherValue(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	flag := regexp.MustCompile(`(?m)^    - (--[a-z-]+)=(.*)$`)
	for _, component := range []string{etcd, apiServer, controller, scheduler} {
		for _, m := range flag.FindAllStringSubmatch(file(t, component+".yaml"), -1) {
			name, value := m[1], m[2]
			other := value + "x"
			switch {
			case value == "true":
				other = "false"
			case name == "--snapshot-count":
				other = "5000"
			case name == "--watch-progress-notify-interval":
				other = "7s"
			}
			c := cluster(t)
			with(component, "    - "+name+"="+value+"\n", "    - "+name+"="+other+"\n")(c)
			taken := c.Take(wanted())
			kept := strings.Contains(string(taken.Text), "    "+nameOf(component, name)+": ")
			if lost := !taken.Refused() && !kept; lost != (name == "--initial-cluster") {
				t.Errorf("%s %s=%s: %q\n%s", component, name, other, found(taken), taken.Text)
			}
		}
	}
}

// What kubeadm writes on a cluster with other networks, another domain and another control plane is what it expects.
func TestFlagsFollowTheCluster(t *testing.T) {
	c := second(t)
	c.Kubelet = strings.Replace(c.Kubelet, "cluster.local", "k8s.example", 1)
	c.Kubelet, c.DNS.Address = strings.Replace(c.Kubelet, "10.96.0.10", "10.30.0.10", 1), "10.30.0.10"
	c.Proxy = strings.Replace(c.Proxy, "10.244.0.0/16", "10.20.0.0/16", 1)
	c.Config = strings.NewReplacer("10.244.0.0/16", "10.20.0.0/16", "10.96.0.0/12", "10.30.0.0/16", "cluster.local",
		"k8s.example", "clusterName: kubernetes", "clusterName: blue").Replace(c.Config)
	for _, s := range c.Servers {
		for name, data := range s.Manifests {
			s.Manifests[name] = []byte(strings.NewReplacer("10.244.0.0/16", "10.20.0.0/16", "10.96.0.0/12",
				"10.30.0.0/16", "cluster.local", "k8s.example", "=kubernetes\n", "=blue\n").Replace(string(data)))
		}
	}
	if got := found(c.Take(wanted())); got != "" {
		t.Error(got)
	}
	with(apiServer, "10.30.0.0/16", "10.31.0.0/16")(c)
	with(etcd, "--listen-metrics-urls=http://127.0.0.1:2381", "--listen-metrics-urls=http://0.0.0.0:2381")(c)
	taken := c.Take(wanted())
	codes := strings.Split(found(taken), ", ")
	slices.Sort(codes)
	if got := strings.Join(codes, ", "); got != "error import.flag, error import.flag-differs" {
		t.Error(got)
	}
	if !strings.Contains(string(taken.Text), "ETCD_LISTEN_METRICS_URLS: http://0.0.0.0:2381") {
		t.Errorf("%s", taken.Text)
	}
}

// onM2 is a manifest of m1 as kubeadm join writes it on m2.
func onM2(text string) string {
	return strings.NewReplacer("--initial-cluster=m1=https://192.0.2.11:2380", "--initial-cluster=m1=https://"+
		"192.0.2.11:2380,m2=https://192.0.2.12:2380\n    - --initial-cluster-state=existing", "--name=m1", "--name=m2",
		"192.0.2.11", "192.0.2.12").Replace(text)
}
