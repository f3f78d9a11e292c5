package page

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// mostForm is more than the largest form: a thousand nodes and a list of their host keys.
const mostForm = 2 << 20

// ownKeys are those that a request has places of its own for, or that a server sets.
func ownKeys() []string {
	return []string{"cluster-id", "username", "password", "private-key-path", "dns-domain", "eggo.sudo-password",
		"eggo.password-from", "eggo.sudo-password-from", "eggo.known-hosts", "eggo.host-keys", "package-src.x86src",
		"package-src.armsrc", "package-src.type", "eggo.machines"}
}

// fieldOf returns a field of the wizard as the form has it.
func fieldOf(p *i18n.Printer, x *guide.Field) field {
	f := field{Name: "s:" + x.Key, Label: x.Label(p), Hint: guide.Capital(guide.Hint(p, x.Key)), Default: x.Default(),
		Kind: "text"}
	if x.Kind == config.Block {
		f.Kind, f.Rows = "block", 3
	}
	if x.Picks() {
		word := p.T("page.default")
		if f.Default != "" {
			word += " (" + f.Default + ")"
		}
		f.Choices = append(f.Choices, choice{"", word})
	}
	for _, c := range x.Choices {
		f.Choices = append(f.Choices, choice{c, x.Word(p, c)})
	}
	return f
}

// form is the page on which a cluster is created.
type form struct {
	sheet
	Server            string
	Login             []field
	Networks, Runtime []field
	Extra             []field
	Advice            map[string][]guide.Topic // by step
	Domain            string
	Shared            bool
	stock
}

// Extended says whether one of the fields that are folded was filled in.
func (f form) Extended() bool {
	return slices.ContainsFunc(f.Extra, func(x field) bool { return f.Open(x.Name) })
}

// stock is the bundles that a form offers.
type stock struct {
	Bundles   []server.Bundle
	BundleDir string
	Arches    []string
}

func (p *Page) stock(v *visit) (stock, error) {
	list, err := p.bundles(v)
	return stock{list, p.Bundles, []string{"amd64", "arm64"}}, err
}

// creation is the form on which a cluster is created.
func (p *Page) creation() wizard {
	return wizard{may: access.Administer, show: p.create, draft: p.draft, check: p.checked, send: p.created}
}

func (p *Page) create(v *visit, s sheet, status int) error {
	f := form{sheet: s, Shared: p.Rules.Shared, Advice: map[string][]guide.Topic{}}
	if domain, known := config.SettingOf("dns-domain"); known {
		f.Domain = domain.Default
	}
	if host, _, err := net.SplitHostPort(v.r.Host); err == nil && net.ParseIP(host) != nil &&
		!net.ParseIP(host).IsLoopback() {
		f.Server = host
	}
	seen := map[string]bool{}
	add := func(to *[]field, list []*guide.Field) {
		for _, x := range list {
			if !seen[x.Key] && !slices.Contains(ownKeys(), x.Key) && config.Settable(x.Key) {
				*to = append(*to, fieldOf(v.p, x))
			}
			seen[x.Key] = true
		}
	}
	settings := map[string]string{}
	for name := range s.values {
		if key, is := strings.CutPrefix(name, "s:"); is {
			settings[key] = s.values.Get(name)
		}
	}
	g := sessionOf(settings)
	for step, to := range map[guide.Step]*[]field{guide.LoginStep: &f.Login,
		guide.NetworksStep: &f.Networks, guide.RuntimeStep: &f.Runtime} {
		add(to, g.Fields(step))
		f.Advice[string(step)] = g.Advice(v.p, step)
	}
	add(&f.Extra, g.All())
	var err error
	if f.stock, err = p.stock(v); err != nil {
		return err
	}
	p.render(v, status, "create", v.p.T("page.new"), f)
	return nil
}

// sessionOf returns a session of the wizard whose draft has settings.
func sessionOf(settings map[string]string) *guide.Session {
	g := guide.New()
	for key, value := range settings {
		g.Draft.Set(key, value)
	}
	return g
}

// wrong is something that is wrong with the form, at a field.
type wrong struct {
	Field string `json:"field"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
}

// checkedForm is the answer to what is typed.
type checkedForm struct {
	Wrong []wrong  `json:"wrong"`
	Nodes string   `json:"nodes"` // the table
	YAML  string   `json:"yaml,omitempty"`
	Hide  []string `json:"hide"` // fields that do not apply
	OK    bool     `json:"ok"`
	Count string   `json:"count"`
	// Notes are remarks about what is right all the same.
	Notes []string `json:"notes"`
	// Secret are the fields that a browser does not keep.
	Secret []string `json:"secret"`
	// Busy is said while the nodes are checked.
	Busy string `json:"busy"`
	// Sending is said while the request is answered, if that takes long.
	Sending string `json:"sending,omitempty"`
	// Ask is asked before it is sent. Where Name is given, it has to be typed.
	Ask  string `json:"ask,omitempty"`
	Name string `json:"name,omitempty"`
	// ETag is of the cluster that this was computed from.
	ETag string `json:"etag,omitempty"`
}

// answerTo begins the answer to what is typed.
func (v *visit) answerTo(t typed) checkedForm {
	out := checkedForm{Hide: []string{}, Notes: []string{}, Secret: append([]string{}, t.secret...),
		Busy: v.p.T("page.new.checking", "count", strconv.Itoa(len(t.Nodes)))}
	for _, m := range t.told {
		out.Notes = append(out.Notes, v.p.Msg(m))
	}
	return out
}

// draft says what is wrong with what is typed so far, by the rules of the server and of deploy.yaml.
func (p *Page) draft(v *visit) (checkedForm, error) {
	t, err := v.readNew()
	if err != nil {
		return checkedForm{}, err
	}
	out := v.answerTo(t)
	list := p.Rules.Create(t.Cluster)
	yaml, more, err := p.Rules.Deploy(t.Cluster, filesOf(t.Cluster, p.Dir("new")), p.Dir("new")+"/deploy.yaml")
	if err != nil {
		return out, err
	}
	said := map[string]bool{}
	for _, f := range append(list, more...) {
		at := t.fieldAt(f.Location)
		if at == "nodes" && len(list) > 0 && slices.ContainsFunc(more, func(m clusterspec.Finding) bool {
			return m.Fault == f.Fault
		}) {
			continue // the rules of deploy.yaml say the same again
		}
		text, next := guide.Words(v.p, "plain", f.Fault)
		if key := at + "\x00" + text; !said[key] {
			said[key] = true
			out.Wrong = append(out.Wrong, wrong{at, text, next})
		}
	}
	out.Wrong = append(out.Wrong, v.unread(t)...)
	for _, x := range sessionOf(t.Settings).All() {
		if !x.Applies() {
			out.Hide = append(out.Hide, "s:"+x.Key)
		}
	}
	out.OK, out.YAML = len(out.Wrong) == 0, draft.Masked(yaml)
	out.count(v)
	table := nodeTable{Nodes: t.Nodes, Balancer: t.LoadBalancer}
	if out.OK {
		table.Preview = previewOf(v.p, yaml)
	}
	out.Nodes, err = p.piece(v.lang, "node-table", table)
	return out, err
}

// previewOf returns what the cluster of a deploy.yaml consists of. How long its installation takes is not known here.
func previewOf(p *i18n.Printer, yaml []byte) []string {
	g := guide.New()
	d, _ := config.ReadDraft(yaml, "deploy.yaml")
	g.Open(d, "deploy.yaml")
	g.Check()
	return g.Preview(p, nil, false, nil).Lines(p, false, guide.TimeRow)
}

// filesOf are the files that the secrets of a cluster will be in.
func filesOf(c clusterspec.Cluster, dir string) clusterspec.Files {
	file := func(name, text string) string {
		if text == "" {
			return ""
		}
		return dir + "/" + name
	}
	out := clusterspec.Files{Key: file("ssh-key", c.SSH.Key), Password: file("ssh-password", c.SSH.Password),
		SudoPassword: file("sudo-password", c.SSH.SudoPassword), KnownHosts: file("known_hosts", c.SSH.KnownHosts)}
	for i, r := range c.Registries {
		at := "registry-" + strconv.Itoa(i+1) + "-"
		out.Registries = append(out.Registries, clusterspec.RegistryFiles{Password: file(at+"password", r.Password),
			CA: file(at+"ca.crt", r.CA)})
	}
	return out
}

// unread is what could not be read.
func (v *visit) unread(t typed) (out []wrong) {
	for _, r := range t.rejected {
		text := v.p.T("page.nodes.line", "line", strconv.Itoa(r.Line), "text", r.Text, "why", v.p.Msg(r.Why))
		out = append(out, wrong{Field: "nodes", Text: text})
	}
	for _, at := range t.bad {
		text, next := guide.Words(v.p, "plain", at.Fault)
		out = append(out, wrong{t.fieldAt(at.Location), text, next})
	}
	return out
}

// count says how much is wrong.
func (f *checkedForm) count(v *visit) {
	f.Count = v.p.T("page.new.right")
	if len(f.Wrong) > 0 {
		f.Count = v.p.T("page.new.wrong", "count", strconv.Itoa(len(f.Wrong)))
	}
}

// created creates the cluster: the API checks again, and writes down who asked for it.
func (p *Page) created(v *visit) (string, error) {
	t, err := v.readNew()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return "", err
	}
	q := &server.CreateInput{}
	q.Body.Cluster, q.Body.Options = t.Cluster, t.Options
	if _, err := p.api.CreateCluster.Call(v.context(), q); err != nil {
		return "", v.refuse(t, err, map[string]string{"manager.taken": "name"})
	}
	return "/clusters/" + escaped(t.Name), nil
}

// checked inspects the machines before there is a cluster.
func (p *Page) checked(v *visit) (string, error) {
	t, err := v.readNew()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return "", err
	}
	q := &server.CheckInput{}
	q.Body.Cluster, q.Body.Options = t.Cluster, t.Options
	res, err := p.api.Check.Call(v.context(), q)
	if err != nil {
		return "", v.refuse(t, err, nil)
	}
	return p.piece(v.lang, "findings", res.Body)
}
