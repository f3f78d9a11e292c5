package config

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// The drivers: the components of the control plane are services, or static pods that kubeadm makes.
const (
	DriverBinary  = "binary"
	DriverKubeadm = "kubeadm"
)

// OldestKubeadm is the oldest minor version of Kubernetes whose kubeadm reads the configuration that is written for it.
const OldestKubeadm = 31

// ByKubeadm reports whether the control plane is static pods.
func (c *Cluster) ByKubeadm() bool { return c.Eggo.Driver == DriverKubeadm }

// podComponents are those that are pods with kubeadm, but for etcd.
func podComponents() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"}
}

// OfOtherDriver reports whether the driver has no use for a binary of a bundle: a bundle may have what both need.
func (c *Cluster) OfOtherDriver(binary string) bool {
	if c.ByKubeadm() {
		return slices.Contains(podComponents(), binary)
	}
	return binary == DriverKubeadm
}

// WithoutImage reports whether no component runs from an image of a bundle: with services it is one of those that
// kubeadm asks for.
func (c *Cluster) WithoutImage(name string) bool {
	repo, _ := SplitTag(name)
	base := path.Base(repo)
	return !c.ByKubeadm() && (base == "etcd" || slices.Contains(podComponents(), base))
}

// kubeadmRepository is where kubeadm takes its images from unless its configuration names another repository.
const kubeadmRepository = "registry.k8s.io"

// PodImage is the image of a bundle that a component runs from as a pod; where the bundle has none, the name under
// which kubeadm asks for it. etcd has versions of its own: its configuration names the one of the bundle. That is the
// one beside the API server's image: a bundle may have an etcd of others, as of an addon.
func PodImage(m *bundle.Manifest, component string) string {
	find := func(fits func(dir, tag string) bool) string {
		for _, im := range m.Images {
			repo, tag := SplitTag(im.Name)
			if path.Base(repo) == component && fits(path.Dir(repo), tag) {
				return im.Name
			}
		}
		return ""
	}
	if component != "etcd" {
		return cmp.Or(find(func(_, tag string) bool { return tag == m.Kubernetes }),
			kubeadmRepository+"/"+component+":"+m.Kubernetes)
	}
	repo, _ := SplitTag(PodImage(m, "kube-apiserver"))
	return cmp.Or(find(func(dir, _ string) bool { return dir == path.Dir(repo) }),
		find(func(dir, _ string) bool { return dir == kubeadmRepository }),
		find(func(_, tag string) bool { return kubeadmEtcd.MatchString(tag) }), kubeadmRepository+"/"+component)
}

// kubeadmEtcd is a tag of etcd's image as kubeadm has it: version and build. Those of etcd itself begin with v.
var kubeadmEtcd = regexp.MustCompile(`\A\d+\.\d+\.\d+-\d+\z`)

// EtcdVersion is the version of etcd that a member runs in, of a bundle; "" when the bundle does not say.
func (c *Cluster) EtcdVersion(n Node, m *bundle.Manifest) string {
	if slices.Contains(c.PodComponents(n), "etcd") {
		_, tag := SplitTag(PodImage(m, "etcd"))
		version, _, _ := strings.Cut(tag, "-") // 3.6.5-0 is the image's first build
		return version
	}
	for _, x := range m.Members {
		if x.Kind == bundle.Binary && (x.Name == "etcd" || path.Base(x.Path) == "etcd") {
			return x.Version
		}
	}
	return ""
}

// SplitTag is the repository of an image and its tag, without a digest.
func SplitTag(name string) (repo, tag string) {
	name, _, _ = strings.Cut(name, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// PodComponents are those that are pods on a machine of the roles.
func (c *Cluster) PodComponents(n Node) []string {
	var out []string
	if !c.ByKubeadm() {
		return nil
	}
	if n.Has(bundle.ControlPlane) && n.Has(bundle.Etcd) {
		out = append(out, "etcd")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, podComponents()[:3]...)
	}
	if n.Has(bundle.ControlPlane) || n.Has(bundle.Worker) {
		out = append(out, "kube-proxy")
	}
	return out
}

// PodImages are the images that the components of the cluster run from on machines of the bundle's architecture.
func (c *Cluster) PodImages(m *bundle.Manifest) []string {
	var out []string
	for _, n := range c.Nodes {
		if n.Arch != m.Arch {
			continue
		}
		for _, name := range c.PodComponents(n) {
			if im := PodImage(m, name); !slices.Contains(out, im) {
				out = append(out, im)
			}
		}
	}
	return out
}

// ServerFlag is what config-extra-args has for a flag of the API server.
func (c *Cluster) ServerFlag(name string) (value string, is bool) {
	for _, e := range c.ExtraArgs {
		if e.Component == "kube-apiserver" {
			value, is = e.Args[name]
		}
	}
	return value, is
}

// checkDriver refuses what a driver cannot do. The file of --authentication-config is on the nodes: preflight reads it.
func (l *loader) checkDriver() {
	if !l.c.ByKubeadm() {
		return
	}
	if l.c.DNS.IsBinary() {
		l.errAt(l.where("service.dns.corednstype"), "service.dns.corednstype", "config.kubeadm-dns", "line",
			strconv.Itoa(l.where("eggo.driver").line))
	}
	value, _ := l.c.ServerFlag("--anonymous-auth")
	if on, err := strconv.ParseBool(value); err == nil && !on {
		l.errAt(l.where("config-extra-args"), "config-extra-args", "config.kubeadm-anonymous", "line",
			strconv.Itoa(l.where("eggo.driver").line))
	}
}
