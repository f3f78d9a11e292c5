package config

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/nodepath"
)

// packageSrc is where the bundles are, in the seed's layout.
func (l *loader) packageSrc(v val) {
	src := &l.c.Source
	paths := map[string]string{}
	bundlePath := func(arch string) reader {
		return func(v val) {
			if p, ok := l.checked(v, ruleLocalPath); ok {
				paths[arch] = p
			}
		}
	}
	l.fields(v, map[string]reader{
		"type":     l.oneOf(&src.Type, []string{"tar.gz"}, nil),
		"armsrc":   bundlePath("arm64"),
		"x86src":   bundlePath("amd64"),
		"distpath": l.single("distpath", l.dst(nodepath.Spool, &src.DstPath)),
		"dstpath":  l.single("distpath", l.dst(nodepath.Spool, &src.DstPath)),
	})
	src.Bundles = paths
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

// Names of the roles in deploy.yaml; node and worker are the older and the newer word for one thing.
var (
	roleWords = map[string]bundle.Role{
		"master": bundle.ControlPlane, "node": bundle.Worker, "worker": bundle.Worker, "etcd": bundle.Etcd, "loadbalance": bundle.LoadBalancer,
	}
	typeWords = map[string]string{"bin": "binary"}
	allTypes  = []string{"pkg", "repo", "binary", "file", "dir", "image", "yaml", "shell"}
	schedules = []string{"prejoin", "postjoin", "precleanup", "postcleanup"}
)

// packages are the lists of each role in the seed's layout, pacakges in the manual's spelling.
func (l *loader) packages(v val) {
	table := map[string]reader{}
	for word, role := range roleWords {
		table[word] = l.single("pacakges."+string(role), l.packageList(role))
	}
	l.fields(v, table)
}

// install is the later layout's word for package-src, pacakges and addons.
func (l *loader) install(v val) {
	src := &l.c.Source
	additions := map[string]reader{}
	for word, role := range roleWords {
		if word != "node" {
			additions[word] = l.packagesOf(true, role)
		}
	}
	// A control plane runs a kubelet and pods as a worker does, so what pods need goes to both.
	everywhere := l.packageList(bundle.ControlPlane, bundle.Worker)
	l.fields(v, map[string]reader{
		"package-source": func(v val) {
			l.fields(v, map[string]reader{
				"type": func(v val) {
					if v.node.Kind == yaml.ScalarNode && v.node.Value == "" {
						src.Type = ""
						return
					}
					l.oneOf(&src.Type, []string{"tar.gz"}, nil)(v)
				},
				"dstpath": l.dst(nodepath.Spool, &src.DstPath),
				"srcpath": l.srcPath,
			})
		},
		"etcd":              l.packageList(bundle.Etcd),
		"kubernetes-master": l.packageList(bundle.ControlPlane),
		"kubernetes-worker": l.packageList(bundle.Worker),
		"network":           everywhere,
		"container":         everywhere,
		"image":             everywhere,
		"loadbalance":       l.packageList(bundle.LoadBalancer),
		"dns":               l.packageList(bundle.ControlPlane),
		"addition":          func(v val) { l.fields(v, additions) },
	})
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
			l.errAt(position{key.Line, key.Column}, sub.path, "config.choice", "value", clip(key.Value), "choices", strings.Join(arches, ", "))
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

// packageList reads packages for the roles. A name of the later layout may be several, with commas between them.
func (l *loader) packageList(roles ...bundle.Role) reader { return l.packagesOf(false, roles...) }

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
	p := Package{Timeout: 30 * time.Second, key: v.path}
	var name string
	target := l.single(v.path+" dst", l.dst(nodepath.Listed, &p.Dst))
	l.fields(v, map[string]reader{
		"name":     func(v val) { name, _ = l.line(v) },
		"type":     l.oneOf(&p.Type, allTypes, typeWords),
		"dstpath":  target,
		"dst":      target,
		"schedule": l.oneOf(&p.Schedule, schedules, nil),
		"timeout":  l.duration(&p.Timeout, time.Hour),
	})
	if !l.require(v, "name", "type") || name == "" || p.Type == "" {
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
		if slices.Contains(keys, v.node.Content[i].Value) && v.node.Content[i+1].Value != "" && !isNull(v.node.Content[i+1]) {
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
		l.err(p.v, "config.package-conflict", "name", p.Name, "value", p.Type, "other", first.Type, "line", strconv.Itoa(first.v.at().line))
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
					l.err(now.v, "config.package-conflict", "name", p.Name, "value", strings.TrimSpace(now.Type+" "+now.Dst), "other", strings.TrimSpace(first.Type+" "+first.Dst),
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
