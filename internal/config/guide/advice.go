package guide

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
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Topic is a titled list of tips.
type Topic struct {
	Title string
	Tips  []Tip
}

// Tip explains what its label names. One without a label continues the tip above.
type Tip struct {
	Label, Text string
	Tone        Tone // of the label
	On          bool // the choice that holds
}

// plainTips makes tips of sentences: PREFIX.KEY is the label, PREFIX.KEY.is the text.
func plainTips(p *i18n.Printer, prefix string, keys ...string) []Tip {
	var out []Tip
	for _, k := range keys {
		out = append(out, Tip{Label: p.T(prefix + "." + k), Text: p.T(prefix + "." + k + ".is")})
	}
	return out
}

// Advice returns what helps at a step, the most important first.
func (s *Session) Advice(p *i18n.Printer, t Step) []Topic {
	plain := func(prefix string, keys ...string) Topic { return Topic{p.T(prefix), plainTips(p, prefix, keys...)} }
	var out []Topic
	switch t {
	case ClusterStep:
		return []Topic{plain("wizard.tips.need", "machines", "bundle", "networks"),
			plain("wizard.tips.kept", "file", "state")}
	case LoginStep:
		out = append(out, plain("wizard.tips.login", "key", "password", "sudo", "hostkey", "bastion"))
		if found := s.whoIsFound(p); found != nil {
			out = append(out, Topic{p.T("wizard.tips.found"), found})
		}
	case MachinesStep:
		out = append(out, Topic{p.T("wizard.tips.roles"), roleTips(p)})
		if len(s.Draft.Machines) > 0 {
			out = append(out, Topic{p.T("wizard.tips.faults"), s.faults(p)})
		}
	case NetworksStep:
		out = []Topic{{p.T("wizard.tips.ranges"), s.ranges(p)}, {p.T("wizard.tips.ports"), s.ports(p)}}
	case RuntimeStep:
		out = s.runtimeTopics(p)
	case PreflightStep:
		out = append(out, plain("wizard.tips.checks", "machines", "conflicts", "network", "bundles"))
		if tips := s.spread(p); tips != nil {
			out = append(out, Topic{p.T("wizard.tips.found"), tips})
		}
	}
	return out
}

// roleTips explains the roles.
func roleTips(p *i18n.Printer) []Tip {
	var out []Tip
	for _, r := range Roles() {
		out = append(out, Tip{Label: RoleLetter(r) + " " + p.T("ui.role."+string(r)), Tone: Accent,
			Text: p.T("wizard.tips.role." + string(r))})
	}
	return out
}

// RoleLetter returns the letter of a role, where there is no room for its name.
func RoleLetter(r bundle.Role) string { return string("MWEL"[slices.Index(Roles(), r)]) }

// whoIsFound returns the machines by the state of their probes, and the most common reason of those that failed.
func (s *Session) whoIsFound(p *i18n.Printer) []Tip {
	type state struct {
		tone   Tone
		word   string
		names  []string
		faults []*event.Fault
	}
	var list []state
	for _, m := range s.Draft.Machines {
		l := s.Probe(m)
		tone, word := State(p, l, 0)
		i := slices.IndexFunc(list, func(x state) bool { return x.word == word })
		if i < 0 {
			i, list = len(list), append(list, state{tone: tone, word: word})
		}
		list[i].names = append(list[i].names, event.Clean(m.Name))
		if l != nil && l.Fault != nil {
			list[i].faults = append(list[i].faults, l.Fault)
		}
	}
	var out []Tip
	for _, x := range list {
		out = append(out, Tip{Label: x.word, Tone: x.tone, Text: p.List(report.Ranges(x.names))})
		if f := mostCommon(x.faults); f != nil {
			text, _ := Words(p, "", f)
			out = append(out, Tip{Text: text})
		}
	}
	return out
}

// mostCommon returns a fault with the most common code, the first of several; nil if there are none.
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

// ranges returns the networks with their sizes, the addresses of the machines, and whether they overlap.
func (s *Session) ranges(p *i18n.Printer) []Tip {
	pods, services := s.Draft.Get("network.podcidr"), s.Draft.Get("service.cidr")
	if bits, ok := bitsOf(pods); ok {
		pods = p.T("wizard.tips.ranges.pods", "cidr", pods, "count", itoa(1<<max(0, 24-bits)))
	}
	if bits, ok := bitsOf(services); ok {
		services = p.T("wizard.tips.ranges.services", "cidr", services, "count", itoa(max(1, 1<<(32-bits)-2)))
	}
	overlap := p.T("wizard.tips.ranges.overlap.none")
	if s.ProblemsOf(NetworksStep).HasErrors() {
		overlap = p.T("wizard.tips.ranges.overlap.some")
	}
	return []Tip{{Label: p.T("sketch.pods"), Text: event.Clean(pods)},
		{Label: p.T("sketch.services"), Text: event.Clean(services)}, s.taken(p),
		{Label: p.T("wizard.tips.ranges.overlap"), Text: overlap}}
}

// bitsOf returns the length of the prefix of an IPv4 network.
func bitsOf(cidr string) (int, bool) {
	x, err := netip.ParsePrefix(cidr)
	return x.Bits(), err == nil && x.Addr().Is4()
}

// taken returns the addresses of the machines.
func (s *Session) taken(p *i18n.Printer) Tip {
	var list []string
	for _, m := range s.Draft.Machines {
		list = append(list, event.Clean(m.IP))
	}
	return Tip{Label: p.T("wizard.tips.ranges.machines"), Text: p.List(report.Ranges(list))}
}

// ports returns the ports on which machines reach each other, with what listens there.
func (s *Session) ports(p *i18n.Printer) []Tip {
	out := []Tip{{Label: config.APIPort + "/tcp", Text: p.T("wizard.tips.ports.api")}}
	if len(s.Draft.With(bundle.LoadBalancer)) > 0 {
		out = append(out, Tip{Label: bindPort(s.Draft) + "/tcp", Text: p.T("wizard.tips.ports.lb")})
	}
	out = append(out, Tip{Label: "2379-2380/tcp", Text: "etcd"},
		Tip{Label: "10250/tcp", Text: p.T("wizard.tips.ports.kubelet")})
	plugin := s.Draft.Get("network.plugin")
	var list []string
	for _, x := range config.PluginPorts(plugin) {
		list = append(list, fmt.Sprintf("%d/%s", x.Port, x.Protocol))
	}
	if len(list) > 0 {
		out = append(out, Tip{Label: strings.Join(list, " "), Text: p.T("wizard.tips.ports.plugin", "plugin",
			plugin)})
	}
	return append(out, Tip{Label: p.T("wizard.tips.ports.firewall"), Text: p.T("wizard.tips.ports.firewall.is")})
}

// runtimeTopics explains the choices of the step.
func (s *Session) runtimeTopics(p *i18n.Printer) []Topic {
	mark := func(list []Tip, values []string, now string) []Tip {
		for i := range list {
			list[i].On = values[i] == now
		}
		return list
	}
	runtimes, dns := []string{"containerd", "docker", "isulad"}, []string{"pod", "binary"}
	return []Topic{
		{p.T("wizard.tips.runtime"), mark(plainTips(p, "wizard.tips.runtime", runtimes...), runtimes,
			s.Draft.Get("runtime"))},
		{"CoreDNS", mark(plainTips(p, "wizard.tips.dns", dns...), dns, s.Draft.Get("service.dns.corednstype"))},
		{p.T("wizard.tips.registries"), plainTips(p, "wizard.tips.registries", "bundle", "mirrors")},
	}
}

// faults returns how many machines of a role may fail.
func (s *Session) faults(p *i18n.Printer) []Tip {
	say := func(role bundle.Role, members, survives int) Tip {
		if survives == 0 {
			return Tip{Label: p.T("ui.role." + string(role)), Text: p.T("wizard.tips.faults.none", "count",
				itoa(members))}
		}
		return Tip{Label: p.T("ui.role." + string(role)), Text: p.T("wizard.tips.faults.is", "count", itoa(members),
			"down", itoa(survives))}
	}
	masters, etcd := len(s.Draft.With(bundle.ControlPlane)), len(s.Draft.With(bundle.Etcd))
	if etcd == 0 {
		etcd = masters
	}
	out := []Tip{say(bundle.ControlPlane, masters, max(0, masters-1)), say(bundle.Etcd, etcd, max(0, (etcd-1)/2))}
	if masters > 1 && len(s.Draft.With(bundle.LoadBalancer)) == 0 && s.Draft.Value("apiserver-endpoint") == "" {
		out = append(out, Tip{Label: p.T("wizard.tips.faults.api"), Text: p.T("wizard.tips.faults.api.first")})
	}
	return out
}

// MachineTopic returns what was found on a machine, if it was inspected.
func (s *Session) MachineTopic(p *i18n.Printer, i int) (Topic, bool) {
	l := s.Probe(s.Draft.Machines[i])
	if l == nil || l.Stage != draft.Seen {
		return Topic{}, false
	}
	var out []Tip
	add := func(key, text string) {
		if text != "" {
			out = append(out, Tip{Label: p.T("wizard.tips.machine." + key), Text: event.Clean(text)})
		}
	}
	add("host", l.Hostname)
	add("os", strings.TrimSpace(l.OS+" "+l.Arch))
	if l.CPUs > 0 {
		add("size", p.List([]string{p.T("wizard.fact.cpus", "count", itoa(l.CPUs)), Size(l.Memory)}))
	}
	if l.Disk > 0 {
		add("disk", p.T("wizard.fact.disk", "size", Size(l.Disk)))
	}
	add("clock", skew(p, l.Skew))
	add("cluster", l.Cluster)
	return Topic{event.Clean(s.Draft.Machines[i].Name), out}, true
}

// skew describes the difference of a clock from the one of this host.
func skew(p *i18n.Printer, d time.Duration) string {
	if d = d.Round(clockUnit); d == 0 {
		return p.T("wizard.tips.machine.clock.same")
	}
	return p.T("wizard.tips.machine.clock.off", "skew", d.String())
}

// BundleTopic returns what a bundle contains, if it can be read.
func BundleTopic(p *i18n.Printer, x draft.Bundle) (Topic, bool) {
	if x.Manifest == nil {
		return Topic{}, false
	}
	m := x.Manifest
	var tips []Tip
	for _, c := range Components(m) {
		tips = append(tips, Tip{Label: c.Name, Text: event.Clean(c.Version)})
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
			tips = append(tips, Tip{Label: p.T("wizard.tips.bundle." + k), Text: p.T("wizard.tips.amount",
				"count", itoa(y.count), "size", report.Size(y.bytes))})
		}
	}
	if x.Signed.Key != "" {
		tips = append(tips, Tip{Label: p.T("wizard.tips.bundle.signed"), Text: event.Clean(p.Msg(x.Signed))})
	}
	return Topic{p.T("wizard.tips.bundle", "file", event.Clean(filepath.Base(x.Path))), tips}, true
}

// KeyTopic returns what a key of deploy.yaml is.
func (s *Session) KeyTopic(p *i18n.Printer, x config.Setting) Topic {
	tips := []Tip{{Label: p.T("wizard.tips.key.what"), Text: Hint(p, x.Key)}}
	add := func(key, text string) {
		if text != "" {
			tips = append(tips, Tip{Label: p.T("wizard.tips.key." + key), Text: event.Clean(text)})
		}
	}
	add("default", cmp.Or(x.Default, p.T("wizard.unset")))
	add("values", p.List(x.Choices))
	if v := s.Draft.Value(x.Key); v != "" && x.Kind != config.Secret && x.Kind != config.Block {
		add("now", v)
	}
	if x.Applies != nil && !x.Applies(s.Draft.Get) {
		tips = append(tips, Tip{Label: p.T("wizard.tips.key.unused"), Text: p.T("wizard.tips.key.unused.is")})
	}
	return Topic{x.Label(), tips}
}

// spread returns the smallest and the largest value of what was found on the machines.
func (s *Session) spread(p *i18n.Printer) []Tip {
	var seen []*draft.Probe
	systems := map[string]int{}
	var names []string
	for _, m := range s.Draft.Machines {
		l := s.Probe(m)
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
		names[i] = p.T("wizard.tips.times", "count", itoa(systems[name]), "what", name)
	}
	out := []Tip{{Label: p.T("wizard.tips.machine.os"), Text: p.List(names)}}
	add := func(key string, of func(*draft.Probe) int64, text func(int64) string) {
		least, most := of(seen[0]), of(seen[0])
		for _, l := range seen {
			least, most = min(least, of(l)), max(most, of(l))
		}
		said := text(most)
		if low := text(least); low != said {
			said = p.T("sketch.upload.range", "least", low, "most", said)
		}
		out = append(out, Tip{Label: p.T("wizard.tips.machine." + key), Text: said})
	}
	add("cpus", func(l *draft.Probe) int64 { return int64(l.CPUs) }, func(n int64) string { return itoa(int(n)) })
	add("memory", func(l *draft.Probe) int64 { return l.Memory }, Size)
	add("disk", func(l *draft.Probe) int64 { return l.Disk }, Size)
	return append(out, Tip{Label: p.T("wizard.tips.machine.clock"), Text: skews(p, seen)})
}

// skews describes how far the clocks of machines are from this host's: the largest difference, unless all are the same.
func skews(p *i18n.Printer, list []*draft.Probe) string {
	least, most := list[0].Skew.Abs(), list[0].Skew.Abs()
	for _, l := range list {
		least, most = min(least, l.Skew.Abs()), max(most, l.Skew.Abs())
	}
	if text := skew(p, most); text == skew(p, least) {
		return text
	}
	return p.T("wizard.tips.machine.clock.most", "skew", most.Round(clockUnit).String())
}
