package takeover

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// manifests reads the static pods of all control planes. What Eggo would write otherwise is kept, or refused.
func (t *taking) manifests() {
	for _, component := range []string{etcd, apiServer, controller, scheduler} {
		first := map[string]string{}
		for i, s := range t.Servers {
			flags, pod := t.pod(s, component)
			if pod == nil {
				continue
			}
			own := t.own(s.Node, component, flags)
			if i == 0 {
				first = own
			} else if name := differs(first, own); name != "" {
				t.refuse(s.Node, "import.flag-differs", "flag", name, "component", component, "other",
					t.Servers[0].Node)
			}
			t.volumes(s.Node, component, pod, own)
			if env := environment(pod); len(env) > 0 {
				t.warn(s.Node, "import.environment", "component", component, "names", strings.Join(env, ", "))
			}
		}
		for _, name := range sorted(first) {
			if name != EncryptionFlag {
				t.keep(component, nameOf(component, name), first[name])
			}
		}
	}
	for _, s := range t.Servers {
		t.others(s)
	}
}

// others names static pods that kubeadm has not made: they stay as they are.
func (t *taking) others(s Server) {
	var names []string
	for _, file := range sorted(s.Manifests) {
		if !slices.Contains([]string{etcd, apiServer, controller, scheduler}, strings.TrimSuffix(file, ".yaml")) {
			names = append(names, event.Clean(file))
		}
	}
	if len(names) > 0 {
		t.warn(s.Node, "import.static-pods", "files", strings.Join(names, ", "))
	}
}

// pod is a component's manifest, and the flags in it; nil when it cannot be understood, which is a finding.
func (t *taking) pod(s Server, component string) (map[string]string, *corev1.Pod) {
	text, is := s.Manifests[component+".yaml"]
	if !is {
		t.refuse(s.Node, "import.no-manifest", "component", component)
		return nil, nil
	}
	var p corev1.Pod
	if err := yaml.Unmarshal(text, &p); err != nil || len(p.Spec.Containers) != 1 {
		t.refuse(s.Node, "import.manifest", "component", component)
		return nil, nil
	}
	c := p.Spec.Containers[0]
	words := append(slices.Clone(c.Command), c.Args...)
	if len(words) == 0 || path.Base(words[0]) != component {
		t.refuse(s.Node, "import.manifest", "component", component)
		return nil, nil
	}
	flags := map[string]string{}
	for _, w := range words[1:] {
		name, value, has := strings.Cut(w, "=")
		if !strings.HasPrefix(name, "--") {
			t.refuse(s.Node, "import.manifest", "component", component)
			return nil, nil
		}
		if !has {
			value = "true"
		}
		if _, twice := flags[name]; twice {
			t.refuse(s.Node, "import.flag-twice", "flag", event.Clean(name), "component", component)
		}
		flags[name] = value
	}
	return flags, &p
}

// own are the flags that are not as kubeadm sets them.
func (t *taking) own(node, component string, flags map[string]string) map[string]string {
	out := map[string]string{}
	made := t.made(component)
	for _, name := range sorted(flags) {
		value := flags[name]
		if usual, is := made[name]; is && (len(usual) == 0 || slices.Contains(usual, value)) {
			continue
		}
		if component == apiServer && name == EncryptionFlag {
			out[name] = value
			continue
		}
		if config.RefusesFlag(component, nameOf(component, name), value) {
			t.refuse(node, "import.flag", "flag", event.Clean(name), "value", event.Clean(value), "component",
				component)
			continue
		}
		out[name] = value
	}
	return out
}

// nameOf is a flag as config-extra-args has it: of etcd the variable of its environment.
func nameOf(component, flag string) string {
	if component != etcd {
		return flag
	}
	return "ETCD_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))
}

// made are the flags that kubeadm sets, with the values that it gives them; none: whatever it is, Eggo has the same
// from elsewhere.
func (t *taking) made(component string) map[string][]string {
	d := t.networks()
	out := map[string][]string{}
	any := func(names ...string) {
		for _, n := range names {
			out["--"+n] = nil
		}
	}
	switch component {
	case apiServer:
		any("advertise-address", "client-ca-file", "etcd-cafile", "etcd-certfile", "etcd-keyfile",
			"kubelet-client-certificate", "kubelet-client-key", "proxy-client-cert-file", "proxy-client-key-file",
			"requestheader-client-ca-file", "service-account-key-file", "service-account-signing-key-file",
			"service-cluster-ip-range", "tls-cert-file", "tls-private-key-file", "etcd-servers")
		out["--allow-privileged"], out["--enable-bootstrap-token-auth"] = []string{"true"}, []string{"true"}
		out["--authorization-mode"], out["--secure-port"] = []string{"Node,RBAC"}, []string{"6443"}
		out["--enable-admission-plugins"] = []string{"NodeRestriction"}
		out["--kubelet-preferred-address-types"] = []string{"InternalIP,ExternalIP,Hostname"}
		out["--requestheader-allowed-names"] = []string{"front-proxy-client"}
		out["--requestheader-extra-headers-prefix"] = []string{"X-Remote-Extra-"}
		out["--requestheader-group-headers"] = []string{"X-Remote-Group"}
		out["--requestheader-username-headers"] = []string{"X-Remote-User"}
		out["--service-account-issuer"] = []string{"https://kubernetes.default.svc." + d.Domain}
	case controller:
		any("authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig", "client-ca-file", "cluster-cidr",
			"cluster-signing-cert-file", "cluster-signing-key-file", "requestheader-client-ca-file", "root-ca-file",
			"service-account-private-key-file", "service-cluster-ip-range", "cluster-name")
		for _, name := range []string{"allocate-node-cidrs", "leader-elect", "use-service-account-credentials"} {
			out["--"+name] = []string{"true"}
		}
		out["--bind-address"] = []string{"127.0.0.1"}
		out["--controllers"] = []string{"*,bootstrapsigner,tokencleaner"}
	case scheduler:
		any("authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig")
		out["--bind-address"], out["--leader-elect"] = []string{"127.0.0.1"}, []string{"true"}
	case etcd:
		any("advertise-client-urls", "cert-file", "initial-advertise-peer-urls", "initial-cluster",
			"initial-cluster-state", "key-file", "listen-client-urls", "listen-metrics-urls", "listen-peer-urls",
			"name", "peer-cert-file", "peer-key-file", "peer-trusted-ca-file", "trusted-ca-file")
		for _, name := range []string{"client-cert-auth", "peer-client-cert-auth",
			"experimental-initial-corrupt-check"} {
			out["--"+name] = []string{"true"}
		}
		out["--data-dir"] = []string{"/var/lib/etcd"}
		out["--feature-gates"] = []string{"InitialCorruptCheck=true"}
		out["--snapshot-count"] = []string{"10000"}
		out["--watch-progress-notify-interval"] = []string{"5s"}
		out["--experimental-watch-progress-notify-interval"] = []string{"5s"}
	}
	return out
}

// volumes refuses what the pod sees of the node and would not see any more: beside kubeadm's own, Eggo mounts what
// flags name.
func (t *taking) volumes(node, component string, p *corev1.Pod, own map[string]string) {
	named := map[string]bool{}
	for name, value := range own {
		named[value] = true
		if strings.HasSuffix(name, "-log-path") {
			named[path.Dir(value)] = true
		}
	}
	mounts := map[string]string{}
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range p.Spec.Volumes {
		if usualVolume(v) || v.HostPath != nil && named[v.HostPath.Path] && mounts[v.Name] == v.HostPath.Path {
			continue
		}
		t.refuse(node, "import.volume", "volume", event.Clean(v.Name), "component", component)
	}
}

// usualVolume says whether kubeadm mounts it by itself.
func usualVolume(v corev1.Volume) bool {
	if v.HostPath == nil {
		return false
	}
	at := v.HostPath.Path
	for _, dir := range []string{"/etc/kubernetes/pki", "/etc/ssl", "/etc/pki", "/etc/ca-certificates",
		"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/var/lib/etcd"} {
		if at == dir || strings.HasPrefix(at, dir+"/") {
			return true
		}
	}
	return v.Name == "flexvolume-dir" || v.Name == "kubeconfig" && path.Dir(at) == "/etc/kubernetes"
}

// environment are the names of variables that the container gets.
func environment(p *corev1.Pod) []string {
	var out []string
	for _, e := range p.Spec.Containers[0].Env {
		out = append(out, event.Clean(e.Name))
	}
	return out
}

// differs is a flag that two control planes do not have alike; "" when there is none.
func differs(a, b map[string]string) string {
	for _, name := range sorted(a) {
		if v, is := b[name]; !is || v != a[name] {
			return event.Clean(name)
		}
	}
	for _, name := range sorted(b) {
		if _, is := a[name]; !is {
			return event.Clean(name)
		}
	}
	return ""
}

// EncryptionFile is the file with the configuration of secrets at rest that an API server's manifest names; "" when it
// names none.
func EncryptionFile(manifest []byte) string {
	var p corev1.Pod
	if yaml.Unmarshal(manifest, &p) != nil || len(p.Spec.Containers) == 0 {
		return ""
	}
	for _, w := range p.Spec.Containers[0].Command {
		if at, is := strings.CutPrefix(w, EncryptionFlag+"="); is && path.IsAbs(at) {
			return path.Clean(at)
		}
	}
	return ""
}
