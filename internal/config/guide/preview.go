package guide

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// PreviewInput has all from which a preview is computed; it reads no files.
type PreviewInput struct {
	Draft   config.Draft
	Cluster *config.Cluster    // what the draft makes; nil while it has errors
	Bundles []*bundle.Manifest // that the draft names, as far as they are read
	Plan    []draft.Planned    // what would be done
	Planned bool               // the plan is known; it may be empty
	Past    []draft.Past       // earlier installs on this control host, newest first
	// Member reports whether a machine is in the cluster that the others join; nil for a new cluster.
	Member func(config.Machine) bool
}

// Preview returns the preview of the session. plan lists the changes, if planned; past are earlier installations on
// this control host, newest first.
func (s *Session) Preview(p *i18n.Printer, plan []draft.Planned, planned bool, past []draft.Past) Preview {
	in := PreviewInput{Draft: s.Draft, Cluster: s.Cluster, Plan: plan, Planned: planned, Past: past}
	if s.Joins() {
		in.Member = s.Member
	}
	for _, x := range s.Bundles {
		if x.Manifest != nil && s.Chosen(x.Path) {
			in.Bundles = append(in.Bundles, x.Manifest)
		}
	}
	return PreviewOf(in, p)
}

// Preview describes the cluster that an installation makes.
type Preview struct {
	Groups  []Group // in the order of a request: load balancer, control planes, etcd of its own, workers
	Stacked bool    // etcd runs on the control planes
	Rows    []Row
}

// Group has the nodes of a role.
type Group struct {
	Role  bundle.Role
	Names []string // in the order of deploy.yaml
	Fresh int      // how many of them join
	Runs  []string // components, with the ports on which others reach them
}

// Row is a property of the cluster: its key, a label and what it is, both in the language of the printer. One without a
// label belongs to the row above.
type Row struct{ Key, Label, Text string }

// TimeRow is the key of the row with the expected time.
const TimeRow = "time"

// Lines returns the preview as lines of text, without the rows of some keys.
func (s Preview) Lines(p *i18n.Printer, joins bool, without ...string) []string {
	var out []string
	for _, g := range s.Groups {
		out = append(out, g.Line(p, joins))
	}
	for _, r := range s.Rows {
		switch {
		case slices.Contains(without, r.Key):
		case r.Label == "":
			out = append(out, r.Text)
		default:
			out = append(out, p.T("sketch.row", "label", r.Label, "text", r.Text))
		}
	}
	return out
}

// Title names a group, with the number of its nodes.
func (g Group) Title(p *i18n.Printer, joins bool) string {
	kv := []string{"count", itoa(len(g.Names)), "fresh", itoa(g.Fresh)}
	if joins && g.Fresh > 0 {
		return p.T("sketch.group.joins."+string(g.Role), kv...)
	}
	return p.T("sketch.group."+string(g.Role), kv...)
}

// Line returns the group as a line of text.
func (g Group) Line(p *i18n.Printer, joins bool) string {
	return p.T("sketch.line", "title", g.Title(p, joins), "names", p.List(report.Ranges(g.Names)), "runs",
		p.List(g.Runs))
}

// PreviewOf computes a preview.
func PreviewOf(in PreviewInput, p *i18n.Printer) Preview {
	nodes := in.nodes()
	s := Preview{Stacked: stacked(nodes)}
	for _, role := range []bundle.Role{bundle.LoadBalancer, bundle.ControlPlane, bundle.Etcd, bundle.Worker} {
		g := Group{Role: role, Runs: in.runs(role, s.Stacked)}
		for _, n := range nodes {
			if n.Has(role) {
				g.Names = append(g.Names, event.Clean(n.Name))
				if n.fresh {
					g.Fresh++
				}
			}
		}
		if len(g.Names) > 0 && (role != bundle.Etcd || !s.Stacked) {
			s.Groups = append(s.Groups, g)
		}
	}
	add := func(label, text string) {
		if text != "" {
			s.Rows = append(s.Rows, Row{label, p.T("sketch." + label), event.Clean(text)})
		}
	}
	add("versions", in.versions(p))
	if in.Member == nil && in.Cluster != nil {
		c := in.Cluster
		add("api", c.Endpoint)
		add("pods", p.T("sketch.pods.is", "cidr", c.PodCIDR.String(), "plugin", c.NetworkPlugin))
		add("services", p.T("sketch.services.is", "cidr", c.ServiceCIDR.String(), "dns", c.DNSAddr.String(), "domain",
			c.DNSDomain))
	}
	if text, some := in.upload(p, nodes); text != "" {
		add("upload", text)
		if some && in.packages() {
			s.Rows = append(s.Rows, Row{"upload", "", p.T("sketch.upload.packages")})
		}
	}
	if in.Member == nil {
		add(TimeRow, in.takes(p, len(nodes)))
	}
	return s
}

// node is a machine with the roles that it will have.
type node struct {
	config.Machine
	fresh bool
}

// nodes returns the machines of the draft. If none has the role, etcd runs on the control planes.
func (in PreviewInput) nodes() []node {
	external := len(in.Draft.With(bundle.Etcd)) > 0
	var out []node
	for _, m := range in.Draft.Machines {
		n := node{Machine: m, fresh: in.Member == nil || !in.Member(m)}
		if !external && m.Has(bundle.ControlPlane) {
			n.Roles = append(slices.Clone(m.Roles), bundle.Etcd)
		}
		out = append(out, n)
	}
	return out
}

// stacked reports whether etcd runs on the control planes and nowhere else.
func stacked(nodes []node) bool {
	return !slices.ContainsFunc(nodes, func(n node) bool { return n.Has(bundle.Etcd) != n.Has(bundle.ControlPlane) })
}

// runs returns the components of a role. Their names are the same in all languages.
func (in PreviewInput) runs(role bundle.Role, stacked bool) []string {
	switch role {
	case bundle.LoadBalancer:
		return []string{"nginx :" + bindPort(in.Draft)}
	case bundle.ControlPlane:
		out := []string{"kube-apiserver :" + config.APIPort}
		if stacked {
			out = append(out, "etcd :2379")
		}
		return out
	case bundle.Etcd:
		return []string{"etcd :2379"}
	}
	return []string{"kubelet, " + in.Draft.Get("runtime")}
}

// versions returns the versions of the components in the bundles, each once.
func (in PreviewInput) versions(p *i18n.Printer) string {
	var out []string
	for _, m := range in.Bundles {
		for _, c := range Components(m) {
			if text := c.String(); c.Main && !slices.Contains(out, text) && in.uses(c) {
				out = append(out, text)
			}
		}
	}
	return p.List(out)
}

// uses reports whether the cluster runs a component: of several runtimes in a bundle it runs one.
func (in PreviewInput) uses(c Component) bool {
	return c.Runtime == "" || c.Runtime == in.Draft.Get("runtime")
}

// Component is a part of a bundle that has a version of its own.
type Component struct {
	Name, Version string
	Main          bool   // a person asks for its version first
	Runtime       string // that it is; "" of what is none
}

// String returns name and version.
func (c Component) String() string { return strings.TrimSpace(c.Name + " " + c.Version) }

// Components returns the main parts of a bundle: Kubernetes, etcd, the runtime, the network, DNS.
func Components(m *bundle.Manifest) []Component {
	out := []Component{{Name: "Kubernetes", Version: m.Kubernetes, Main: true}}
	add := func(c Component) {
		if !slices.ContainsFunc(out, func(o Component) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	runtimes := map[string]string{"containerd": "containerd", "containerd.io": "containerd", "docker": "docker",
		"docker.io": "docker", "docker-ce": "docker", "docker-engine": "docker", "moby": "docker", "isulad": "isulad"}
	for _, e := range m.Members {
		switch rt := runtimes[strings.ToLower(e.Name)]; {
		case e.Kind == bundle.Binary && e.Name == "etcd":
			add(Component{Name: "etcd", Version: e.Version, Main: true})
		case rt != "" && (e.Kind == bundle.Binary || e.Kind == bundle.Deb || e.Kind == bundle.RPM):
			add(Component{Name: rt, Version: upstream(e.Version), Main: true, Runtime: rt})
		case e.Kind == bundle.Binary && e.Name == "coredns":
			add(Component{Name: "CoreDNS", Version: e.Version, Main: true})
		case e.Kind == bundle.Addon:
			add(Component{Name: addonName(e.Name), Version: e.Version, Main: true})
		}
	}
	for _, im := range m.Images {
		if repo, tag, _ := strings.Cut(path.Base(im.Name), ":"); repo == "coredns" {
			add(Component{Name: "CoreDNS", Version: tag, Main: true})
		}
	}
	return out
}

// upstream returns the version of a package without the epoch and the distribution's revision.
func upstream(version string) string {
	if at := strings.IndexByte(version, ':'); at >= 0 {
		version = version[at+1:]
	}
	for _, sign := range []string{"~", "+", "-"} {
		version, _, _ = strings.Cut(version, sign)
	}
	return version
}

// addonName returns the common name of what a manifest installs: flannel for kube-flannel.yml.
func addonName(file string) string {
	for _, end := range []string{".yml", ".yaml"} {
		file = strings.TrimSuffix(file, end)
	}
	return strings.TrimPrefix(file, "kube-")
}

// upload returns how many bytes are sent, by the plan or else by the manifests of the bundles, and whether there are
// any.
func (in PreviewInput) upload(p *i18n.Printer, nodes []node) (text string, some bool) {
	bytes, ok := in.bytes(nodes)
	total := int64(0)
	type share struct{ least, most int64 }
	var roles []bundle.Role
	shares := map[bundle.Role]share{}
	for i, n := range nodes {
		if !n.fresh && bytes[i] == 0 {
			continue
		}
		total += bytes[i]
		role := first(n.Roles)
		s, known := shares[role]
		if !known {
			roles, s = append(roles, role), share{bytes[i], bytes[i]}
		}
		shares[role] = share{min(s.least, bytes[i]), max(s.most, bytes[i])}
	}
	if !ok {
		return "", false
	}
	if total == 0 {
		return p.T("sketch.upload.none"), false
	}
	var parts []string
	for _, role := range roles {
		s := shares[role]
		if s.most == 0 {
			continue
		}
		text := report.Size(s.least)
		if low, high := text, report.Size(s.most); low != high {
			text = p.T("sketch.upload.range", "least", low, "most", high)
		}
		parts = append(parts, p.T("sketch.upload.node."+string(role), "size", text))
	}
	key := "sketch.upload.about"
	if in.Planned {
		key = "sketch.upload.is"
	}
	return p.T(key, "total", report.Size(total), "each", p.List(parts)), true
}

// first returns the role that decides most of what a node gets.
func first(roles []bundle.Role) bundle.Role {
	for _, r := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd} {
		if slices.Contains(roles, r) {
			return r
		}
	}
	return bundle.LoadBalancer
}

// bytes returns how many bytes are sent to each node; false if that is not known.
func (in PreviewInput) bytes(nodes []node) ([]int64, bool) {
	out := make([]int64, len(nodes))
	if in.Planned {
		for i, n := range nodes {
			for _, x := range in.Plan {
				if x.Node == n.Name {
					out[i] = x.Upload
				}
			}
		}
		return out, true
	}
	if in.Member != nil || len(in.Bundles) == 0 {
		return out, false
	}
	for i, n := range nodes {
		at := slices.IndexFunc(in.Bundles, func(m *bundle.Manifest) bool {
			return m.Arch == cmp.Or(n.Arch, "amd64")
		})
		if at < 0 {
			return out, false
		}
		out[i] = sent(in.Bundles[at], n.Roles)
	}
	return out, true
}

// sent returns how many bytes a node with the roles gets of a bundle, without packages: what a node lacks of these is
// not known before.
func sent(m *bundle.Manifest, roles []bundle.Role) int64 {
	total := int64(0)
	for _, e := range m.Needs(roles...) {
		if m.Target(e) != "" {
			total += e.Size
		}
	}
	for _, im := range m.ImagesFor(roles...) {
		total += im.Size
	}
	return total
}

// packages reports whether nodes choose packages from the bundles.
func (in PreviewInput) packages() bool {
	return slices.ContainsFunc(in.Bundles, func(m *bundle.Manifest) bool { return len(m.Install) > 0 })
}

// takes returns how long an install takes, as earlier ones on this control host tell. A number is an expectation only
// where one of them had about as many nodes.
func (in PreviewInput) takes(p *i18n.Printer, nodes int) string {
	if len(in.Past) == 0 || nodes == 0 {
		return p.T("sketch.time.unknown")
	}
	apart := func(x draft.Past) float64 {
		return float64(max(x.Nodes, nodes)) / float64(max(1, min(x.Nodes, nodes)))
	}
	best := in.Past[0]
	for _, x := range in.Past {
		if apart(x) < apart(best) {
			best = x
		}
	}
	minutes := max(1, int(best.Took.Round(time.Minute).Minutes()))
	kv := []string{"count", itoa(best.Nodes), "took", report.Short(best.Took), "cluster", best.Cluster, "when",
		best.At.Local().Format("2006-01-02"), "minutes", itoa(minutes), "nodes", itoa(nodes)}
	if apart(best) <= 2 {
		return p.T("sketch.time.about", kv...)
	}
	return p.T("sketch.time.other", kv...)
}
