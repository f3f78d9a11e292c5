package config

// Spec is a deploy.yaml as data, in either layout, with one field for each key. The fields are in the order of the
// manual; a field's JSON name is its key. A zero value means that the key is not set, and the default holds. Values
// are kept as they were written; Cluster checks and resolves them.
//
// The table of keys (keys_table.go) has each key's rule, default and limits; the comments here repeat them for readers
// of the API.
type Spec struct {
	// ClusterID is the name of the cluster: a DNS subdomain of at most 253 characters. Default: k8s-cluster.
	ClusterID string `json:"cluster-id,omitempty"`
	// Username is who logs in to the machines, at most 64 characters. Default: root.
	Username string `json:"username,omitempty"`
	// Password of that user, on one line.
	Password string `json:"password,omitempty"`
	// PrivateKeyPath is a file of the control host, absolute or below ~/.
	PrivateKeyPath string `json:"private-key-path,omitempty"`

	// Masters are the control planes, at least one.
	Masters []MachineSpec `json:"masters,omitempty"`
	// Nodes are the workers.
	Nodes []MachineSpec `json:"nodes,omitempty"`
	// Etcds are the members of etcd. Default: the control planes.
	Etcds []MachineSpec `json:"etcds,omitempty"`
	// LoadBalance is the load balancer in front of the control planes. Default: none.
	LoadBalance BalancerSpec `json:"loadbalance,omitzero"`

	// ExternalCA uses the certificates of ExternalCAPath. Default: false.
	ExternalCA bool `json:"external-ca,omitempty"`
	// ExternalCAPath is a directory of the control host. Default: /opt/externalca.
	ExternalCAPath string      `json:"external-ca-path,omitempty"`
	Service        ServiceSpec `json:"service,omitzero"`
	Network        NetworkSpec `json:"network,omitzero"`
	// APIServerEndpoint is the host:port at which the API server is reached. Default: the load balancer, or else the
	// first control plane.
	APIServerEndpoint string   `json:"apiserver-endpoint,omitempty"`
	APIServerCertSANs SANsSpec `json:"apiserver-cert-sans,omitzero"`
	// APIServerTimeout is how long a request may take: a duration of at most 24h. Default: 120s.
	APIServerTimeout string `json:"apiserver-timeout,omitempty"`
	// EtcdExternal leaves etcd out of the installation, which is not supported yet. Default: false.
	EtcdExternal bool `json:"etcd-external,omitempty"`
	// EtcdToken is the token of a new etcd cluster, at most 128 characters. Default: etcd-cluster.
	EtcdToken string `json:"etcd-token,omitempty"`
	// DNSVIP is the same as Service.DNSAddr.
	DNSVIP string `json:"dns-vip,omitempty"`
	// DNSDomain is the suffix of the names of services. Default: cluster.local.
	DNSDomain string `json:"dns-domain,omitempty"`

	// PauseImage is the image of the sandbox of pods. Default: the bundle's.
	PauseImage string `json:"pause-image,omitempty"`
	// NetworkPlugin is cni.
	NetworkPlugin string `json:"network-plugin,omitempty"`
	// CNIBinDir is one or several directories of CNI plugins, with commas. Default: /usr/libexec/cni,/opt/cni/bin.
	CNIBinDir string `json:"cni-bin-dir,omitempty"`
	// Runtime is containerd (default), docker or isulad.
	Runtime string `json:"runtime,omitempty"`
	// RuntimeEndpoint is unix:// with a path below /run or /var/run. Default: the runtime's.
	RuntimeEndpoint string `json:"runtime-endpoint,omitempty"`
	// EnableKubeletServing has the cluster's CA sign the serving certificates of kubelets. Default: false.
	EnableKubeletServing bool `json:"enable-kubelet-serving,omitempty"`
	// RegistryMirrors are URL, or REGISTRY=URL.
	RegistryMirrors []string `json:"registry-mirrors,omitempty"`
	// InsecureRegistries are host, host:port, or a network with docker.
	InsecureRegistries []string `json:"insecure-registries,omitempty"`
	// ConfigExtraArgs are flags of components that override Eggo's own.
	ConfigExtraArgs []ComponentSpec `json:"config-extra-args,omitempty"`

	// Addons are manifests of the bundle.
	Addons []AddonSpec `json:"addons,omitempty"`
	// OpenPorts are opened in the firewall beside those of Kubernetes.
	OpenPorts PortsSpec `json:"open-ports,omitzero"`

	// PackageSrc and Packages are the older layout; Install is the newer one, in place of both.
	PackageSrc PackageSrcSpec   `json:"package-src,omitzero"`
	Packages   RolePackagesSpec `json:"packages,omitzero"`
	Install    InstallSpec      `json:"install,omitzero"`

	// Eggo has the keys that the original format does not have.
	Eggo EggoSpec `json:"eggo,omitzero"`
}

// MachineSpec is an entry of a list of machines. The entries of one address are one machine with several roles.
type MachineSpec struct {
	// Name is a DNS subdomain of at most 63 characters.
	Name string `json:"name,omitempty"`
	// IP is the machine's IPv4 address.
	IP string `json:"ip,omitempty"`
	// Port of SSH, 1 to 65535. Default: 22.
	Port int `json:"port,omitempty"`
	// Arch is amd64 (default) or arm64.
	Arch string `json:"arch,omitempty"`
}

// BalancerSpec is the machine of the load balancer.
type BalancerSpec struct {
	MachineSpec
	// BindPort is the port that clients of the API server use, 1 to 65535. Default: 8443.
	BindPort int `json:"bind-port,omitempty"`
}

// ServiceSpec is about Services.
type ServiceSpec struct {
	// CIDR is the network of services, /12 to /28. Default: 10.32.0.0/16.
	CIDR string `json:"cidr,omitempty"`
	// DNSAddr is the address of the cluster's DNS. Default: the tenth of CIDR.
	DNSAddr string `json:"dnsaddr,omitempty"`
	// Gateway is the address of the kubernetes Service: the first of CIDR, which is the default.
	Gateway string  `json:"gateway,omitempty"`
	DNS     DNSSpec `json:"dns,omitzero"`
}

// DNSSpec is about CoreDNS.
type DNSSpec struct {
	// CoreDNSType is pod (default), or binary for a service on each control plane.
	CoreDNSType string `json:"corednstype,omitempty"`
	// ImageVersion is the tag of the image. Default: the bundle's.
	ImageVersion string `json:"imageversion,omitempty"`
	// Replicas of the pod, 1 to 100. Default: 2.
	Replicas int `json:"replicas,omitempty"`
}

// NetworkSpec is about the network of pods.
type NetworkSpec struct {
	// PodCIDR is the network of pods; each node takes a /24 of it. Default: 10.244.0.0/16.
	PodCIDR string `json:"podcidr,omitempty"`
	// Plugin is flannel (default), calico, canal, cilium, kube-router or weave.
	Plugin     string         `json:"plugin,omitempty"`
	PluginArgs PluginArgsSpec `json:"plugin-args,omitzero"`
}

// PluginArgsSpec are arguments of the network plugin.
type PluginArgsSpec struct {
	// NetworkYamlPath is the plugin's manifest, an absolute path on the first control plane.
	NetworkYamlPath string `json:"NetworkYamlPath,omitempty"`
}

// SANsSpec are more names of the API server's certificate.
type SANsSpec struct {
	DNSNames []string `json:"dnsnames,omitempty"`
	IPs      []string `json:"ips,omitempty"`
}

// ComponentSpec are flags of one component.
type ComponentSpec struct {
	// Name is etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy, kubelet or container-engine.
	Name string `json:"name,omitempty"`
	// ExtraArgs are values by flag (with its dashes), by environment variable for etcd, by setting for
	// container-engine.
	ExtraArgs map[string]string `json:"extra-args,omitempty"`
}

// AddonSpec is a manifest in the directory addons of the bundle.
type AddonSpec struct {
	// Type is file.
	Type string `json:"type,omitempty"`
	// Filename ends with .yaml, .yml or .json.
	Filename string `json:"filename,omitempty"`
}

// PortsSpec are ports by role.
type PortsSpec struct {
	Master      []PortSpec `json:"master,omitempty"`
	Node        []PortSpec `json:"node,omitempty"`
	Etcd        []PortSpec `json:"etcd,omitempty"`
	LoadBalance []PortSpec `json:"loadbalance,omitempty"`
}

// PortSpec is a port to open.
type PortSpec struct {
	// Port is 1 to 65535.
	Port int `json:"port,omitempty"`
	// Protocol is tcp (default) or udp.
	Protocol string `json:"protocol,omitempty"`
}

// PackageSrcSpec is where bundles are, in the older layout.
type PackageSrcSpec struct {
	// Type is tar.gz.
	Type string `json:"type,omitempty"`
	// X86Src and ArmSrc are bundles of the control host for amd64 and arm64, relative to the directory of deploy.yaml.
	X86Src string `json:"x86src,omitempty"`
	ArmSrc string `json:"armsrc,omitempty"`
	// DistPath is the directory on the nodes that a bundle is put into. Default: Eggo's own.
	DistPath string `json:"distpath,omitempty"`
}

// RolePackagesSpec are packages by role, in place of those that the bundle has for the role.
type RolePackagesSpec struct {
	Master      []PackageSpec `json:"master,omitempty"`
	Node        []PackageSpec `json:"node,omitempty"`
	Etcd        []PackageSpec `json:"etcd,omitempty"`
	LoadBalance []PackageSpec `json:"loadbalance,omitempty"`
}

// PackageSpec is something of the bundle that a role gets.
type PackageSpec struct {
	// Name is one name, or several with commas.
	Name string `json:"name,omitempty"`
	// Type is pkg, repo, binary, file, dir, image, yaml or shell.
	Type string `json:"type,omitempty"`
	// DstPath is the directory on the node; binary, file and dir need it.
	DstPath string `json:"dstpath,omitempty"`
	// Schedule is prejoin, postjoin, precleanup or postcleanup; shell needs it.
	Schedule string `json:"schedule,omitempty"`
	// Timeout of a script: a duration of at most 1h. Default: 30s.
	Timeout string `json:"timeout,omitempty"`
}

// InstallSpec is the newer layout's place for bundles and packages.
type InstallSpec struct {
	PackageSource    PackageSourceSpec `json:"package-source,omitzero"`
	Etcd             []PackageSpec     `json:"etcd,omitempty"`
	KubernetesMaster []PackageSpec     `json:"kubernetes-master,omitempty"`
	KubernetesWorker []PackageSpec     `json:"kubernetes-worker,omitempty"`
	// Network, Container and Image are for control planes and workers.
	Network     []PackageSpec `json:"network,omitempty"`
	Container   []PackageSpec `json:"container,omitempty"`
	Image       []PackageSpec `json:"image,omitempty"`
	LoadBalance []PackageSpec `json:"loadbalance,omitempty"`
	DNS         []PackageSpec `json:"dns,omitempty"`
	// Addition are packages beside those that a role has.
	Addition AdditionSpec `json:"addition,omitzero"`
}

// PackageSourceSpec is where bundles are, in the newer layout.
type PackageSourceSpec struct {
	// Type is tar.gz.
	Type    string `json:"type,omitempty"`
	DstPath string `json:"dstpath,omitempty"`
	// SrcPath are bundles by architecture.
	SrcPath map[string]string `json:"srcpath,omitempty"`
}

// AdditionSpec are packages by role.
type AdditionSpec struct {
	Master      []PackageSpec `json:"master,omitempty"`
	Worker      []PackageSpec `json:"worker,omitempty"`
	Etcd        []PackageSpec `json:"etcd,omitempty"`
	LoadBalance []PackageSpec `json:"loadbalance,omitempty"`
}

// EggoSpec are Eggo's own keys.
type EggoSpec struct {
	// Driver is binary (default: components are services) or kubeadm (static pods).
	Driver string `json:"driver,omitempty"`
	// Imported marks a cluster that others have created; only an import writes it.
	Imported bool `json:"imported,omitempty"`
	// Hostname is keep (default), or set to give machines their names.
	Hostname string `json:"hostname,omitempty"`
	// EtcdUser is etcd (default) or root.
	EtcdUser     string `json:"etcd-user,omitempty"`
	SudoPassword string `json:"sudo-password,omitempty"`
	// PasswordFrom and SudoPasswordFrom are prompt, env:NAME or file:PATH.
	PasswordFrom     string `json:"password-from,omitempty"`
	SudoPasswordFrom string `json:"sudo-password-from,omitempty"`
	// HostKeys is ask (default on a terminal), strict or accept-new.
	HostKeys string `json:"host-keys,omitempty"`
	// KnownHosts is a file of the control host. Default: the cluster's own.
	KnownHosts string `json:"known-hosts,omitempty"`
	// SSHLegacyAlgorithms allows SHA-1. Default: false.
	SSHLegacyAlgorithms bool `json:"ssh-legacy-algorithms,omitempty"`
	// Bastion are the hops to all machines, at most 8, from the control host outward.
	Bastion []HopSpec `json:"bastion,omitempty"`
	// Machines are logins of machines that differ from the others, by name.
	Machines map[string]LoginSpec `json:"machines,omitempty"`
	// Registries are logins and CAs, by host or host:port.
	Registries map[string]RegistrySpec `json:"registries,omitempty"`
	// Nodes are labels and taints, by the name of the machine.
	Nodes map[string]NodeSpec `json:"nodes,omitempty"`
	// Bundles are more bundles, for other operating systems.
	Bundles []string `json:"bundles,omitempty"`
	// DNSUpstreams are at most 15 IPv4 addresses that CoreDNS forwards to. Default: those of the node's resolv.conf.
	DNSUpstreams []string `json:"dns-upstreams,omitempty"`
}

// HopSpec is a bastion.
type HopSpec struct {
	// Host is a name or an address.
	Host string `json:"host,omitempty"`
	// Port of SSH, 1 to 65535. Default: 22.
	Port int `json:"port,omitempty"`
	// User, key and password are those of the machines unless given.
	User           string `json:"user,omitempty"`
	PrivateKeyPath string `json:"private-key-path,omitempty"`
	Password       string `json:"password,omitempty"`
	PasswordFrom   string `json:"password-from,omitempty"`
}

// LoginSpec is how one machine is logged in to; what it does not say is the cluster's.
type LoginSpec struct {
	User             string `json:"user,omitempty"`
	PrivateKeyPath   string `json:"private-key-path,omitempty"`
	Password         string `json:"password,omitempty"`
	PasswordFrom     string `json:"password-from,omitempty"`
	SudoPassword     string `json:"sudo-password,omitempty"`
	SudoPasswordFrom string `json:"sudo-password-from,omitempty"`
	// Bastion are the hops to this machine. An empty list that is not nil means that it is reached without one.
	Bastion []HopSpec `json:"bastion,omitzero"`
}

// RegistrySpec is a registry that wants a login, or has a CA that nodes do not know.
type RegistrySpec struct {
	Username     string `json:"username,omitempty"`
	Password     string `json:"password,omitempty"`
	PasswordFrom string `json:"password-from,omitempty"`
	// CAPath is a file of the control host with certificates in PEM.
	CAPath string `json:"ca-path,omitempty"`
}

// NodeSpec describes the Node of a machine beside what its roles give it.
type NodeSpec struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are KEY=VALUE:EFFECT or KEY:EFFECT.
	Taints []string `json:"taints,omitempty"`
}
