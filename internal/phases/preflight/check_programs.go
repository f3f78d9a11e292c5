package preflight

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkPrograms finds that a machine would not get what its roles start, before anything is touched: its bundle does
// not have it, or the list of deploy.yaml for the role leaves it out. A script that runs before the services start may
// bring anything: a role that has one is not checked.
func checkPrograms() Check {
	return Check{
		Name: "programs", Needs: Served,
		Codes: []string{"preflight.no-program", "preflight.unlisted", "preflight.no-tool", "preflight.no-balancer"},
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			m := in.BundleFor(n, f).Manifest()
			var out []event.Finding
			told := map[string]bool{}
			add := func(sev event.Severity, code, program string, role bundle.Role) {
				if !told[program] {
					told[program] = true
					out = append(out, Finding(sev, n.Name, code, "program", program, "role", string(role), "bundle",
						m.Name, "arch", m.Arch))
				}
			}
			for _, role := range n.Roles {
				list := in.Cluster.Packages[role]
				if slices.ContainsFunc(list, func(p config.Package) bool {
					return p.Type == "shell" && p.Schedule == "prejoin"
				}) {
					continue
				}
				code := "preflight.no-program"
				if payload.Overrides(list) {
					code = "preflight.unlisted"
				}
				for _, name := range in.Starts(role) {
					if in.ProgramIn(n, m, name) == "" {
						add(event.Error, code, name, role)
					}
				}
				for _, name := range config.ToolPrograms(role) {
					if !payload.Overrides(list) && in.ProgramIn(n, m, name) == "" {
						add(event.Warning, "preflight.no-tool", name, role)
					}
				}
				if role == bundle.LoadBalancer && !f.Nginx && !bringsNginx(in, n, m) {
					add(event.Error, "preflight.no-balancer", "nginx", role)
				}
			}
			return out
		},
	}
}

// bringsNginx says whether one of the packages that a machine gets is an nginx, by the names that distributions have
// for it.
func bringsNginx(in *Input, n config.Node, m *bundle.Manifest) bool {
	names := []string{"nginx", "nginx-core", "nginx-light", "nginx-full", "nginx-extras"}
	return in.ProgramIn(n, m, "nginx") != "" || slices.ContainsFunc(append(in.Packages(n, m), in.Listed(n, "repo")...),
		func(p string) bool { return slices.Contains(names, p) })
}
