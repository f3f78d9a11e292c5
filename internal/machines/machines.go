// Package machines reads machines as people write them down: lines of words, CSV, inventories of Ansible, the hosts of
// KubeKey and k0sctl, lists of a deploy.yaml. It opens no file and asks no server: names are looked up by a function
// that is handed in. It may import config (a machine of a draft), bundle (roles) and event.
//
// docs/machines.md is the grammar for people.
package machines

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/width"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// Most is how many machines one text may stand for.
const Most = 1000

// Format is how a text has its machines.
type Format string

// The formats.
const (
	Lines      Format = "lines"
	CSV        Format = "csv"
	AnsibleINI Format = "ansible-ini"
	Ansible    Format = "ansible-yaml"
	KubeKey    Format = "kubekey"
	K0sctl     Format = "k0sctl"
	YAML       Format = "yaml" // lists of machines, as in a deploy.yaml
)

// Entry is a machine that was read. What was not said is zero.
type Entry struct {
	config.Machine        // IP is "" until its host name is looked up
	Host           string // the host name by which it is reached, if no address was given
	User           string // login user
	Key            string // file of the private key
	Line           int    // where it stands, from 1
}

// Rejected is a machine that was not taken, and why.
type Rejected struct {
	Line  int    // from 1
	Text  string // the machine as a line that can be read again, without passwords
	Why   event.Msg
	Whole bool // it is the text as a whole that was not taken; Text is empty
}

// List is what a text says.
type List struct {
	Format   Format
	Entries  []Entry
	Rejected []Rejected
	Skipped  []Rejected // machines of an inventory to which it gives no role
	Secrets  int        // passwords in it, which are not taken
}

// Read reads a text. Its format is found out.
func Read(text string) List {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.TrimPrefix(text, "\ufeff")
	if len(text) > mostBytes {
		return List{Format: Lines, Rejected: []Rejected{whole(1, because("machines.too-long", "limit",
			strconv.Itoa(mostBytes>>20)))}}
	}
	var l List
	lines := strings.Split(text, "\n")
	switch {
	case isINI(lines):
		l = readINI(lines)
	case isYAML(text):
		l = readYAML(text)
	default:
		if at, comma := csvHeader(lines); at >= 0 {
			l = readCSV(lines, at, comma)
		} else {
			l = readLines(lines)
		}
	}
	if l.full() {
		l.Rejected = []Rejected{whole(l.Entries[Most].Line, because("machines.too-many", "limit", strconv.Itoa(Most)))}
		l.Entries = nil
	}
	return l
}

const mostBytes = 1 << 20

// full says that there are too many machines in a text, of which nothing more has to be read.
func (l *List) full() bool { return len(l.Entries) > Most }

func whole(line int, why *event.Msg) Rejected { return Rejected{Line: line, Why: *why, Whole: true} }

// narrow makes letters, digits and signs of a Chinese input method those of ASCII.
func narrow(s string) string { return strings.TrimSpace(width.Narrow.String(s)) }

// RoleOf is the role that a word means.
func RoleOf(word string) (bundle.Role, bool) {
	switch strings.ToLower(strings.ReplaceAll(word, "_", "-")) {
	case "master", "masters", "control-plane", "controlplane", "control-planes", "controller", "controllers", "cp", "m",
		"kube-control-plane", "kube-master", "控制平面", "控制面", "主节点":
		return bundle.ControlPlane, true
	case "worker", "workers", "node", "nodes", "w", "kube-node", "kube-worker", "工作节点":
		return bundle.Worker, true
	case "etcd", "etcds", "e":
		return bundle.Etcd, true
	case "loadbalance", "loadbalancer", "load-balancer", "lb", "l", "负载均衡", "负载均衡器":
		return bundle.LoadBalancer, true
	}
	return "", false
}

// rolesOf are the roles that a value lists: master,worker; controller+worker; [control-plane, etcd].
func rolesOf(value string) (roles []bundle.Role, wrong string) {
	between := func(r rune) bool { return strings.ContainsRune(" ,;|+/[]\"'、､", r) }
	for _, w := range strings.FieldsFunc(value, between) {
		if w == "single" { // of k0s: one machine that is all
			w = "control-plane"
		}
		r, ok := RoleOf(w)
		if !ok {
			return roles, w
		}
		roles = with(roles, r)
	}
	return roles, ""
}

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
	case "amd64", "x86_64", "x86-64", "x86":
		return "amd64", true
	case "arm64", "aarch64", "arm":
		return "arm64", true
	}
	return "", false
}
