package kubeadm

import (
	"bytes"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver/binary"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
)

// Where things of the driver are on a node.
const (
	kubeDir   = "/etc/kubernetes"
	pkiDir    = kubeDir + "/pki"
	manifests = binary.Manifests
	ownDir    = binary.Aside             // configurations for kubeadm; manifests put aside, and former ones
	patches   = ownDir + "/patches"      // of manifests: what a member of etcd begins with, times
	version   = "kubeadm.k8s.io/v1beta4" // since Kubernetes 1.31
)

// revisionName is the variable in a container's environment that says what it was made with.
const revisionName = "EGGO_REVISION"

// manifest is the file of a static pod.
func manifest(c driver.Component) string { return manifests + "/" + string(c) + ".yaml" }

// confFile is the configuration that a static pod is made with.
func confFile(c driver.Component) string { return ownDir + "/kubeadm-" + string(c) + ".yaml" }

// image is the one of the bundle that a component runs from.
func image(m *bundle.Manifest, c driver.Component) string { return config.PodImage(m, string(c)) }

// digest tells builds of a component of one version apart.
func digest(m *bundle.Manifest, c driver.Component) string {
	name := image(m, c)
	for _, im := range m.Images {
		if im.Name == name {
			return im.Digest
		}
	}
	return ""
}

// doc is a document, or a part of one.
type doc = map[string]any

// arg is a flag, or a variable of the environment.
type arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func args(of map[string]string) []arg {
	out := []arg{}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, arg{k, of[k]})
	}
	return out
}

// configuration is what kubeadm makes the component's manifest with: the flags are those of the services. Without a
// revision it is what the revision is made of.
func (r *Kubeadm) configuration(c driver.Component, n config.Node, revision string) ([]byte, error) {
	cluster := r.cluster(n)
	part := doc{}
	var env []arg
	if revision != "" {
		env = []arg{{revisionName, revision}}
	}
	switch c {
	case driver.Etcd:
		repo, tag := config.SplitTag(image(r.BundleOf(n).Manifest(), c))
		settings, others := r.etcdFlags(n)
		part = doc{"dataDir": r.EtcdData(n.Name), "imageRepository": path.Dir(repo), "imageTag": tag,
			"extraArgs": args(settings), "extraEnvs": append(args(others), env...)}
		cluster["etcd"] = doc{"local": part}
	default:
		flags := r.flags(c, n)
		part["extraArgs"], part["extraEnvs"] = args(flags), env
		if v, err := r.volumes(c, n, flags); err != nil {
			return nil, err
		} else if len(v) > 0 {
			part["extraVolumes"] = v
		}
		cluster[map[driver.Component]string{driver.APIServer: "apiServer",
			driver.ControllerManager: "controllerManager", driver.Scheduler: "scheduler"}[c]] = part
	}
	initial := r.initial(n)
	if c == driver.Etcd || c == driver.APIServer {
		initial["patches"] = doc{"directory": patches}
	}
	return documents(initial, cluster)
}

// flags are those of a component that is a pod.
func (r *Kubeadm) flags(c driver.Component, n config.Node) map[string]string {
	if c == driver.Etcd {
		flags, _ := r.etcdFlags(n)
		return flags
	}
	return r.services.Flags(c, n)
}

// etcdFlags are the settings of a member as flags, and those that are no flags but variables of the environment:
// GOMAXPROCS, ETCD_UNSUPPORTED_ARCH.
func (r *Kubeadm) etcdFlags(n config.Node) (flags, env map[string]string) {
	flags, env = map[string]string{}, map[string]string{}
	for k, v := range r.services.EtcdSettings(n) {
		if name := config.EtcdFlag(k); name != "" {
			flags[name] = v
		} else {
			env[k] = v
		}
	}
	flags["data-dir"] = r.EtcdData(n.Name)
	return flags, env
}

// initial says which node it is.
func (r *Kubeadm) initial(n config.Node) doc {
	return doc{"apiVersion": version, "kind": "InitConfiguration",
		"localAPIEndpoint": doc{"advertiseAddress": n.IP.String(), "bindPort": 6443},
		"nodeRegistration": doc{"name": n.Name, "criSocket": r.RuntimeEndpoint()}}
}

// cluster is what is the same for every component.
func (r *Kubeadm) cluster(n config.Node) doc {
	m := r.BundleOf(n).Manifest()
	repo, _ := config.SplitTag(image(m, driver.APIServer))
	return doc{"apiVersion": version, "kind": "ClusterConfiguration", "clusterName": r.Cluster.Name,
		"kubernetesVersion": m.Kubernetes, "controlPlaneEndpoint": r.Cluster.Endpoint, "certificatesDir": pkiDir,
		"imageRepository": path.Dir(repo),
		"networking": doc{"dnsDomain": r.Cluster.DNSDomain, "podSubnet": r.Cluster.PodCIDR.String(),
			"serviceSubnet": r.Cluster.ServiceCIDR.String()}}
}

// documents renders documents one after another, keys sorted.
func documents(docs ...doc) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(layout.WrittenByEggo)
	for i, d := range docs {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := yaml.Marshal(d)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}
