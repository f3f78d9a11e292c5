package config

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// packageSrc is where the bundles are, in the seed's layout.
func (l *loader) packageSrc(v val) {
	paths := map[string]string{}
	l.object(v, "package-src", paths)
	l.c.Source.Bundles = paths
}

func (l *loader) bundlePath(arch string, to map[string]string) reader {
	return func(v val) {
		if p, ok := l.checked(v, ruleLocalPath); ok {
			to[arch] = p
		}
	}
}

// dst is a directory on a node that files of the use may be put in.
func (l *loader) dst(use nodepath.Use, to *string) reader {
	return func(v val) {
		s, ok := l.checked(v, ruleNodePath)
		if ok && !nodepath.Dir(use, s) {
			l.err(v, "config.dst", "value", clip(s), "choices", strings.Join(nodepath.Dirs(use), ", "))
			return
		}
		if ok {
			*to = path.Clean(s)
		}
	}
}

// sourceType is tar.gz; nothing is the network.
func (l *loader) sourceType(v val) {
	if v.node.Kind == yaml.ScalarNode && v.node.Value == "" {
		l.c.Source.Type = ""
		return
	}
	l.oneOf(&l.c.Source.Type, []string{"tar.gz"}, nil)(v)
}

// srcPath maps architectures to bundles.
func (l *loader) srcPath(v val) {
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.pairs(v, func(key *yaml.Node, sub val) {
		arch := strings.ToLower(key.Value)
		if to, ok := archAliases[arch]; ok {
			arch = to
		}
		if !slices.Contains(arches, arch) {
			l.errAt(position{key.Line, key.Column}, sub.path, "config.choice", "value", clip(key.Value), "choices",
				strings.Join(arches, ", "))
			return
		}
		l.given[sub.path] = sub.at()
		if p, ok := l.checked(sub, ruleLocalPath); ok {
			l.c.Source.Bundles[arch] = p
		}
	})
}

// listed is a package with the place where it was asked for.
type listed struct {
	Package
	v val
}

// packagesOf reads packages for the roles. A name may be several, with commas between them.
func (l *loader) packagesOf(addition bool, roles ...bundle.Role) reader {
	return func(v val) {
		l.items(v, func(v val) {
			if !l.kind(v, yaml.MappingNode) {
				return
			}
			for _, p := range l.onePackage(v) {
				p.Addition = addition
				for _, role := range roles {
					l.addPackage(role, listed{p, v})
				}
			}
		})
	}
}

// onePackage reads one entry.
func (l *loader) onePackage(v val) []Package {
	p := Package{key: v.path}
	l.fill("<package>", &p)
	l.object(v, "<package>", &p)
	name := p.Name
	if !l.require(v, l.table.needed("<package>")...) || name == "" || p.Type == "" {
		return nil
	}
	needsDst := p.Type == "binary" || p.Type == "file" || p.Type == "dir"
	gaveDst := l.filled(v, "dst", "dstpath")
	switch {
	case needsDst && !gaveDst:
		l.err(v, "config.dst-missing", "value", p.Type)
	case !needsDst && gaveDst:
		l.warn(v, "config.dst-unused", "value", p.Type)
		p.Dst = ""
	}
	if p.Schedule != "" && p.Type != "shell" {
		l.warn(v, "config.schedule-unused", "value", p.Type)
	}
	if p.Schedule == "" && p.Type == "shell" && !l.filled(v, "schedule") {
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

// filled says whether one of the keys stands in the map with something after it.
func (l *loader) filled(v val, keys ...string) bool {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if slices.Contains(keys, v.node.Content[i].Value) && v.node.Content[i+1].Value != "" &&
			!isNull(v.node.Content[i+1]) {
			return true
		}
	}
	return false
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
			strconv.Itoa(first.v.at().line))
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
						"line", strconv.Itoa(first.v.at().line))
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
