package takeover

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/config"
)

// ServicesScript prints how the services of the original eggo run, for Services: those whose names, without the ending,
// are in the variable UNITS ahead of it, and for which there is no file in the directory APPLIED: they are ours then.
func ServicesScript() string { return heededLib + servicesScript }

//go:embed services.sh
var servicesScript string

// heededLib finds the variables that programs heed.
//
//go:embed heeded.sh
var heededLib string

// Service is a component that runs as the original eggo, or somebody after it, has set it up.
type Service struct {
	Name     string
	Flags    []KubeletFlag
	Env      []KubeletFlag // variables of etcd
	Vars     []string      // other variables that it heeds, and only its unit sets
	Version  string        // "" when it does not say
	DropIns  []string      // files that start it in another way than its unit
	File     string        // its configuration; "" without
	Conf     string
	Public   string            // keys by which an API server verifies tokens of service accounts
	KeySums  map[string]string // of the keys that an API server reads, by their flags
	Observed bool              // there is a process of it
	Hidden   bool              // there is one, and of another program
	Swap     bool              // its unit turns swap off, which is on again after each start of the machine
}

// Units are the names of the components among files of units, without the ending.
func Units(files []string) []string {
	var out []string
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".service")
		if slices.Contains([]string{etcd, apiServer, controller, scheduler, kubelet, proxy}, name) {
			out = append(out, name)
		}
	}
	return out
}

// HoldsKeys says whether the service reads keys that all of its kind share.
func (s Service) HoldsKeys() bool { return s.Observed && s.Name == apiServer }

// Services are those in what the node printed.
func Services(out string) []Service {
	var all []Service
	var args []string
	end := func() {
		if len(all) > 0 && len(args) > 0 {
			s := &all[len(all)-1]
			s.Flags, s.Observed, s.Hidden = flagsOf(args[1:]), true, false
		}
		args = nil
	}
	for line := range strings.Lines(out) {
		kind, text, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if kind == "unit" {
			end()
			all = append(all, Service{Name: text, KeySums: map[string]string{}})
		}
		if len(all) == 0 {
			continue
		}
		s := &all[len(all)-1]
		name, value, _ := strings.Cut(text, "=")
		switch kind {
		case "arg":
			args = append(args, text)
		case "env":
			s.Env = append(s.Env, KubeletFlag{name, value})
		case "var":
			s.Vars = append(s.Vars, text)
		case "version":
			s.Version = text
		case "dropin":
			s.DropIns = append(s.DropIns, text)
		case "main":
			s.Hidden = true // until a command line follows
		case "swap":
			s.Swap = true
		case "file":
			s.File = text
		case "conf":
			s.Conf += text + "\n"
		case "pub":
			s.Public += text + "\n"
		case "sum":
			flag, sum, _ := strings.Cut(text, " ")
			s.KeySums[flag] = sum
		}
	}
	end()
	return all
}

// Original is a node of the original eggo, with what Eggo would start its components with.
type Original struct {
	KubeletOf
	Socket string // of the container runtime
	// Ours are the flags of a component, without dashes, of etcd its environment; Conf is its configuration.
	Ours map[string]string
	Conf string
	Has  func(component string, flag KubeletFlag) bool // whether config-extra-args has it
}

// EtcdDataDir is the variable that says where a member keeps its data.
const EtcdDataDir = "ETCD_DATA_DIR"

// madeByEggo are what the original eggo sets for its components and Eggo sets otherwise, or not at all; * is any value.
const madeByEggo = `
kube-apiserver etcd-servers=*
kube-apiserver enable-admission-plugins=$PLUGINS
kube-controller-manager bind-address=0.0.0.0
kube-controller-manager cluster-name=*
kube-controller-manager cluster-signing-cert-file=/etc/kubernetes/pki/ca.crt
kubelet register-node=true
kube-proxy config=*
kube-proxy hostname-override=$NODE
etcd ETCD_LISTEN_METRICS_URLS=https://$IP:2381
etcd ETCD_SNAPSHOT_COUNT=10000
etcd ETCD_UNSUPPORTED_ARCH=*
etcd ETCD_INITIAL_CLUSTER=*
etcd ETCD_INITIAL_CLUSTER_STATE=*
etcd ETCD_INITIAL_CLUSTER_TOKEN=*
etcd ETCD_TRUSTED_CA_FILE=/etc/kubernetes/pki/etcd/ca.crt
etcd ETCD_CERT_FILE=/etc/kubernetes/pki/etcd/server.crt
etcd ETCD_KEY_FILE=/etc/kubernetes/pki/etcd/server.key
etcd ETCD_PEER_TRUSTED_CA_FILE=/etc/kubernetes/pki/etcd/ca.crt
etcd ETCD_PEER_CERT_FILE=/etc/kubernetes/pki/etcd/peer.crt
etcd ETCD_PEER_KEY_FILE=/etc/kubernetes/pki/etcd/peer.key
`

// keeps says whether a component of ours needs no such flag: it has it, or the original eggo has set it.
func (o Original) keeps(component string, flag KubeletFlag) bool {
	if value, is := o.Ours[flag.Name]; is && value == flag.Value {
		return true
	}
	value := flag.Value
	switch {
	case component == kubelet && flag.Name == "kubeconfig":
		return slices.Contains([]string{"/etc/kubernetes/kubelet.kubeconfig", "/etc/kubernetes/kubelet.conf"}, value)
	case component == kubelet && strings.HasSuffix(flag.Name, "-endpoint"):
		return o.ownSocket(value)
	case component == kubelet && flag.Name != "pod-manifest-path" && o.Keeps(flag):
		return true
	case component == apiServer && flag.Name == "enable-admission-plugins":
		words := strings.Split(value, ",")
		slices.Sort(words)
		value = strings.Join(words, ",")
	case component != etcd && flag.Name == "v" && value == "2":
		return true
	}
	if component == etcd && strings.HasPrefix(value, "/run/credentials/etcd.service/") {
		return true // it was started from our unit, and nobody could note that any more
	}
	const plugins = "DefaultStorageClass,LimitRanger,NamespaceLifecycle,NodeRestriction,ResourceQuota,ServiceAccount"
	made := strings.NewReplacer("$NODE", o.Node, "$IP", o.IP, "$PLUGINS", plugins).Replace(madeByEggo)
	line := "\n" + component + " " + flag.Name + "="
	return strings.Contains(made, line+value+"\n") || strings.Contains(made, line+"*\n")
}

// ownSocket says whether a kubelet of ours talks to that socket of a container runtime.
func (o Original) ownSocket(at string) bool {
	at = strings.TrimPrefix(at, "unix://")
	return slices.Contains([]string{"/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock",
		strings.TrimPrefix(o.Socket, "unix://")}, at)
}

// Lost are the flags of a service, of etcd its variables, and the settings in its configuration that a component of
// ours would run without. The directory of etcd's data is not among them: nothing can take it over.
func (o Original) Lost(s Service) (flags, settings []string) {
	all := s.Flags
	if s.Name == etcd {
		all = slices.Clone(s.Env)
		for _, f := range s.Flags {
			all = append(all, KubeletFlag{nameOf(etcd, "--"+f.Name), f.Value})
		}
	}
	for _, f := range all {
		if f.Name == EtcdDataDir || o.keeps(s.Name, f) || o.Has(s.Name, f) {
			continue
		}
		text := f.String()
		if s.Name == etcd {
			text = f.Name + "=" + f.Value
		}
		flags = append(flags, text)
	}
	switch s.Name {
	case kubelet:
		settings = o.lostOfKubelet(s.Conf)
	case proxy:
		settings = o.lostOfProxy(s.Conf)
	}
	return flags, settings
}

// LostVars are the other variables of a service that one of ours would run without. The original's unit starts etcd
// with as many processors as the machine has, which is what it takes without being told.
func (o Original) LostVars(s Service) []string {
	return slices.DeleteFunc(slices.Clone(s.Vars), func(name string) bool {
		_, is := o.Ours[name]
		return s.Name == etcd && (is || name == "GOMAXPROCS")
	})
}

// lostOfKubelet are the settings in a kubelet's configuration that ours does not have. Whose cgroups pods are in is a
// fact of the node.
func (o Original) lostOfKubelet(conf string) []string {
	is, ours := settingsOf(conf), settingsOf(o.Conf)
	var out []string
	for _, path := range sorted(is) {
		value, flag := is[path], strings.TrimPrefix(kubeletFlags[path], "--")
		usual := ours[path] == value || path == "cgroupDriver" || path == "runtimeRequestTimeout" &&
			slices.Contains([]string{"15m", "15m0s"}, value)
		if !usual && (flag == "" || !o.Has(kubelet, KubeletFlag{flag, value})) {
			out = append(out, path+": "+value)
		}
	}
	var c struct{ ContainerRuntimeEndpoint string }
	if yaml.Unmarshal([]byte(conf), &c) == nil && c.ContainerRuntimeEndpoint != "" &&
		!o.ownSocket(c.ContainerRuntimeEndpoint) {
		out = append(out, "containerRuntimeEndpoint: "+c.ContainerRuntimeEndpoint)
	}
	return out
}

// lostOfProxy are the settings in kube-proxy's configuration that ours does not have. The mode is never changed: rules
// of the one would stay beside those of the other.
func (o Original) lostOfProxy(conf string) []string {
	var c, want map[string]any
	if yaml.Unmarshal([]byte(conf), &c) != nil || yaml.Unmarshal([]byte(o.Conf), &want) != nil {
		return nil
	}
	ours := map[string]string{}
	for _, f := range leaves("", want) {
		ours[f.path] = f.value
	}
	explicit, usual := proxyUsual(ours["clusterCIDR"])
	mode := "iptables"
	var out []string
	for _, f := range leaves("", c) {
		if f.path == "mode" && f.value != "" {
			mode = f.value
		}
		flag := strings.TrimPrefix(config.ProxyFlag(f.path), "--")
		if f.path == "mode" || f.path == "clientConnection.kubeconfig" || f.unset(explicit) ||
			usual[f.path] == f.value || ours[f.path] == f.value ||
			flag != "" && o.Has(proxy, KubeletFlag{flag, f.value}) {
			continue
		}
		out = append(out, f.path+": "+f.value)
	}
	if conf != "" && mode != ours["mode"] {
		out = append(out, "mode: "+mode)
	}
	return out
}
