package draft

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/width"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// Unread is a line that was not understood, and why: which part of it, and what it could be.
type Unread struct {
	Line int // from 1
	Text string
	Why  event.Msg
}

var (
	separators  = regexp.MustCompile(`[\s,;|+\x{3001}]+`)
	portWord    = regexp.MustCompile(`\A:?([0-9]{1,5})\z`)
	likeAddress = regexp.MustCompile(`\A[0-9a-fA-F]*[.:\[][0-9a-fA-F.:\[\]/-]*\z`)
)

// RoleOf is the role that a word means.
func RoleOf(word string) (bundle.Role, bool) {
	switch strings.ToLower(word) {
	case "master", "masters", "control-plane", "controlplane", "cp", "m", "控制平面", "控制面", "主节点":
		return bundle.ControlPlane, true
	case "worker", "workers", "node", "nodes", "w", "工作节点":
		return bundle.Worker, true
	case "etcd", "etcds", "e":
		return bundle.Etcd, true
	case "loadbalance", "loadbalancer", "lb", "l", "负载均衡":
		return bundle.LoadBalancer, true
	}
	return "", false
}

func archOf(word string) (string, bool) {
	switch strings.ToLower(word) {
	case "amd64", "x86_64", "x86-64", "x86":
		return "amd64", true
	case "arm64", "aarch64", "arm":
		return "arm64", true
	}
	return "", false
}

// ReadMachines reads a block of machines: a line each, `name address role…` in any order, with blanks, commas or
// semicolons between, as people keep them in spreadsheets, inventories and /etc/hosts. An address may be a range
// and may have its SSH port behind a colon. A word that is nothing else is the name where it stands before the
// address, or is said to be (name=…), or where several lines have one behind theirs, each its own: anywhere else it
// may as well be a role that was mistyped, and the line is not understood.
func ReadMachines(text string) (out []config.Machine, bad []Unread) {
	var lines []parsed
	header := false
	for i, raw := range strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		raw = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(width.Narrow.String(raw)), "- "))
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		l := readLine(raw)
		if l.why.Key != "" && len(lines) == 0 && !header && isHeader(raw) {
			header = true
			continue
		}
		l.line, l.text = i+1, raw
		lines = append(lines, l)
	}
	named := header || ownNames(lines)
	for _, l := range lines {
		if l.why.Key == "" && l.after != "" {
			l.name(l.after, named)
		}
		if l.why.Key != "" {
			bad = append(bad, Unread{l.line, l.text, l.why})
			continue
		}
		out = append(out, l.machines()...)
	}
	return out, bad
}

// ownNames says whether the words behind the addresses are a column of names: several lines have one, and no two
// the same.
func ownNames(lines []parsed) bool {
	seen := map[string]bool{}
	for _, l := range lines {
		if l.after == "" {
			continue
		}
		if seen[l.after] {
			return false
		}
		seen[l.after] = true
	}
	return len(seen) > 1
}

// isHeader says whether the line names columns.
func isHeader(line string) bool {
	low := strings.ToLower(line)
	return strings.Contains(low, "ip") || strings.Contains(low, "addr") || strings.Contains(low, "地址")
}

// parsed is a line of machines as it was read.
type parsed struct {
	line  int
	text  string
	m     config.Machine
	ips   []string
	after string    // a word behind the address that nobody knows
	why   event.Msg // it is not understood
}

func readLine(line string) parsed {
	l := parsed{}
	for _, word := range separators.Split(line, -1) {
		word = strings.Trim(word, `"'{}`)
		for _, lead := range []string{"ansible_host=", "ip=", "ip:", "role=", "roles=", "arch=", "arch:"} {
			word = strings.TrimPrefix(word, lead)
		}
		if word != "" && l.why.Key == "" {
			l.word(word)
		}
	}
	if l.why.Key == "" && len(l.ips) == 0 {
		l.why = event.M("wizard.nodes.unread", "line", line)
		if w := wordLikeAddress(line); w != "" {
			l.why = event.M("wizard.unread.address", "word", w)
		}
	}
	return l
}

func wordLikeAddress(line string) string {
	for _, w := range separators.Split(line, -1) {
		if likeAddress.MatchString(w) {
			return w
		}
	}
	return ""
}

// word takes one word of the line.
func (l *parsed) word(word string) {
	if role, is := RoleOf(word); is {
		if !l.m.Has(role) {
			l.m.Roles = append(l.m.Roles, role)
		}
		return
	}
	if arch, is := archOf(word); is {
		l.m.Arch = arch
		return
	}
	for _, lead := range []string{"name=", "name:"} {
		if name, is := strings.CutPrefix(word, lead); is {
			l.m.Name = strings.ToLower(name)
			return
		}
	}
	p, said := strings.CutPrefix(word, "ansible_port=")
	if !said {
		p, said = strings.CutPrefix(word, "port=")
	}
	if said || l.ips != nil && l.m.Port == "" && portWord.MatchString(word) {
		l.m.Port = strings.TrimPrefix(p, ":")
		return
	}
	host, port := word, ""
	if h, p, has := strings.Cut(word, ":"); has && portWord.MatchString(p) && strings.Count(word, ":") == 1 {
		host, port = h, p
	}
	list, ok := config.Ranges(host)
	switch {
	case ok && isAddress(list) && l.ips != nil:
		l.why = event.M("wizard.unread.two-addresses", "word", word)
	case ok && isAddress(list):
		l.ips = list
		if port != "" {
			l.m.Port = port
		}
	case likeAddress.MatchString(word):
		l.why = event.M("wizard.unread.address", "word", word)
	case strings.ContainsAny(word, "=[]"):
		l.why = event.M("wizard.unread.word", "word", word)
	case l.ips != nil && l.after == "" && l.m.Name == "":
		l.after = word
	default:
		l.name(word, l.ips == nil)
	}
}

// name takes a word as the name, if it cannot as well be a role or an architecture that was mistyped. said: it
// stands where a name does.
func (l *parsed) name(word string, said bool) {
	like := mistyped(word)
	switch {
	case l.m.Name != "":
		l.why = event.M("wizard.unread.two-names", "word", word, "other", l.m.Name)
	case like != "":
		l.why = event.M("wizard.unread.like", "word", word, "like", like)
	case !said:
		l.why = event.M("wizard.unread.word", "word", word)
	default:
		l.m.Name = strings.ToLower(word)
	}
}

// machines are those that the line says.
func (l *parsed) machines() []config.Machine {
	var out []config.Machine
	for i, ip := range l.ips {
		one := l.m
		one.IP = ip
		if l.m.Name != "" && len(l.ips) > 1 {
			one.Name = l.m.Name + "-" + strconv.Itoa(i+1)
		}
		one.Roles = append([]bundle.Role(nil), l.m.Roles...)
		out = append(out, one)
	}
	return out
}

// mistyped is the role or the architecture that a word is nearly, "" if it is none: wroker, matser, amd46. A word
// with a number at its end is a name that people give: worker1, master-02.
func mistyped(word string) string {
	word = strings.ToLower(word)
	for _, arch := range []string{"amd64", "arm64", "x86_64", "aarch64"} {
		if nearly(word, arch, 1) {
			return arch
		}
	}
	if strings.TrimRight(word, "0123456789") != word {
		return ""
	}
	for _, known := range []string{"master", "worker", "control-plane", "etcd", "loadbalance", "loadbalancer"} {
		if nearly(word, known, 1+len(known)/10) {
			return known
		}
	}
	return ""
}

// nearly says whether a word becomes another by at most so many letters that are other, missing, too many, or
// changed places.
func nearly(a, b string, most int) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y)+most || len(y) > len(x)+most {
		return false
	}
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)] <= most
}

func portText(p string) string {
	if p == "22" {
		return ""
	}
	return p
}

func isAddress(list []string) bool {
	for _, a := range list {
		if _, err := netip.ParseAddr(a); err != nil {
			return false
		}
	}
	return len(list) > 0
}

// Added is what came of machines that were said.
type Added struct {
	Fresh, Changed int
	Same           []string // addresses that were there, with all that was said of them
}

// AddMachines gives the draft machines. One with the address and the port of another is that machine, and gets what
// was said of it and it did not have; one with the address and another port is another machine, which is wrong and
// told where it stands. What was not said is filled in: a name, and the role. The first machine of a cluster is its
// control plane, the others are workers. Machines that are fixed stay as they are.
func AddMachines(d *config.Draft, list []config.Machine, fixed map[string]bool) (out Added) {
	for _, m := range list {
		if i := Listed(*d, m); i >= 0 {
			have := &d.Machines[i]
			if !fixed[MachineKey(*have)] && gain(have, m) {
				out.Changed++
				continue
			}
			out.Same = append(out.Same, m.IP)
			continue
		}
		m.Port = portText(m.Port)
		if len(m.Roles) == 0 {
			m.Roles = []bundle.Role{bundle.Worker}
			if len(d.With(bundle.ControlPlane)) == 0 {
				m.Roles = []bundle.Role{bundle.ControlPlane, bundle.Etcd}
			}
		} else if m.Has(bundle.ControlPlane) && !m.Has(bundle.Etcd) && ownEtcd(d) {
			m.Roles = append(m.Roles, bundle.Etcd)
		}
		if m.Name == "" {
			m.Name = freeName(d)
		}
		d.Machines = append(d.Machines, m)
		out.Fresh++
	}
	return out
}

// gain gives a machine what was said of it and it did not have; false: there was nothing of that kind.
func gain(have *config.Machine, m config.Machine) bool {
	some := false
	for _, r := range m.Roles {
		if !have.Has(r) {
			have.Roles, some = append(slices.Clone(have.Roles), r), true
		}
	}
	for _, x := range []struct {
		to   *string
		said string
	}{{&have.Name, m.Name}, {&have.Arch, m.Arch}} {
		if x.said != "" && *x.to != x.said {
			*x.to, some = x.said, true
		}
	}
	return some
}

// Listed is the machine of the draft that is meant, -1 if it is none: by address and port, by address alone if no
// port was said and one machine has it.
func Listed(d config.Draft, m config.Machine) int {
	at := -1
	for i, have := range d.Machines {
		switch {
		case have.IP != m.IP:
		case MachineKey(have) == MachineKey(m):
			return i
		case m.Port == "" && at < 0:
			at = i
		}
	}
	return at
}

// ownEtcd says whether etcd runs where the control plane does, as it does when nobody says otherwise.
func ownEtcd(d *config.Draft) bool {
	for _, m := range d.Machines {
		if m.Has(bundle.Etcd) != m.Has(bundle.ControlPlane) {
			return false
		}
	}
	return true
}

// freeName is the next name that no machine has.
func freeName(d *config.Draft) string {
	taken := map[string]bool{}
	for _, m := range d.Machines {
		taken[m.Name] = true
	}
	for i := 1; ; i++ {
		if name := "node-" + strconv.Itoa(i); !taken[name] {
			return name
		}
	}
}

// Toggle gives the machine a role or takes it away. Etcd goes with the control plane as long as it does so everywhere.
func Toggle(d *config.Draft, i int, r bundle.Role) {
	together := r == bundle.ControlPlane && ownEtcd(d)
	had := d.Machines[i].Has(r)
	set := func(r bundle.Role) {
		m := &d.Machines[i]
		var roles []bundle.Role
		for _, x := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer} {
			if x == r && !had || x != r && m.Has(x) {
				roles = append(roles, x)
			}
		}
		m.Roles = roles
	}
	set(r)
	if together {
		set(bundle.Etcd)
	}
	if r == bundle.LoadBalancer && !had { // there is one
		for j := range d.Machines {
			if j != i && d.Machines[j].Has(r) {
				Toggle(d, j, r)
			}
		}
	}
}

// MachineKey tells machines of a draft apart: by address and port.
func MachineKey(m config.Machine) string {
	port := m.Port
	if port == "" {
		port = "22"
	}
	return net.JoinHostPort(m.IP, port)
}
