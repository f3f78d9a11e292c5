package config

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// Cluster is a validated deploy.yaml of either layout.
type Cluster struct {
	Name     string // cluster-id
	SSH      SSH
	Nodes    []Node // machines, one per address, in the order masters, workers, etcds, load balancer
	Endpoint string // host:port that clients and nodes reach the API server at
	LBPort   int    // bind-port of the load balancer; 0 without one

	ServiceCIDR    netip.Prefix
	ServiceGateway netip.Addr // the kubernetes Service
	DNSAddr        netip.Addr
	DNSDomain      string
	DNS            DNS
	PodCIDR        netip.Prefix
	NetworkPlugin  string            // flannel, calico, …
	PluginArgs     map[string]string // NetworkYamlPath

	SANs             SANs
	APIServerTimeout time.Duration
	ExternalCA       string // directory; "" for our own
	EtcdExternal     bool
	EtcdToken        string
	KubeletServing   bool

	Runtime            string // containerd, docker, isulad
	RuntimeEndpoint    string
	PauseImage         string // "" means the bundle's
	CNIBinDirs         []string
	RegistryMirrors    []string
	InsecureRegistries []string

	ExtraArgs []ExtraArgs
	Addons    []Addon
	OpenPorts map[bundle.Role][]Port
	Source    PackageSource
	Packages  map[bundle.Role][]Package // as given; empty means: what the manifest says the role needs

	Eggo Eggo

	// given tells which keys stand in the file, and where, so that those without effect can be refused by name and
	// line.
	given map[string]position
	file  string
}

// Node is one machine with all its roles.
type Node struct {
	Name  string
	IP    netip.Addr
	Port  int
	Arch  string // amd64, arm64
	Roles []bundle.Role
}

// Has reports whether the node has the role.
func (n Node) Has(r bundle.Role) bool {
	for _, x := range n.Roles {
		if x == r {
			return true
		}
	}
	return false
}

// RoleNames returns the roles as text.
func (n Node) RoleNames() []string {
	var out []string
	for _, r := range n.Roles {
		out = append(out, string(r))
	}
	return out
}

// With returns the nodes that have the role, in order.
func (c *Cluster) With(r bundle.Role) []Node {
	var out []Node
	for _, n := range c.Nodes {
		if n.Has(r) {
			out = append(out, n)
		}
	}
	return out
}

// SSH is how every machine is reached. Secrets are resolved by Cluster.Eggo's sources before a run, never written back.
type SSH struct {
	User           string
	Password       string
	PrivateKeyPath string
}

// DNS of the cluster.
type DNS struct {
	Type         string // pod, binary
	ImageVersion string // "" means the bundle's
	Replicas     int
}

// Upstreams are the addresses that CoreDNS forwards to, as text; none: those of the node's resolv.conf.
func (c *Cluster) Upstreams() []string {
	var out []string
	for _, a := range c.Eggo.DNSUpstreams {
		out = append(out, a.String())
	}
	return out
}

// IsBinary reports whether CoreDNS runs as a service of every control plane.
func (d DNS) IsBinary() bool { return d.Type == "binary" }

// SANs are extra names of the API server's certificate.
type SANs struct {
	DNSNames []string
	IPs      []netip.Addr
}

// ExtraArgs of one component; for etcd the keys are environment variable names.
type ExtraArgs struct {
	Component string
	Args      map[string]string
}

// Addon is a manifest from the bundle's addons/ directory.
type Addon struct {
	Type     string
	Filename string
}

// Port to open.
type Port struct {
	Port     int
	Protocol string
}

// PackageSource is where the bundles are on the jump host.
type PackageSource struct {
	Type    string            // tar.gz
	Bundles map[string]string // architecture → path
	More    []string          // eggo.bundles: paths of more bundles, of any architecture, for other operating systems
	DstPath string            // directory on the node; "" is ours
}

// BundleSource is one bundle that deploy.yaml names.
type BundleSource struct {
	Key  string // names it among the cluster's: its architecture, or extra-1 and so on for those of eggo.bundles
	Arch string // that it has to be of; "" when the bundle itself says
	Path string
}

// Bundles are all that deploy.yaml names: one of each architecture, then those of eggo.bundles in their order.
func (c *Cluster) Bundles() []BundleSource {
	var out []BundleSource
	for _, arch := range slices.Sorted(maps.Keys(c.Source.Bundles)) {
		if p := c.Source.Bundles[arch]; p != "" {
			out = append(out, BundleSource{Key: arch, Arch: arch, Path: p})
		}
	}
	for i, p := range c.Source.More {
		out = append(out, BundleSource{Key: "extra-" + strconv.Itoa(i+1), Path: p})
	}
	return out
}

// Package that deploy.yaml asks for on a role.
type Package struct {
	Name     string
	Type     string // pkg, repo, binary, file, dir, image, yaml, shell
	Dst      string
	Schedule string
	Timeout  time.Duration
	Addition bool // beside what the role has, not in its place

	key string // path of its entry in the file
}

// Eggo is the optional top-level map "eggo:" with the keys that are our own.
type Eggo struct {
	Driver           string // binary (default), kubeadm
	Imported         bool   // others have made the cluster: what is theirs is left alone
	Hostname         string // keep (default), set
	EtcdUser         string // etcd (default), root
	SudoPassword     string
	PasswordFrom     string // "", prompt, env:NAME, file:PATH
	SudoPasswordFrom string
	HostKeys         string // "", ask, strict, accept-new
	KnownHosts       string // path; "" is the cluster's own
	Bastions         []Bastion
	Machines         map[string]Login        // of machines with other logins than the rest, by name
	Registries       map[string]Registry     // by host, or host:port
	Nodes            map[string]NodeSettings // labels and taints, by name
	// SSHLegacyAlgorithms allows SHA-1 in key exchange, host keys, signatures and MACs.
	SSHLegacyAlgorithms bool
	DNSUpstreams        []netip.Addr // that CoreDNS forwards to; none: those of the node's resolv.conf
}

// Bastion is one hop on the way to every machine, in the order from the jump host outward. What it does not say of
// user, key and password is the machines'.
type Bastion struct {
	Host           string // name or address, without brackets
	Port           int
	User           string
	PrivateKeyPath string
	Password       string
	PasswordFrom   string // "", prompt, env:NAME, file:PATH
}
