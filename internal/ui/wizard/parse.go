package wizard

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/width"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// unread is a line of a block that was not understood.
type unread struct {
	line int // from 1
	text string
}

var (
	separators = regexp.MustCompile(`[\s,;|+\x{3001}]+`)
	portWord   = regexp.MustCompile(`\A:?([0-9]{1,5})\z`)
)

// roleOf is the role that a word means.
func roleOf(word string) (bundle.Role, bool) {
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

// readMachines reads a block of machines: a line each, `name address role…` in any order, with blanks, commas or semicolons between, as
// people keep them in spreadsheets, inventories and /etc/hosts. An address may be a range and may have its SSH port behind a colon.
func readMachines(text string) (out []config.Machine, bad []unread) {
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(width.Narrow.String(line)), "- "))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		list, ok := readLine(line)
		if !ok {
			if len(out) == 0 && len(bad) == 0 && isHeader(line) {
				continue
			}
			bad = append(bad, unread{i + 1, line})
			continue
		}
		out = append(out, list...)
	}
	return out, bad
}

// isHeader says whether the line names columns.
func isHeader(line string) bool {
	low := strings.ToLower(line)
	return strings.Contains(low, "ip") || strings.Contains(low, "addr") || strings.Contains(low, "地址")
}

func readLine(line string) ([]config.Machine, bool) {
	var m config.Machine
	var ips []string
	for _, word := range separators.Split(line, -1) {
		word = strings.Trim(word, `"'{}`)
		for _, lead := range []string{"ansible_host=", "ip=", "ip:", "name:", "name=", "role=", "roles=", "arch=", "arch:"} {
			word = strings.TrimPrefix(word, lead)
		}
		if word == "" {
			continue
		}
		if role, is := roleOf(word); is {
			if !m.Has(role) {
				m.Roles = append(m.Roles, role)
			}
			continue
		}
		if arch, is := archOf(word); is {
			m.Arch = arch
			continue
		}
		if p := strings.TrimPrefix(word, "ansible_port="); p != word || ips != nil && m.Port == "" && portWord.MatchString(word) {
			m.Port = portText(strings.TrimPrefix(p, ":"))
			continue
		}
		host := word
		if h, p, has := strings.Cut(word, ":"); has && portWord.MatchString(p) && strings.Count(word, ":") == 1 {
			host, m.Port = h, portText(p)
		}
		if list, ok := config.Ranges(host); ok && isAddress(list) {
			if ips != nil {
				return nil, false
			}
			ips = list
			continue
		}
		if m.Name != "" || strings.ContainsAny(word, "=[]") {
			return nil, false
		}
		m.Name = strings.ToLower(word)
	}
	if len(ips) == 0 {
		return nil, false
	}
	var out []config.Machine
	for i, ip := range ips {
		one := m
		one.IP = ip
		if m.Name != "" && len(ips) > 1 {
			one.Name = m.Name + "-" + strconv.Itoa(i+1)
		}
		one.Roles = append([]bundle.Role(nil), m.Roles...)
		out = append(out, one)
	}
	return out, true
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

// add gives the draft machines: those that are there already, by their address, get the roles that they lack. What was not said is filled
// in: a name, and the role. The first machine of a cluster is its control plane, the others are workers.
func add(d *config.Draft, list []config.Machine) (added int) {
	for _, m := range list {
		known := false
		for i := range d.Machines {
			if have := &d.Machines[i]; have.IP == m.IP {
				known = true
				for _, r := range m.Roles {
					if !have.Has(r) {
						have.Roles = append(have.Roles, r)
					}
				}
			}
		}
		if known {
			continue
		}
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
		added++
	}
	return added
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

// toggle gives the machine a role or takes it away. Etcd goes with the control plane as long as it does so everywhere.
func toggle(d *config.Draft, i int, r bundle.Role) {
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
				toggle(d, j, r)
			}
		}
	}
}
