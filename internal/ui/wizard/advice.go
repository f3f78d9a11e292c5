package wizard

import (
	"cmp"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// What is said at each step.

// advice implements adviser.
func (f *form) advice(e *frame.Env) ([]topic, int) {
	p := f.p
	switch f.name {
	case "cluster":
		return []topic{{e.P.T("wizard.tips.need"), plainTips(e, "wizard.tips.need", "machines", "bundle", "networks")},
			{e.P.T("wizard.tips.kept"), plainTips(e, "wizard.tips.kept", "file", "state")}}, formWide
	case "login":
		list := []topic{{e.P.T("wizard.tips.login"),
			plainTips(e, "wizard.tips.login", "key", "password", "sudo", "hostkey", "bastion")}}
		if found := p.whoIsFound(e); found != nil {
			list = append(list, topic{e.P.T("wizard.tips.found"), found})
		}
		return list, formWide
	case "networks":
		return []topic{{e.P.T("wizard.tips.ranges"), p.ranges(e, f)},
			{e.P.T("wizard.tips.ports"), p.ports(e)}}, formWide
	case "runtime":
		return p.runtimeTopics(e), formWide
	}
	return nil, 0
}

// whoIsFound are the machines that were probed, by how they are, and why most of those that failed did.
func (p *Page) whoIsFound(e *frame.Env) []tip {
	type state struct {
		glyph, word string
		ink         widget.Ink
		names       []string
		faults      []*event.Fault
	}
	var list []state
	for _, m := range p.g.Draft.Machines {
		l := p.g.Probe(m)
		how, word := guide.State(e.P, l, 0)
		glyph, ink := tone(e, how)
		i := slices.IndexFunc(list, func(s state) bool { return s.word == word })
		if i < 0 {
			i, list = len(list), append(list, state{glyph: glyph, word: word, ink: ink})
		}
		list[i].names = append(list[i].names, event.Clean(m.Name))
		if l != nil && l.Fault != nil {
			list[i].faults = append(list[i].faults, l.Fault)
		}
	}
	var out []tip
	for _, s := range list {
		out = append(out, tip{label: s.glyph + " " + s.word, ink: s.ink, text: e.P.List(report.Ranges(s.names))})
		if f := mostCommon(s.faults); f != nil {
			text, _ := faultWords(e, f)
			out = append(out, tip{text: text})
		}
	}
	return out
}

// mostCommon is a fault of the kind that most of them are; of as many, the first. nil: there are none.
func mostCommon(list []*event.Fault) (most *event.Fault) {
	counts, top := map[string]int{}, 0
	for _, f := range list {
		counts[f.Code]++
	}
	for _, f := range list {
		if n := counts[f.Code]; n > top {
			most, top = f, n
		}
	}
	return most
}

// ranges are the networks, how much room they have, the addresses of the machines, and whether they overlap.
func (p *Page) ranges(e *frame.Env, s step) []tip {
	pods, services := p.g.Draft.Get("network.podcidr"), p.g.Draft.Get("service.cidr")
	if bits, ok := bitsOf(pods); ok {
		pods = e.P.T("wizard.tips.ranges.pods", "cidr", pods, "count", itoa(1<<max(0, 24-bits)))
	}
	if bits, ok := bitsOf(services); ok {
		services = e.P.T("wizard.tips.ranges.services", "cidr", services, "count", itoa(max(1, 1<<(32-bits)-2)))
	}
	overlap := e.P.T("wizard.tips.ranges.overlap.none")
	if p.g.ProblemsOf(s.id()).HasErrors() {
		overlap = e.P.T("wizard.tips.ranges.overlap.some")
	}
	return []tip{{label: e.P.T("sketch.pods"), text: event.Clean(pods)},
		{label: e.P.T("sketch.services"), text: event.Clean(services)}, p.taken(e),
		{label: e.P.T("wizard.tips.ranges.overlap"), text: overlap}}
}

// bitsOf is how many bits of a network of IPv4 are fixed.
func bitsOf(cidr string) (int, bool) {
	x, err := netip.ParsePrefix(cidr)
	return x.Bits(), err == nil && x.Addr().Is4()
}

// taken are the addresses that the machines have.
func (p *Page) taken(e *frame.Env) tip {
	var list []string
	for _, m := range p.g.Draft.Machines {
		list = append(list, event.Clean(m.IP))
	}
	return tip{label: e.P.T("wizard.tips.ranges.machines"), text: e.P.List(report.Ranges(list))}
}

// ports are those on which machines reach each other, with what listens there.
func (p *Page) ports(e *frame.Env) []tip {
	out := []tip{{label: "6443/tcp", text: e.P.T("wizard.tips.ports.api")}}
	if len(p.g.Draft.With(bundle.LoadBalancer)) > 0 {
		out = append(out, tip{label: cmp.Or(p.g.Draft.BindPort, "8443") + "/tcp", text: e.P.T("wizard.tips.ports.lb")})
	}
	out = append(out, tip{label: "2379-2380/tcp", text: "etcd"},
		tip{label: "10250/tcp", text: e.P.T("wizard.tips.ports.kubelet")})
	plugin := p.g.Draft.Get("network.plugin")
	var list []string
	for _, x := range config.PluginPorts(plugin) {
		list = append(list, fmt.Sprintf("%d/%s", x.Port, x.Protocol))
	}
	if len(list) > 0 {
		out = append(out, tip{label: strings.Join(list, " "), text: e.P.T("wizard.tips.ports.plugin", "plugin",
			plugin)})
	}
	return append(out, tip{label: e.P.T("wizard.tips.ports.firewall"), text: e.P.T("wizard.tips.ports.firewall.is")})
}

// runtimeTopics are what each choice means.
func (p *Page) runtimeTopics(e *frame.Env) []topic {
	mark := func(list []tip, values []string, now string) []tip {
		for i := range list {
			list[i].on = values[i] == now
		}
		return list
	}
	runtimes, dns := []string{"containerd", "docker", "isulad"}, []string{"pod", "binary"}
	return []topic{
		{e.P.T("wizard.tips.runtime"), mark(plainTips(e, "wizard.tips.runtime", runtimes...), runtimes,
			p.g.Draft.Get("runtime"))},
		{"CoreDNS", mark(plainTips(e, "wizard.tips.dns", dns...), dns, p.g.Draft.Get("service.dns.corednstype"))},
		{e.P.T("wizard.tips.registries"), plainTips(e, "wizard.tips.registries", "bundle", "mirrors")},
	}
}

// advice implements adviser: what roles do, how many failures the choice survives, and what the machine is.
func (n *nodes) advice(e *frame.Env) ([]topic, int) {
	t := e.Theme
	var roles []tip
	for k, r := range guide.Roles() {
		word := string("MWEL"[k]) + " " + e.P.T("ui.role."+string(r))
		roles = append(roles, tip{label: word, ink: t.Accent, text: e.P.T("wizard.tips.role." + string(r))})
	}
	var list []topic
	if i := n.now(); i >= 0 {
		if x := n.machine(e, i); x != nil {
			list = append(list, topic{event.Clean(n.p.g.Draft.Machines[i].Name), x})
		}
	}
	list = append(list, topic{e.P.T("wizard.tips.roles"), roles})
	if len(n.p.g.Draft.Machines) > 0 {
		list = append(list, topic{e.P.T("wizard.tips.faults"), n.p.faults(e)})
	}
	return list, tableWide
}

// faults say how many machines of a role may fail.
func (p *Page) faults(e *frame.Env) []tip {
	say := func(role bundle.Role, members, survives int) tip {
		if survives == 0 {
			return tip{label: e.P.T("ui.role." + string(role)), text: e.P.T("wizard.tips.faults.none", "count",
				itoa(members))}
		}
		return tip{label: e.P.T("ui.role." + string(role)), text: e.P.T("wizard.tips.faults.is", "count", itoa(members),
			"down", itoa(survives))}
	}
	masters, etcd := len(p.g.Draft.With(bundle.ControlPlane)), len(p.g.Draft.With(bundle.Etcd))
	if etcd == 0 {
		etcd = masters
	}
	out := []tip{say(bundle.ControlPlane, masters, max(0, masters-1)), say(bundle.Etcd, etcd, max(0, (etcd-1)/2))}
	if masters > 1 && len(p.g.Draft.With(bundle.LoadBalancer)) == 0 && p.g.Draft.Value("apiserver-endpoint") == "" {
		out = append(out, tip{label: e.P.T("wizard.tips.faults.api"), text: e.P.T("wizard.tips.faults.api.first")})
	}
	return out
}

// machine is what was found on a machine; nil while nobody knows.
func (n *nodes) machine(e *frame.Env, i int) []tip {
	l := n.probeOf(i)
	if l == nil || l.Stage != draft.Seen {
		return nil
	}
	var out []tip
	add := func(key, text string) {
		if text != "" {
			out = append(out, tip{label: e.P.T("wizard.tips.machine." + key), text: event.Clean(text)})
		}
	}
	add("host", l.Hostname)
	add("os", strings.TrimSpace(l.OS+" "+l.Arch))
	if l.CPUs > 0 {
		add("size", e.P.List([]string{e.P.T("wizard.fact.cpus", "count", itoa(l.CPUs)), guide.Size(l.Memory)}))
	}
	if l.Disk > 0 {
		add("disk", e.P.T("wizard.fact.disk", "size", guide.Size(l.Disk)))
	}
	add("clock", skew(e, l.Skew))
	add("cluster", l.Cluster)
	return out
}

// skew says how far a clock is from this host's.
func skew(e *frame.Env, d time.Duration) string {
	if d = d.Round(clockUnit); d == 0 {
		return e.P.T("wizard.tips.machine.clock.same")
	}
	return e.P.T("wizard.tips.machine.clock.off", "skew", d.String())
}

// advice implements adviser: what the bundle at the cursor contains.
func (b *bundles) advice(e *frame.Env) ([]topic, int) {
	x, ok := b.now()
	if !ok || x.Manifest == nil {
		return nil, 0
	}
	m := x.Manifest
	var tips []tip
	for _, c := range guide.Components(m) {
		tips = append(tips, tip{label: c.Name, text: event.Clean(c.Version)})
	}
	type kind struct {
		count int
		bytes int64
	}
	kinds := map[string]kind{}
	for _, y := range m.Members {
		k := string(y.Kind)
		if y.Kind == bundle.RPM || y.Kind == bundle.Deb {
			k = "packages"
		}
		kinds[k] = kind{kinds[k].count + 1, kinds[k].bytes + y.Size}
	}
	images := kinds[string(bundle.Images)]
	kinds[string(bundle.Images)] = kind{len(m.Images), images.bytes}
	for _, k := range []string{"packages", string(bundle.Binary), string(bundle.Images), string(bundle.Addon)} {
		if y := kinds[k]; y.count > 0 {
			tips = append(tips, tip{label: e.P.T("wizard.tips.bundle." + k), text: e.P.T("wizard.tips.amount",
				"count", itoa(y.count), "size", report.Size(y.bytes))})
		}
	}
	if x.Signed.Key != "" {
		tips = append(tips, tip{label: e.P.T("wizard.tips.bundle.signed"), text: event.Clean(e.P.Msg(x.Signed))})
	}
	return []topic{{e.P.T("wizard.tips.bundle", "file", event.Clean(filepath.Base(x.Path))), tips}}, formWide
}

// advice implements adviser: what the setting under the cursor is.
func (x *extra) advice(e *frame.Env) ([]topic, int) {
	list := x.shown(e)
	if len(list) == 0 {
		return nil, 0
	}
	s := list[x.at]
	tips := []tip{{label: e.P.T("wizard.tips.key.what"), text: guide.Hint(e.P, s.Key)}}
	add := func(key, text string) {
		if text != "" {
			tips = append(tips, tip{label: e.P.T("wizard.tips.key." + key), text: event.Clean(text)})
		}
	}
	add("default", cmp.Or(s.Default, e.P.T("wizard.unset")))
	add("values", e.P.List(s.Choices))
	if v := x.p.g.Draft.Value(s.Key); v != "" && s.Kind != config.Secret && s.Kind != config.Block {
		add("now", v)
	}
	if s.Applies != nil && !s.Applies(x.p.g.Draft.Get) {
		tips = append(tips, tip{label: e.P.T("wizard.tips.key.unused"), text: e.P.T("wizard.tips.key.unused.is")})
	}
	return []topic{{s.Label(), tips}}, tableWide
}

// advice implements adviser: what is checked, and what the machines are.
func (f *preflight) advice(e *frame.Env) ([]topic, int) {
	list := []topic{{e.P.T("wizard.tips.checks"),
		plainTips(e, "wizard.tips.checks", "machines", "conflicts", "network", "bundles")}}
	if tips := f.p.spread(e); tips != nil {
		list = append(list, topic{e.P.T("wizard.tips.found"), tips})
	}
	return list, formWide
}

// spread is what the machines are, as far as they were probed: the least and the most of each.
func (p *Page) spread(e *frame.Env) []tip {
	var seen []*draft.Probe
	systems := map[string]int{}
	var names []string
	for _, m := range p.g.Draft.Machines {
		l := p.g.Probe(m)
		if l == nil || l.Stage != draft.Seen {
			continue
		}
		seen = append(seen, l)
		name := event.Clean(strings.TrimSpace(l.OS + " " + l.Arch))
		if systems[name]++; systems[name] == 1 {
			names = append(names, name)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	for i, name := range names {
		names[i] = e.P.T("wizard.tips.times", "count", itoa(systems[name]), "what", name)
	}
	out := []tip{{label: e.P.T("wizard.tips.machine.os"), text: e.P.List(names)}}
	add := func(key string, of func(*draft.Probe) int64, text func(int64) string) {
		least, most := of(seen[0]), of(seen[0])
		for _, l := range seen {
			least, most = min(least, of(l)), max(most, of(l))
		}
		said := text(most)
		if low := text(least); low != said {
			said = e.P.T("sketch.upload.range", "least", low, "most", said)
		}
		out = append(out, tip{label: e.P.T("wizard.tips.machine." + key), text: said})
	}
	add("cpus", func(l *draft.Probe) int64 { return int64(l.CPUs) }, func(n int64) string { return itoa(int(n)) })
	add("memory", func(l *draft.Probe) int64 { return l.Memory }, guide.Size)
	add("disk", func(l *draft.Probe) int64 { return l.Disk }, guide.Size)
	return append(out, tip{label: e.P.T("wizard.tips.machine.clock"), text: skews(e, seen)})
}

// skews describes how far the clocks of machines are from this host's: the largest difference, unless all are the same.
func skews(e *frame.Env, list []*draft.Probe) string {
	least, most := list[0].Skew.Abs(), list[0].Skew.Abs()
	for _, l := range list {
		least, most = min(least, l.Skew.Abs()), max(most, l.Skew.Abs())
	}
	if text := skew(e, most); text == skew(e, least) {
		return text
	}
	return e.P.T("wizard.tips.machine.clock.most", "skew", most.Round(clockUnit).String())
}

const clockUnit = 100 * time.Millisecond
