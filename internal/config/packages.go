package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// listed is a package with the place in the file where it is listed.
type listed struct {
	Package
	v spot
}

// packageList are packages of one key, for the roles.
type packageList struct {
	path     string
	roles    []bundle.Role
	list     []PackageSpec
	addition bool
}

// packages takes the packages of both layouts, in the order of the file.
func (l *loader) packages(s Spec) {
	plane, worker, etcd, lb := bundle.ControlPlane, bundle.Worker, bundle.Etcd, bundle.LoadBalancer
	// A control plane runs a kubelet and pods as a worker does, so what pods need goes to both.
	both := []bundle.Role{plane, worker}
	of := func(path string, role bundle.Role, list []PackageSpec) packageList {
		return packageList{path: path, roles: []bundle.Role{role}, list: list}
	}
	p, in, add := s.Packages, s.Install, s.Install.Addition
	all := []packageList{
		of("pacakges.master", plane, p.Master), of("pacakges.node", worker, p.Node),
		of("pacakges.etcd", etcd, p.Etcd), of("pacakges.loadbalance", lb, p.LoadBalance),
		of("install.etcd", etcd, in.Etcd), of("install.kubernetes-master", plane, in.KubernetesMaster),
		of("install.kubernetes-worker", worker, in.KubernetesWorker), {"install.network", both, in.Network, false},
		{"install.container", both, in.Container, false}, {"install.image", both, in.Image, false},
		of("install.loadbalance", lb, in.LoadBalance), of("install.dns", plane, in.DNS),
		{"install.addition.master", []bundle.Role{plane}, add.Master, true},
		{"install.addition.worker", []bundle.Role{worker}, add.Worker, true},
		{"install.addition.etcd", []bundle.Role{etcd}, add.Etcd, true},
		{"install.addition.loadbalance", []bundle.Role{lb}, add.LoadBalance, true},
	}
	slices.SortStableFunc(all, func(a, b packageList) int {
		return l.spot(a.path).pos.compare(l.spot(b.path).pos)
	})
	for _, x := range all {
		for i, one := range x.list {
			path := itemKey(x.path, i)
			if l.bad[path] {
				continue
			}
			for _, p := range l.onePackage(path, one) {
				p.Addition = x.addition
				for _, role := range x.roles {
					l.addPackage(role, listed{p, l.spot(path)})
				}
			}
		}
	}
}

// onePackage takes one entry. A name may be several, with commas between them.
func (l *loader) onePackage(path string, s PackageSpec) []Package {
	v := l.spot(path)
	text := func(key, said string) string { return l.word("<package>."+key, below(path, key), said) }
	name := text("name", s.Name)
	p := Package{key: v.path, Type: text("type", s.Type), Schedule: text("schedule", s.Schedule),
		Dst:     l.dst(nodepath.Listed, "<package>.dstpath", below(path, "dstpath"), s.DstPath),
		Timeout: l.duration("<package>.timeout", below(path, "timeout"), s.Timeout)}
	if !l.require(path, "<package>", s) || name == "" || p.Type == "" {
		return nil
	}
	needsDst := p.Type == "binary" || p.Type == "file" || p.Type == "dir"
	switch {
	case needsDst && s.DstPath == "":
		l.err(v, "config.dst-missing", "value", p.Type)
	case !needsDst && s.DstPath != "":
		l.warn(v, "config.dst-unused", "value", p.Type)
		p.Dst = ""
	}
	if p.Schedule != "" && p.Type != "shell" {
		l.warn(v, "config.schedule-unused", "value", p.Type)
	}
	if s.Schedule == "" && p.Type == "shell" {
		l.err(v, "config.schedule-missing", "choices", strings.Join(schedules, ", "))
	}
	var out []Package
	for one := range strings.SplitSeq(name, ",") {
		one = strings.TrimSpace(one)
		r := rulePackage
		if p.Type == "yaml" && strings.Contains(one, "://") {
			r = ruleURL
		}
		if p.Type == "image" && strings.ContainsAny(one, "/:") {
			r = ruleImage
		}
		if !r.ok(one) {
			l.err(v, r.code, "value", clip(one))
			continue
		}
		p.Name = one
		out = append(out, p)
	}
	return out
}

// addPackage puts a package into a role's list, once.
func (l *loader) addPackage(role bundle.Role, p listed) {
	key := string(role) + " " + p.Name
	first, again := l.asked[key]
	switch {
	case !again:
		l.asked[key] = p
		l.c.Packages[role] = append(l.c.Packages[role], p.Package)
	case first.Type != p.Type:
		l.err(p.v, "config.package-conflict", "name", p.Name, "value", p.Type, "other", first.Type, "line",
			strconv.Itoa(first.v.pos.line))
	case first.v.path != p.v.path:
		l.warn(p.v, "config.twice-in-list", "value", p.Name)
	}
}

// checkPackages compares what the roles of one machine ask for.
func (l *loader) checkPackages() {
	told := map[string]bool{}
	for _, n := range l.c.Nodes {
		here := map[string]listed{}
		for _, role := range n.Roles {
			for _, p := range l.c.Packages[role] {
				now := l.asked[string(role)+" "+p.Name]
				first, ok := here[p.Name]
				if !ok {
					here[p.Name] = now
					continue
				}
				if id := now.v.path + first.v.path; (first.Type != now.Type || first.Dst != now.Dst) && !told[id] {
					told[id] = true
					l.err(now.v, "config.package-conflict", "name", p.Name, "value",
						strings.TrimSpace(now.Type+" "+now.Dst), "other", strings.TrimSpace(first.Type+" "+first.Dst),
						"line", strconv.Itoa(first.v.pos.line))
				}
			}
		}
	}
	if l.c.DNS.Type == "pod" {
		if p, ok := l.asked[string(bundle.ControlPlane)+" coredns"]; ok {
			l.warn(p.v, "config.coredns-package")
		}
	}
	if v, lb := l.balancer(); lb && len(l.c.Packages) > 0 && len(l.c.Packages[bundle.LoadBalancer]) == 0 {
		l.warn(v, "config.loadbalance-packages")
	}
}
