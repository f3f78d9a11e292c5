// Package machines reads machines as people write them down: lines of words, CSV, /etc/hosts, ssh_config, inventories
// of Ansible, the hosts of KubeKey, k0sctl and RKE, lists of a deploy.yaml. It opens no file and asks no server: names
// are looked up by a function that is handed in. It may import config (a machine of a draft), bundle (roles), plaintext
// and event.
//
// docs/machines.md is the grammar for people.
package machines

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/plaintext"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Most is how many machines one text may stand for.
const Most = 1000

// Format is how a text has its machines.
type Format string

// The formats.
const (
	Lines      Format = "lines"
	CSV        Format = "csv"
	Hosts      Format = "hosts"      // /etc/hosts
	SSHConfig  Format = "ssh-config" // ~/.ssh/config
	AnsibleINI Format = "ansible-ini"
	Ansible    Format = "ansible-yaml"
	KubeKey    Format = "kubekey"
	K0sctl     Format = "k0sctl"
	YAML       Format = "yaml" // lists of machines, as in a deploy.yaml
)

// Entry is a machine that was read. What was not said is zero.
type Entry struct {
	config.Machine                  // IP is "" until its host name is looked up
	Host           string           // the host name by which it is reached, if no address was given
	User           string           // login user
	Key            string           // file of the private key
	Bastions       []config.Bastion // the hops to it, without passwords
	Line           int              // where it stands, from 1
}

// Rejected is a machine that was not taken, and why.
type Rejected struct {
	Line  int    // from 1
	Text  string // the machine as a line that can be read again, without passwords
	Why   event.Msg
	Whole bool // it is the text as a whole that was not taken; Text is empty
}

// List is the result of reading a text.
type List struct {
	Format   Format
	Entries  []Entry
	Rejected []Rejected
	Skipped  []Rejected  // machines of an inventory to which it gives no role, addresses that are no machine's
	Notes    []event.Msg // what else a person has to know of the text
	Secrets  int         // passwords in it, which are not taken
}

// Read reads a text. Its format is found out.
func Read(text string) List {
	if len(text) > mostBytes {
		return List{Format: Lines, Rejected: []Rejected{whole(1, because("machines.too-long", "limit",
			strconv.Itoa(mostBytes>>20)))}}
	}
	l := read(plaintext.Blanks(lineBreaks.Replace(text)))
	l.noMachines()
	if l.full() {
		l.Rejected = []Rejected{whole(l.Entries[Most].Line, because("machines.too-many", "limit", strconv.Itoa(Most)))}
		l.Entries = nil
	}
	return l
}

const mostBytes = 1 << 20

// lineBreaks are those of other systems and of word processors.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n")

// read finds out the format and reads the text by it.
func read(text string) List {
	lines := strings.Split(text, "\n")
	at, comma := -1, ','
	switch {
	case isSSHConfig(lines):
		return readSSHConfig(lines)
	case isINI(lines):
		return readINI(lines)
	case isYAML(text):
		return readYAML(text)
	case isYAML(typedYAML(text)):
		return readYAML(typedYAML(text))
	case isHosts(lines):
		return readHosts(lines)
	}
	if at, comma = csvHeader(lines); at >= 0 {
		return readCSV(lines, at, comma)
	}
	return readLines(lines)
}

// noMachines skips addresses that no other machine reaches: loopback, multicast. A loopback address by itself stays:
// it is the machine of a person who tries Eggo out.
func (l *List) noMachines() {
	others := func(e Entry) bool { return e.IP == "" || !isLoopback(e.IP) && !isGroup(e.IP) }
	some := slices.ContainsFunc(l.Entries, others)
	var kept []Entry
	for _, e := range l.Entries {
		no := Rejected{Line: e.Line, Text: e.String(), Why: event.M("machines.no-machine", "ip", e.IP)}
		switch {
		case others(e) || !some && !isGroup(e.IP):
			kept = append(kept, e)
		case some:
			l.Skipped = append(l.Skipped, no)
		default:
			l.Rejected = append(l.Rejected, no)
		}
	}
	l.Entries = kept
}

func isLoopback(ip string) bool {
	a, err := netip.ParseAddr(ip)
	return err == nil && a.Unmap().IsLoopback()
}

// isGroup reports whether an address is that of several machines or of none: multicast, broadcast, 0.0.0.0, an address
// with a zone of this host.
func isGroup(ip string) bool {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	a = a.Unmap()
	broadcast := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	return a.Zone() != "" || a.IsMulticast() || a.IsUnspecified() || a == broadcast ||
		netip.MustParsePrefix("fe00::/9").Contains(a) // of hosts files of Debian: ip6-localnet
}

// full reports whether a text has too many machines, so that the rest need not be read.
func (l *List) full() bool { return len(l.Entries) > Most }

func whole(line int, why *event.Msg) Rejected { return Rejected{Line: line, Why: *why, Whole: true} }

// narrow is a word or a line as a keyboard without an input method would have typed it.
func narrow(s string) string { return strings.TrimSpace(plaintext.Narrow(s)) }

// RoleOf is the role that a word means.
func RoleOf(word string) (bundle.Role, bool) {
	switch strings.ToLower(strings.ReplaceAll(word, "_", "-")) {
	case "master", "masters", "control-plane", "controlplane", "control-planes", "controller", "controllers", "cp", "m",
		"kube-control-plane", "kube-master", "控制平面", "控制面", "主节点", "主控", "控制节点", "管理节点",
		"master节点":
		return bundle.ControlPlane, true
	case "worker", "workers", "node", "nodes", "w", "kube-node", "kube-worker", "工作节点", "计算节点", "worker节点":
		return bundle.Worker, true
	case "etcd", "etcds", "e", "etcd节点":
		return bundle.Etcd, true
	case "loadbalance", "loadbalancer", "load-balancer", "lb", "l", "负载均衡", "负载均衡器":
		return bundle.LoadBalancer, true
	}
	return "", false
}

// rolesOf are the roles that a value lists: master,worker; controller+worker; [control-plane, etcd]. An architecture
// between them is one.
func rolesOf(value string) (roles []bundle.Role, arch, wrong string) {
	between := func(r rune) bool { return strings.ContainsRune(" ,;|+&/[]\"'、､", r) }
	value = controlPlane.ReplaceAllString(value, "control-plane")
	for _, w := range strings.FieldsFunc(value, between) {
		if w == "single" { // of k0s: one machine that is all
			w = "control-plane"
		}
		if a, is := ArchOf(w); is {
			arch = a
			continue
		}
		r, ok := RoleOf(w)
		if !ok {
			return roles, arch, w
		}
		roles = with(roles, r)
	}
	return roles, arch, ""
}

var controlPlane = regexp.MustCompile(`(?i)\bcontrol plane\b`)

func with(roles []bundle.Role, more ...bundle.Role) []bundle.Role {
	for _, r := range more {
		if !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return roles
}

// inOrder are roles as they are usually told.
func inOrder(roles []bundle.Role) (out []bundle.Role) {
	for _, r := range []bundle.Role{bundle.ControlPlane, bundle.Etcd, bundle.Worker, bundle.LoadBalancer} {
		if slices.Contains(roles, r) {
			out = append(out, r)
		}
	}
	return out
}

// ArchOf is the architecture that a word means.
func ArchOf(word string) (string, bool) {
	switch strings.ToLower(word) {
	case "amd64", "x86_64", "x86-64", "x86", "x64":
		return "amd64", true
	case "arm64", "aarch64", "arm", "armv8":
		return "arm64", true
	}
	return "", false
}

// otherArch reports whether a word is an architecture for which there are no bundles.
func otherArch(word string) bool {
	return slices.Contains([]string{"ppc64", "ppc64le", "s390x", "riscv64", "loong64", "loongarch64", "mips64",
		"mips64le", "mips64el", "i386", "i686", "386", "armv7", "armv7l", "armhf", "sw64", "sw_64"},
		strings.ToLower(word))
}
