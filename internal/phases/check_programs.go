package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
)

// judgePrograms finds that a machine would not get what its roles start, before anything is touched: its bundle does
// not have it, or the list of deploy.yaml for the role leaves it out. A script that runs before the services start may
// bring anything: a role that has one is not judged.
func (r *run) judgePrograms(n config.Node, f *facts.Facts) []event.Finding {
	b := r.BundleFor(n, f)
	if b == nil {
		return nil // told already
	}
	m := b.Manifest()
	var out []event.Finding
	told := map[string]bool{}
	add := func(sev event.Severity, code, program string, role bundle.Role) {
		if !told[program] {
			told[program] = true
			out = append(out, finding(sev, n.Name, code, "program", program, "role", string(role), "bundle", m.Name,
				"arch", m.Arch))
		}
	}
	for _, role := range n.Roles {
		list := r.Cluster.Packages[role]
		if slices.ContainsFunc(list, func(p config.Package) bool {
			return p.Type == "shell" && p.Schedule == "prejoin"
		}) {
			continue
		}
		code := "no-program"
		if payload.Overrides(list) {
			code = "unlisted"
		}
		for _, name := range config.StartedPrograms(role) {
			if r.ProgramIn(n, m, name) == "" {
				add(event.Error, code, name, role)
			}
		}
		for _, name := range config.ToolPrograms(role) {
			if !payload.Overrides(list) && r.ProgramIn(n, m, name) == "" {
				add(event.Warning, "no-tool", name, role)
			}
		}
		if role == bundle.LoadBalancer && !f.Nginx && !r.bringsNginx(n, m) {
			add(event.Error, "no-balancer", "nginx", role)
		}
	}
	return out
}

// bringsNginx says whether one of the packages that a machine gets is an nginx, by the names that distributions have
// for it.
func (r *run) bringsNginx(n config.Node, m *bundle.Manifest) bool {
	names := []string{"nginx", "nginx-core", "nginx-light", "nginx-full", "nginx-extras"}
	return r.ProgramIn(n, m, "nginx") != "" || slices.ContainsFunc(append(r.Packages(n, m), r.Listed(n, "repo")...),
		func(p string) bool { return slices.Contains(names, p) })
}
