package takeover

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Pods are the components that kubeadm runs as static pods.
func Pods() []string { return []string{etcd, apiServer, controller, scheduler} }

// manifests reads the static pods of all control planes. What Eggo would write otherwise is kept, or refused.
func (t *taking) manifests() {
	for _, component := range Pods() {
		var first map[string]string
		var of string // the node that has them
		for _, s := range t.Servers {
			if slices.Contains(s.Ours, component) {
				continue
			}
			flags, pod := t.pod(s, component)
			if pod == nil {
				continue
			}
			own := t.own(s.Node, component, flags)
			if first == nil {
				first, of = own, s.Node
			} else if name := differs(first, own); name != "" {
				t.refuse(s.Node, "import.flag-differs", "flag", name, "component", component, "other", of)
			}
			t.parts(s.Node, component, s.Manifests[component+".yaml"])
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
		if !slices.Contains(Pods(), strings.TrimSuffix(file, ".yaml")) {
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
	for _, name := range sorted(flags) {
		value := flags[name]
		if t.isMade(node, component, name, value) {
			continue
		}
		if component == apiServer && name == EncryptionFlag {
			out[name] = value
			continue
		}
		refused := config.RefusesFlag(component, nameOf(component, name), value) ||
			component == apiServer && name == "--anonymous-auth" && value == "false" // kubeadm's probes are anonymous
		if refused {
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

// alone are flags that name a file which names no others: Eggo mounts it without its directory.
var alone = []string{"--audit-policy-file", "--authentication-config", "--oidc-ca-file", "--tracing-config-file",
	EncryptionFlag}

// volumes refuses what the pod sees of the node and would not see any more: beside kubeadm's own, Eggo mounts what
// flags name.
func (t *taking) volumes(node, component string, p *corev1.Pod, own map[string]string) {
	named := map[string]bool{}
	for name, value := range own {
		for _, at := range config.FlagPaths(component, strings.TrimPrefix(name, "--"), value) {
			named[at.Path] = true
			if slices.Contains(alone, name) {
				named[path.Dir(at.Path)] = true
			}
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
	c := p.Spec.Containers[0]
	for _, w := range slices.Concat(c.Command, c.Args) {
		if at, is := strings.CutPrefix(w, EncryptionFlag+"="); is && path.IsAbs(at) {
			return path.Clean(at)
		}
	}
	return ""
}
