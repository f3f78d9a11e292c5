package operation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// head is a bundle by what it says of itself; nothing of it has been verified.
type head struct {
	path string
	*bundle.Manifest
	sums    []byte
	version version
}

// system is the operating system that its packages are for.
func (h head) system() string {
	if h.OS.ID == "" {
		return ""
	}
	return strings.TrimSpace(h.OS.ID + " " + h.OS.Release)
}

// version of Kubernetes: its numbers, and what follows them.
type version struct {
	major, minor, patch int
	rest                string
}

// parseVersion reads v1.35.4, or v1.35.4-rc.1.
func parseVersion(s string) (version, bool) {
	numbers, rest, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 3 {
		return version{}, false
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return version{}, false
		}
		n[i] = int(v)
	}
	return version{n[0], n[1], n[2], rest}, true
}

// compare orders versions; a release comes after what led to it.
func (v version) compare(o version) int {
	numbers := cmp.Or(
		cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch))
	if numbers != 0 {
		return numbers
	}
	switch {
	case v.rest == o.rest:
		return 0
	case v.rest == "":
		return 1
	case o.rest == "":
		return -1
	}
	return cmp.Compare(v.rest, o.rest)
}

// heads reads what bundles say of themselves.
func (p *prepared) heads(paths []string) ([]head, error) {
	var out []head
	for _, path := range paths {
		m, sums, err := p.deps.Bundles.Head(path)
		if err != nil {
			f := event.AsFault(err)
			if f.Args["file"] == "" {
				f = event.NewFault(event.ClassBundle, "upgrade.unreadable", err, "file", path)
			}
			return nil, f
		}
		v, ok := parseVersion(m.Kubernetes)
		if !ok {
			return nil, event.NewFault(event.ClassBundle, "upgrade.no-version", nil,
				"file", path, "version", m.Kubernetes)
		}
		out = append(out, head{path, m, sums, v})
	}
	return out, nil
}

// hops makes a chain of bundles: for each version, in their order, those of every architecture. Bundles for more than
// one operating system are told apart by own, the cluster's bundles of now: what is like those stands in their place.
func hops(c *config.Cluster, from version, own, given []head) ([]upgrade.Hop, error) {
	byVersion := map[string][]head{}
	for _, h := range given {
		byVersion[h.Kubernetes] = append(byVersion[h.Kubernetes], h)
	}
	versions := slices.SortedFunc(maps.Keys(byVersion), func(a, b string) int {
		return byVersion[a][0].version.compare(byVersion[b][0].version)
	})
	var out []upgrade.Hop
	for _, name := range versions {
		v := byVersion[name][0].version
		if v.major != from.major || v.minor > from.minor+1 {
			return nil, event.NewFault(event.ClassUsage, "upgrade.skipped", nil, "from", minorOf(from), "to", name,
				"missing", minorOf(version{major: from.major, minor: from.minor + 1}))
		}
		src, err := sourceOf(c, name, own, byVersion[name])
		if err != nil {
			return nil, err
		}
		out = append(out, upgrade.Hop{Version: name, Source: src})
		from = v
	}
	return out, nil
}

func minorOf(v version) string { return strconv.Itoa(v.major) + "." + strconv.Itoa(v.minor) }

// sourceOf are the bundles of one version as deploy.yaml names them.
func sourceOf(c *config.Cluster, version string, own, given []head) (config.PackageSource, error) {
	src := config.PackageSource{Type: c.Source.Type, DstPath: c.Source.DstPath, Bundles: map[string]string{}}
	seen := map[[2]string]string{}
	for _, h := range given {
		what := [2]string{h.Arch, h.system()}
		if other, twice := seen[what]; twice {
			return src, event.NewFault(event.ClassUsage, "upgrade.twice", nil, "version", version, "arch", h.Arch,
				"system", h.system(), "file", other, "other", h.path)
		}
		seen[what] = h.path
	}
	for _, arch := range slices.Sorted(maps.Keys(archesOf(given))) {
		first := mainOf(arch, own, given)
		src.Bundles[arch] = first
		for _, h := range given {
			if h.Arch == arch && h.path != first {
				src.More = append(src.More, h.path)
			}
		}
	}
	for _, n := range c.Nodes {
		if src.Bundles[n.Arch] == "" {
			return src, event.NewFault(event.ClassUsage, "upgrade.arch", nil, "version", version, "arch", n.Arch,
				"names", strings.Join(namesOf(c, n.Arch), ", "))
		}
	}
	return src, nil
}

func archesOf(given []head) map[string]bool {
	out := map[string]bool{}
	for _, h := range given {
		out[h.Arch] = true
	}
	return out
}

// mainOf is the bundle of an architecture that is for the system of the cluster's own, else the first.
func mainOf(arch string, own, given []head) string {
	first := ""
	for _, h := range given {
		if h.Arch != arch {
			continue
		}
		if first == "" {
			first = h.path
		}
		if i := slices.IndexFunc(own, func(o head) bool { return o.Arch == arch }); i >= 0 &&
			own[i].system() == h.system() {
			return h.path
		}
	}
	return first
}

func namesOf(c *config.Cluster, arch string) []string {
	var out []string
	for _, n := range c.Nodes {
		if n.Arch == arch {
			out = append(out, n.Name)
		}
	}
	return out
}

// ownMoved has given bundles of the version that an upgrade comes from take the place of those that cannot be read any
// more: they may lie elsewhere since it began. The cluster's own deploy.yaml names them when preflight has passed.
func (p *prepared) ownMoved(r *route, given []head) {
	from, _ := parseVersion(r.from)
	lost := func(path string) bool {
		_, err := p.heads([]string{p.beside(path)})
		return err != nil
	}
	c := *p.cluster
	c.Source.Bundles, c.Source.More = maps.Clone(c.Source.Bundles), slices.Clone(c.Source.More)
	for _, h := range given {
		if h.version != from {
			continue
		}
		if path, has := c.Source.Bundles[h.Arch]; has && lost(path) {
			c.Source.Bundles[h.Arch] = h.path
		} else if i := slices.IndexFunc(c.Source.More, lost); i >= 0 {
			c.Source.More[i] = h.path
		}
	}
	if sameBundles(c.Source, p.cluster.Source) {
		return
	}
	p.cluster = &c
	r.moved = func(ctx context.Context) error { return p.reached(ctx, upgrade.Hop{Source: c.Source}) }
}

// likeNow are bundles that are in use, as far as they can be read: new ones take the place of those that they are like.
func (p *prepared) likeNow(src config.PackageSource) []head {
	var out []head
	for _, c := range []*config.Cluster{p.cluster, {Source: src}} {
		for _, b := range c.Bundles() {
			if h, err := p.heads([]string{p.beside(b.Path)}); err == nil {
				out = append(out, h...)
			}
		}
	}
	return out
}

// sameBundles says whether two sources are of the same files; which of them stands in which place is not compared.
func sameBundles(a, b config.PackageSource) bool {
	files := func(s config.PackageSource) []string {
		out := slices.AppendSeq(slices.Clone(s.More), maps.Values(s.Bundles))
		slices.Sort(out)
		return out
	}
	return slices.Equal(files(a), files(b))
}
