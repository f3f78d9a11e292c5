package takeover

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
)

const morePlugins = ",LimitRanger,ServiceAccount,DefaultStorageClass,ResourceQuota"

// asOriginal is what the services of a node of the original eggo print.
const asOriginal = `unit etcd
arg /usr/bin/etcd
env ETCD_DATA_DIR=/var/lib/etcd/default.etcd
env ETCD_LISTEN_METRICS_URLS=https://192.0.2.11:2381
env ETCD_SNAPSHOT_COUNT=10000
env ETCD_INITIAL_CLUSTER=m1=https://192.0.2.11:2380
env ETCD_CERT_FILE=/etc/kubernetes/pki/etcd/server.crt
env ETCD_NAME=m1
version 3.6.5
unit kube-apiserver
arg /usr/bin/kube-apiserver
arg --enable-admission-plugins=NamespaceLifecycle,NodeRestriction` + morePlugins + `
arg --etcd-servers=https://192.0.2.11:2379
arg --secure-port=6443
sum service-account-signing-key-file 00
version v1.34.2
unit kube-controller-manager
arg /usr/bin/kube-controller-manager
arg --bind-address=0.0.0.0
arg --cluster-name=kubernetes
arg --v=2
unit kubelet
dropin /etc/systemd/system/kubelet.service.d/x.conf
arg /usr/bin/kubelet
arg --config=/etc/kubernetes/kubelet_config.yaml
arg --kubeconfig=/etc/kubernetes/kubelet.kubeconfig
arg --bootstrap-kubeconfig=/etc/kubernetes/kubelet-bootstrap.kubeconfig
arg --register-node=true
arg --hostname-override=m1
arg --container-runtime-endpoint=unix:///run/containerd/containerd.sock
arg --v=2
file /etc/kubernetes/kubelet_config.yaml
conf kind: KubeletConfiguration
conf authentication: {anonymous: {enabled: false}}
conf rotateCertificates: true
conf cgroupDriver: cgroupfs
conf runtimeRequestTimeout: "15m"
conf 
unit kube-proxy
arg /usr/bin/kube-proxy
arg --config=/etc/kubernetes/kube-proxy-config.yaml
arg --hostname-override=m1
arg --v=2
file /etc/kubernetes/kube-proxy-config.yaml
conf kind: KubeProxyConfiguration
conf clientConnection: {kubeconfig: /etc/kubernetes/kube-proxy.conf}
conf clusterCIDR: 10.200.0.0/16
conf mode: "iptables"
`

func ofEggo(component string) Original {
	return Original{KubeletOf: KubeletOf{Node: "m1", IP: "192.0.2.11"}, Ours: map[string]map[string]string{
		"etcd":           {"ETCD_NAME": "m1"},
		"kube-apiserver": {"secure-port": "6443"},
	}[component], Conf: map[string]string{
		"kubelet": "authentication: {anonymous: {enabled: false}}\nrotateCertificates: true\n" +
			"cgroupDriver: systemd\n",
		"kube-proxy": "clusterCIDR: 10.200.0.0/16\nmode: iptables\n",
	}[component], Has: func(c string, f KubeletFlag) bool {
		return c == "kubelet" && f.String() == "--max-pods=90" || c == "etcd" && f.Name == "ETCD_QUOTA_BACKEND_BYTES"
	}}
}

// What the original eggo writes is taken over; what somebody has changed, and deploy.yaml does not have, is lost.
func TestWhatServicesOfTheOriginalWouldLose(t *testing.T) {
	for name, c := range map[string]struct {
		old, fresh string
		flags      string
		settings   string
	}{
		"as it writes them": {},
		"a flag": {
			"arg --secure-port=6443",
			"arg --secure-port=6443\narg --event-ttl\narg 2h",
			"--event-ttl=2h", ""},
		"another value": {
			"--secure-port=6443",
			"--secure-port=8443",
			"--secure-port=8443", ""},
		"an admission plugin": {
			"=NamespaceLifecycle",
			"=PodNodeSelector",
			"--enable-admission-plugins=PodNodeSelector,NodeRestriction" + morePlugins, ""},
		"plugins in another order": {
			"NamespaceLifecycle,NodeRestriction",
			"NodeRestriction,NamespaceLifecycle",
			"", ""},
		"another kubeconfig": {
			"kubelet.kubeconfig",
			"other.kubeconfig",
			"--kubeconfig=/etc/kubernetes/other.kubeconfig", ""},
		"ours already": {
			"kubelet.kubeconfig",
			"kubelet.conf",
			"", ""},
		"static pods": {
			"arg --register-node=true",
			"arg --pod-manifest-path=/etc/kubernetes/manifests",
			"--pod-manifest-path=/etc/kubernetes/manifests", ""},
		"another socket": {
			"unix:///run/containerd/containerd.sock",
			"unix:///run/crio.sock",
			"--container-runtime-endpoint=unix:///run/crio.sock", ""},
		"a flag of deploy.yaml": {
			"arg --register-node=true",
			"arg --max-pods=90",
			"", ""},
		"a variable": {
			"env ETCD_NAME=m1",
			"env ETCD_HEARTBEAT_INTERVAL=500",
			"ETCD_HEARTBEAT_INTERVAL=500", ""},
		"a variable of deploy.yaml": {
			"env ETCD_NAME=m1",
			"env ETCD_QUOTA_BACKEND_BYTES=9",
			"", ""},
		"a flag of etcd": {
			"arg /usr/bin/etcd",
			"arg /usr/bin/etcd\narg --election-timeout=5000",
			"ETCD_ELECTION_TIMEOUT=5000", ""},
		"data elsewhere": {
			"=/var/lib/etcd/default.etcd",
			"=/data",
			"", ""}, // told otherwise
		"from our unit": {
			"/etc/kubernetes/pki/etcd/server.crt",
			"/run/credentials/etcd.service/server.crt",
			"", ""},
		"another name": {
			"arg --hostname-override=m1\narg --v=2\nfile",
			"arg --hostname-override=x\narg --v=2\nfile",
			"--hostname-override=x", ""},
		"a setting": {
			"conf rotateCertificates: true",
			"conf maxPods: 110",
			"", "maxPods: 110"},
		"a setting of deploy.yaml": {
			"conf rotateCertificates: true",
			"conf maxPods: 90",
			"", ""},
		"static pods of the file": {
			"conf rotateCertificates: true",
			"conf staticPodPath: /srv",
			"", "staticPodPath: /srv"},
		"a socket of the file": {
			"conf rotateCertificates: true",
			"conf containerRuntimeEndpoint: unix:///run/x.sock",
			"", "containerRuntimeEndpoint: unix:///run/x.sock"},
		"IPVS": {
			`conf mode: "iptables"`,
			"conf mode: ipvs",
			"", "mode: ipvs"},
		"no mode": {
			`conf mode: "iptables"`,
			`conf mode: ""`,
			"", ""},
		"another network": {
			"conf clusterCIDR: 10.200.0.0/16",
			"conf clusterCIDR: 10.0.0.0/8",
			"", "clusterCIDR: 10.0.0.0/8"},
		"a setting of kube-proxy": {
			"conf clusterCIDR: 10.200.0.0/16",
			"conf nodePortAddresses: [10.0.0.0/8]",
			"", "nodePortAddresses: 10.0.0.0/8"},
	} {
		var flags, settings []string
		for _, s := range Services(strings.Replace(asOriginal, c.old, c.fresh, 1)) {
			if !s.Observed {
				t.Errorf("%s: %+v", name, s)
			}
			f, x := ofEggo(s.Name).Lost(s)
			flags, settings = append(flags, f...), append(settings, x...)
		}
		if strings.Join(flags, " ") != c.flags || strings.Join(settings, " ") != c.settings {
			t.Errorf("%s: %q %q, want %q %q", name, flags, settings, c.flags, c.settings)
		}
	}
}

// What a node prints is understood, and what is not there is nothing.
func TestServicesAsANodePrintsThem(t *testing.T) {
	all := Services(asOriginal)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, strings.Fields("etcd kube-apiserver kube-controller-manager kubelet kube-proxy")) {
		t.Fatal(names)
	}
	if all[0].Version != "3.6.5" || all[1].KeySums["service-account-signing-key-file"] != "00" ||
		!slices.Equal(all[3].DropIns, []string{"/etc/systemd/system/kubelet.service.d/x.conf"}) ||
		all[4].File != "/etc/kubernetes/kube-proxy-config.yaml" {
		t.Errorf("%+v", all)
	}
	if s := Services("unit etcd\n"); len(s) != 1 || s[0].Name != "etcd" || s[0].Observed {
		t.Errorf("%+v", s)
	}
	s := Services("unit etcd\nmain 7\nunit kubelet\nswap /etc/fstab\nmain 8\narg /usr/bin/kubelet\n")
	if len(s) != 2 || !s[0].Hidden || s[0].Swap || s[1].Hidden || !s[1].Swap || !s[1].Observed {
		t.Errorf("%+v", s)
	}
	if got := Units([]string{"/etc/systemd/system/etcd.service", "/etc/systemd/system/eggo-lb.service",
		"/etc/systemd/system/kubelet.service"}); !slices.Equal(got, []string{"etcd", "kubelet"}) {
		t.Errorf("%q", got)
	}
	private, public := aKey(t)
	s = Services("unit kube-apiserver\npub " + strings.ReplaceAll(strings.TrimSpace(string(public)), "\n", "\npub ") +
		"\n")
	if len(s) != 1 || !pki.IsPublic(private, []byte(s[0].Public)) {
		t.Errorf("%+v", s)
	}
	s = Services("unit etcd\narg /usr/bin/etcd\nvar GOGC\nvar GOMAXPROCS\nvar HTTPS_PROXY\n")
	o := Original{Ours: map[string]string{"GOGC": "50"}}
	if len(s) != 1 || !slices.Equal(o.LostVars(s[0]), []string{"HTTPS_PROXY"}) {
		t.Errorf("%+v", s)
	}
	if s := Services("arg --x\nversion 1\n"); len(s) != 0 {
		t.Errorf("%+v", s)
	}
}
