package config

import (
	"regexp"
	"strconv"
	"strings"
)

// Kind is how the value of a key is typed and written.
type Kind string

// The kinds. A List is typed with commas between its items; a Block is YAML, as it stands below its key in the file.
const (
	Text   Kind = "text"
	Number Kind = "number"
	Choice Kind = "choice"
	YesNo  Kind = "yes-no"
	Path   Kind = "path" // of the jump host
	List   Kind = "list"
	Block  Kind = "block"
	Secret Kind = "secret"
)

// Setting is a key of deploy.yaml that a person can fill in. The lists of machines are none: they are Draft.Machines.
type Setting struct {
	Key     string // path with dots: service.dns.replicas
	Kind    Kind
	Choices []string // of a Choice, the default first
	Default string   // what holds when nothing is said; "" when it follows from something else, or there is none
}

// Settings are all of them, in the order in which they are written: that of the manual. A test holds them against the keys that the loader
// reads.
func Settings() []Setting {
	return []Setting{
		{Key: "cluster-id", Kind: Text, Default: "k8s-cluster"},
		{Key: "username", Kind: Text, Default: "root"},
		{Key: "password", Kind: Secret},
		{Key: "private-key-path", Kind: Path},
		{Key: "external-ca", Kind: YesNo, Default: "false"},
		{Key: "external-ca-path", Kind: Path, Default: "/opt/externalca"},
		{Key: "service.cidr", Kind: Text, Default: "10.32.0.0/16"},
		{Key: "service.dnsaddr", Kind: Text},
		{Key: "service.gateway", Kind: Text},
		{Key: "service.dns.corednstype", Kind: Choice, Choices: []string{"pod", "binary"}, Default: "pod"},
		{Key: "service.dns.imageversion", Kind: Text},
		{Key: "service.dns.replicas", Kind: Number, Default: "2"},
		{Key: "network.podcidr", Kind: Text, Default: "10.244.0.0/16"},
		{Key: "network.plugin", Kind: Choice, Choices: networkPlugins, Default: "flannel"},
		{Key: "network.plugin-args", Kind: Block},
		{Key: "apiserver-endpoint", Kind: Text},
		{Key: "apiserver-cert-sans.dnsnames", Kind: List},
		{Key: "apiserver-cert-sans.ips", Kind: List},
		{Key: "apiserver-timeout", Kind: Text, Default: "120s"},
		{Key: "etcd-external", Kind: YesNo, Default: "false"},
		{Key: "etcd-token", Kind: Text, Default: "etcd-cluster"},
		{Key: "dns-vip", Kind: Text},
		{Key: "dns-domain", Kind: Text, Default: "cluster.local"},
		{Key: "pause-image", Kind: Text},
		{Key: "network-plugin", Kind: Choice, Choices: []string{"cni"}, Default: "cni"},
		{Key: "cni-bin-dir", Kind: Text, Default: strings.Join(defaultCNIBinDirs, ",")},
		{Key: "runtime", Kind: Choice, Choices: []string{"containerd", "docker", "isulad"}, Default: "containerd"},
		{Key: "runtime-endpoint", Kind: Text},
		{Key: "enable-kubelet-serving", Kind: YesNo, Default: "false"},
		{Key: "registry-mirrors", Kind: List},
		{Key: "insecure-registries", Kind: List},
		{Key: "config-extra-args", Kind: Block},
		{Key: "addons", Kind: List},
		{Key: "open-ports", Kind: Block},
		{Key: "package-src.type", Kind: Choice, Choices: []string{"tar.gz"}, Default: "tar.gz"},
		{Key: "package-src.x86src", Kind: Path},
		{Key: "package-src.armsrc", Kind: Path},
		{Key: "package-src.distpath", Kind: Text},
		{Key: "pacakges", Kind: Block},
		{Key: "install", Kind: Block},
		{Key: "eggo.hostname", Kind: Choice, Choices: []string{"keep", "set"}, Default: "keep"},
		{Key: "eggo.sudo-password", Kind: Secret},
		{Key: "eggo.password-from", Kind: Text},
		{Key: "eggo.sudo-password-from", Kind: Text},
		{Key: "eggo.host-keys", Kind: Choice, Choices: []string{"ask", "strict", "accept-new"}, Default: "ask"},
		{Key: "eggo.known-hosts", Kind: Path},
		{Key: "eggo.ssh-legacy-algorithms", Kind: YesNo, Default: "false"},
		{Key: "eggo.bastion", Kind: Block},
		{Key: "eggo.machines", Kind: Block},
		{Key: "eggo.bundles", Kind: List},
	}
}

// SettingOf is the setting of a key.
func SettingOf(key string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// BundleKey is the key that names the bundle of an architecture.
func BundleKey(arch string) string {
	if arch == "arm64" {
		return "package-src.armsrc"
	}
	return "package-src.x86src"
}

var bareScalar = regexp.MustCompile(`\A(?:true|false|0|[1-9][0-9]{0,8}|[0-9]+(?:\.[0-9]+){3}(?::[0-9]+|/[0-9]+)?|[1-9][0-9]*(?:ms|s|m|h))\z`)

// written is how the value of a setting stands after its key.
func (s Setting) written(value string) string {
	switch {
	case s.Kind == Secret:
		return quoted(value)
	case bareScalar.MatchString(value):
		return value
	}
	return quote(value)
}

// Items are those of a list as it is typed: with commas between them.
func Items(value string) []string {
	var out []string
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// itemKey is the path of an item of a list.
func itemKey(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
