package phases

import (
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeBundles judges those that were given for an architecture and all that serve a machine.
func (r *run) judgeBundles() []event.Finding {
	var all []event.Finding
	var first Bundle
	for _, s := range r.Sources() {
		b := r.Bundle(s.Key)
		if b == nil {
			all = append(all, r.Failure("bundle "+s.Key, ""))
			continue
		}
		m := b.Manifest()
		add := func(code string, kv ...string) {
			all = append(all, event.Finding{Severity: event.Error,
				Fault: *event.NewFault(event.ClassBundle, "bundle."+code, nil, kv...)})
		}
		if s.Arch != "" && m.Arch != s.Arch {
			add("wrong-arch", "bundle", m.Name, "got", m.Arch, "want", s.Arch, "arch", s.Arch)
		}
		var roles []bundle.Role
		for _, n := range r.Served(b) {
			roles = append(roles, n.Roles...)
		}
		if len(roles) == 0 {
			continue // what no machine needs may lack what it will
		}
		if first == nil {
			first = b
		} else if was := first.Manifest(); was.Kubernetes != m.Kubernetes {
			add("versions", "bundle", first.Manifest().Name, "other", m.Name, "version", was.Kubernetes,
				"other_version", m.Kubernetes)
		}
		all = append(all, r.judgeBundle(b, roles)...)
	}
	return all
}

// judgeBundle checks that the bundle has what deploy.yaml names for machines of the roles.
func (r *run) judgeBundle(b Bundle, roles []bundle.Role) []event.Finding {
	m := b.Manifest()
	var out []event.Finding
	add := func(code string, kv ...string) {
		f := event.NewFault(event.ClassBundle, "bundle."+code, nil, append(kv, "arch", m.Arch)...)
		out = append(out, event.Finding{Severity: event.Error, Fault: *f})
	}
	out = append(out, r.judgeVersion(m)...)
	out = append(out, r.judgeRuntime(m.Arch, m)...)
	out = append(out, r.judgeDNS(m.Arch, m)...)
	// Images are for machines with a kubelet; what a bundle for members of etcd and load balancers alone lacks of them,
	// nobody misses.
	var needed []string
	if slices.Contains(roles, bundle.ControlPlane) || slices.Contains(roles, bundle.Worker) {
		needed = append(needed, r.PauseImage(m))
		if !r.DNSBinary() {
			needed = append(needed, r.DNSImage(m))
		}
	}
	for _, want := range needed {
		if !slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return i.Name == want }) {
			add("image-absent", "image", want)
		}
	}
	if slices.Contains(roles, bundle.ControlPlane) { // manifests are applied from there
		for _, a := range r.AddonFiles(m) {
			if _, ok := r.AddonMember(m, a); !ok && !config.IsURL(a) {
				add("no-addon", "addon", a)
			}
		}
	}
	for _, role := range slices.Sorted(maps.Keys(r.Cluster.Packages)) {
		if !slices.Contains(roles, role) {
			continue
		}
		for _, p := range r.Cluster.Packages[role] {
			if p.Type != "yaml" && !p.In(m) {
				add("no-package", "package", p.Name, "role", string(role))
			}
		}
	}
	return out
}
