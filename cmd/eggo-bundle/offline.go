package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/addon"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// offline answers "would this install without a network on these nodes?" from a deploy.yaml and the verified bundles.
type offline struct {
	env     *environment
	file    string
	cluster *config.Cluster
	given   []given
}

type given struct {
	file     string
	manifest *bundle.Manifest
	base     *bundle.Base
}

func newOffline(env *environment, file string) (*offline, error) {
	c, err := loadDeploy(env, file)
	return &offline{env: env, file: file, cluster: c}, err
}

// loadDeploy reads a deploy.yaml; its warnings are shown, all its errors returned.
func loadDeploy(env *environment, file string) (*config.Cluster, error) {
	c, problems, err := config.LoadFile(file)
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, x := range problems {
		if x.Severity == event.Error {
			bad = append(bad, problemFault(x, event.ClassUsage))
			continue
		}
		text, _ := env.P.Fault(x.Fault())
		if env.json {
			_ = env.emit("problem", fields{"severity": x.Severity, "code": x.Code, "message": text, "fault": x.Fault(),
				"file": x.File, "line": fmt.Sprint(x.Line), "key": x.Key})
		}
		env.tell(fmt.Sprintf("%s:%d: %s: %s [%s]", event.Clean(x.File), x.Line, env.P.T("cli.warning"), text, x.Code))
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return c, nil
}

// problemFault is a problem of deploy.yaml with its place.
func problemFault(x config.Problem, class event.Class) error {
	f := x.Fault()
	f.Class, f.Args = class, maps.Clone(f.Args)
	if f.Args == nil {
		f.Args = map[string]string{}
	}
	f.Args["file"], f.Args["line"] = x.File, fmt.Sprint(x.Line)
	return f
}

func (o *offline) add(file string, r *bundle.Report) {
	o.given = append(o.given, given{file, r.Manifest.Full(), r.Base})
}

// check returns everything that is missing. whole: all bundles that were given are undamaged, so that one which is not
// there was not given.
func (o *offline) check(whole bool) []error {
	var bad []error
	add := func(code string, kv ...string) {
		bad = append(bad, event.NewFault(event.ClassBundle, code, nil, kv...))
	}
	byArch := map[string][]given{}
	for _, g := range o.given {
		same := func(x given) bool { return x.manifest.OS == g.manifest.OS }
		if i := slices.IndexFunc(byArch[g.manifest.Arch], same); i >= 0 {
			add("verify.two-bundles", "file", g.file, "other", byArch[g.manifest.Arch][i].file, "arch", g.manifest.Arch,
				"os", osName(g.manifest.OS))
			continue
		}
		byArch[g.manifest.Arch] = append(byArch[g.manifest.Arch], g)
	}
	for _, arch := range o.arches() {
		list := byArch[arch]
		if len(list) == 0 {
			if whole {
				add("verify.no-bundle", "arch", arch, "nodes", strings.Join(o.nodes(arch), ", "))
			}
			continue
		}
		// Which of several bundles serves a machine only its operating system says: together they must have everything.
		m := union(list)
		for _, x := range o.cluster.MissingFrom(m) {
			bad = append(bad, problemFault(x, event.ClassBundle))
		}
		o.parts(m, add)
		for _, g := range list {
			if g.base != nil && !baseBeside(g) {
				add("verify.base", "file", g.file, "name", g.base.Name, "arch", arch, "base", g.base.ID)
			}
		}
	}
	o.agree(add)
	if len(bad) == 0 && whole {
		o.fits()
	}
	return bad
}

// union is a manifest with all that bundles of one architecture have.
func union(list []given) *bundle.Manifest {
	m := *list[0].manifest
	for _, g := range list[1:] {
		m.Members = slices.Concat(m.Members, g.manifest.Members)
		m.Images = slices.Concat(m.Images, g.manifest.Images)
		m.Install = slices.Concat(m.Install, g.manifest.Install)
	}
	return &m
}

// arches are those of the nodes.
func (o *offline) arches() []string {
	var out []string
	for _, n := range o.cluster.Nodes {
		if !slices.Contains(out, n.Arch) {
			out = append(out, n.Arch)
		}
	}
	slices.Sort(out)
	return out
}

func (o *offline) nodes(arch string) []string {
	var out []string
	for _, n := range o.cluster.Nodes {
		if n.Arch == arch {
			out = append(out, n.Name)
		}
	}
	return out
}

// parts looks for what deploy.yaml does not name because it goes without saying: programs, the runtime, the network's
// manifest, images.
func (o *offline) parts(m *bundle.Manifest, add func(code string, kv ...string)) {
	c := o.cluster
	has := func(kind bundle.Kind, role bundle.Role, name string) bool {
		return slices.ContainsFunc(m.Members, func(x bundle.Member) bool {
			return x.Kind == kind && x.Name == name && slices.Contains(x.Roles, role)
		})
	}
	runs := false
	for _, role := range bundle.AllRoles() {
		here := slices.ContainsFunc(c.With(role), func(n config.Node) bool { return n.Arch == m.Arch })
		if !here || len(c.Packages[role]) > 0 { // deploy.yaml's own list is what the role gets
			continue
		}
		runs = runs || role == bundle.ControlPlane || role == bundle.Worker
		for _, name := range slices.Concat(c.StartedPrograms(role), config.ToolPrograms(role)) {
			if !has(bundle.Binary, role, name) {
				add("verify.no-program", "program", name, "role", string(role), "arch", m.Arch)
			}
		}
	}
	names := config.RuntimePackages(c.Runtime)
	program := func(name string) bool {
		return slices.ContainsFunc(m.Members, func(x bundle.Member) bool {
			return x.Kind == bundle.Binary && path.Base(x.Path) == name
		})
	}
	for _, extra := range config.RuntimeExtras(c.Runtime) {
		if runs && !program(extra) {
			add("verify.no-program", "program", extra, "role", string(bundle.Worker), "arch", m.Arch)
		}
	}
	if runs && !program(config.RuntimeProgram(c.Runtime)) &&
		!slices.ContainsFunc(m.Install, func(x bundle.Package) bool { return slices.Contains(names, x.Name) }) {
		add("verify.no-runtime", "runtime", c.Runtime, "packages", strings.Join(names, ", "), "arch", m.Arch)
	}
	pods := slices.ContainsFunc(c.Nodes, func(n config.Node) bool {
		return n.Arch == m.Arch && (n.Has(bundle.ControlPlane) || n.Has(bundle.Worker))
	})
	if !pods {
		return // what only pods need
	}
	if !slices.ContainsFunc(m.Members, func(x bundle.Member) bool {
		return x.Kind == bundle.Addon && strings.Contains(path.Base(x.Path), c.NetworkPlugin)
	}) {
		add("verify.no-network", "plugin", c.NetworkPlugin, "arch", m.Arch)
	}
	if c.PauseImage == "" && imageTag(m, "pause") == nil {
		add("verify.no-image", "image", "pause", "arch", m.Arch)
	}
	for _, want := range c.PodImages(m) {
		if !slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return i.Name == want }) {
			add("verify.no-image", "image", want, "arch", m.Arch)
		} else if wants := otherEtcd(m.Kubernetes, want); wants != "" {
			add("verify.etcd-image", "image", want, "arch", m.Arch, "version", m.Kubernetes, "want", wants)
		}
	}
	serves := slices.ContainsFunc(c.With(bundle.ControlPlane), func(n config.Node) bool { return n.Arch == m.Arch })
	asked := slices.ContainsFunc(c.Packages[bundle.ControlPlane],
		func(p config.Package) bool { return p.Name == "coredns" })
	if c.DNS.Type == "binary" && serves && !asked && !has(bundle.Binary, bundle.ControlPlane, "coredns") &&
		!slices.ContainsFunc(m.Install, func(x bundle.Package) bool { return x.Name == "coredns" }) {
		add("verify.no-program", "program", "coredns", "role", string(bundle.ControlPlane), "arch", m.Arch)
	}
	if c.DNS.Type == "pod" {
		tags, want := imageTag(m, "coredns"), strings.TrimPrefix(c.DNS.ImageVersion, "v")
		if tags == nil || want != "" && !slices.ContainsFunc(tags,
			func(t string) bool { return strings.TrimPrefix(t, "v") == want }) {
			add("verify.no-image", "image", strings.TrimSuffix("coredns:"+c.DNS.ImageVersion, ":"), "arch", m.Arch)
		}
	}
}

// otherEtcd is the image of etcd that kubeadm of that version lists, if it makes no manifest for the one that is there:
// its flags are those of a minor version of etcd, and an older patch release lacks corrections that it relies on. Of a
// version that is not known nothing is said.
func otherEtcd(kubernetes, image string) string {
	repo, tag := config.SplitTag(image)
	list, _, err := addon.KubernetesImages(kubernetes)
	if path.Base(repo) != "etcd" || err != nil {
		return ""
	}
	for _, k := range list {
		if wantRepo, wantTag := config.SplitTag(k.Name); path.Base(wantRepo) == "etcd" && !asNew(tag, wantTag) {
			return k.Name
		}
	}
	return ""
}

// asNew says whether a tag of etcd is of the minor version of another one, and not older.
func asNew(tag, than string) bool {
	var is, want [3]int
	n, _ := fmt.Sscanf(strings.TrimPrefix(tag, "v"), "%d.%d.%d", &is[0], &is[1], &is[2])
	m, _ := fmt.Sscanf(than, "%d.%d.%d", &want[0], &want[1], &want[2])
	return n == 3 && m == 3 && is[0] == want[0] && is[1] == want[1] && is[2] >= want[2]
}

// imageTag gives the tags of the images whose repository ends with that name.
func imageTag(m *bundle.Manifest, base string) []string {
	var out []string
	for _, im := range m.Images {
		repo, tag, _ := strings.Cut(path.Base(im.Name), ":")
		if repo == base {
			out = append(out, tag)
		}
	}
	return out
}

// agree says where the bundles do not go together. They are for one operating system, unless deploy.yaml says that
// there are several.
func (o *offline) agree(add func(code string, kv ...string)) {
	for _, g := range o.given[min(1, len(o.given)):] {
		first := o.given[0]
		if a, b := first.manifest.Kubernetes, g.manifest.Kubernetes; a != b {
			add("verify.kubernetes", "file", first.file, "other", g.file, "version", a, "other_version", b)
		}
		if a, b := first.manifest.OS, g.manifest.OS; a != b && len(o.cluster.Source.More) == 0 {
			add("verify.os", "file", first.file, "other", g.file, "os", osName(a), "other_os", osName(b))
		}
	}
}

// baseBeside looks for the base of a difference where eggo-tui does.
func baseBeside(g given) bool {
	for _, file := range bundle.Beside(g.file) {
		if filepath.Clean(file) == filepath.Clean(g.file) {
			continue
		}
		if a, err := bundle.Open(file); err == nil && a.ID() == g.base.ID {
			return true
		}
	}
	return false
}

func osName(os bundle.OS) string {
	return strings.TrimSpace(os.ID + " " + os.Release + " " + os.Codename)
}

// fits says that nothing is missing, and for which nodes that holds.
func (o *offline) fits() {
	var systems []string
	for _, g := range o.given {
		if s := osName(g.manifest.OS); !slices.Contains(systems, s) {
			systems = append(systems, s)
		}
	}
	if o.env.json {
		_ = o.env.emit("fits", fields{"file": o.file, "nodes": len(o.cluster.Nodes), "arches": o.arches(),
			"systems": systems})
		return
	}
	_ = o.env.say(o.env.P.T("bundle.cli.fits", "file", o.file, "count", fmt.Sprint(len(o.cluster.Nodes)), "arches",
		strings.Join(o.arches(), ", "),
		"systems", strings.Join(systems, ", ")))
}
