package page

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/access"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/machines"
	"github.com/eggo-k8s/eggo/internal/manager/profile"
	"github.com/eggo-k8s/eggo/internal/problem"
	"github.com/eggo-k8s/eggo/internal/server"
)

// mostForm is more than the largest form: a thousand nodes and a list of their host keys.
const mostForm = 2 << 20

// field is a key of deploy.yaml that can be filled in.
type field struct {
	Name, Label, Hint, Default, Kind string
	Choices                          []choice
}

type choice struct{ Value, Word string }

// ownKeys are those that a request has places of its own for, or that a server sets.
var ownKeys = []string{"cluster-id", "username", "password", "private-key-path", "dns-domain", "eggo.sudo-password",
	"eggo.password-from", "eggo.sudo-password-from", "eggo.known-hosts", "eggo.host-keys", "package-src.x86src",
	"package-src.armsrc", "package-src.type", "eggo.machines"}

// fieldOf is a setting as the form has it, in the words of the wizard.
func fieldOf(p *i18n.Printer, s config.Setting) field {
	f := field{Name: "s:" + s.Key, Label: s.Key, Default: s.Default, Kind: "text"}
	if p.Has("wizard.field." + s.Key) {
		f.Label = p.T("wizard.field." + s.Key)
	}
	for _, key := range []string{"wizard.hint." + s.Key, "key." + s.Key} {
		if f.Hint == "" && p.Has(key) {
			f.Hint = p.T(key)
		}
	}
	list := s.Choices
	switch s.Kind {
	case config.YesNo:
		list = []string{"false", "true"}
	case config.Block:
		f.Kind = "block"
	}
	for _, c := range list {
		f.Choices = append(f.Choices, choice{c, worded(p, "wizard.value.", c)})
	}
	return f
}

// form is the page on which a cluster is created.
type form struct {
	Server             string
	Login              []field
	Networks, Runtime  []field
	Extra              []field
	Domain             string
	Bundles            []server.Bundle
	BundleDir          string
	Shared             bool
	Arches             []string
	NameHint, UserHint string
}

func (p *Page) create(v *visit) error {
	if _, err := access.Check(v.r.Context(), p.Access, access.Administer, ""); err != nil {
		return err
	}
	f := form{BundleDir: p.Bundles, Shared: p.Rules.Shared, Arches: []string{"amd64", "arm64"}}
	if domain, known := config.SettingOf("dns-domain"); known {
		f.Domain = domain.Default
	}
	if host, _, err := net.SplitHostPort(v.r.Host); err == nil && net.ParseIP(host) != nil &&
		!net.ParseIP(host).IsLoopback() {
		f.Server = host
	}
	seen := map[string]bool{}
	for step, to := range map[string]*[]field{"login": &f.Login, "networks": &f.Networks, "runtime": &f.Runtime} {
		for _, s := range config.SettingsOf(step) {
			if seen[s.Key] = true; !slices.Contains(ownKeys, s.Key) && profile.Settable(s.Key) {
				*to = append(*to, fieldOf(v.p, s))
			}
		}
	}
	for _, s := range config.Settings() {
		if !seen[s.Key] && !slices.Contains(ownKeys, s.Key) && profile.Settable(s.Key) {
			f.Extra = append(f.Extra, fieldOf(v.p, s))
		}
	}
	var err error
	if f.Bundles, err = p.bundles(v); err != nil {
		return err
	}
	p.render(v, http.StatusOK, "create", v.p.T("page.new"), f)
	return nil
}

// typed is what was typed into the form: the request that it comes to, what is wrong with its lines of nodes, and what
// is remarked about them.
type typed struct {
	profile.Cluster
	Options  server.RunOptions `json:"options"`
	entries  []machines.Entry
	rejected []machines.Rejected
	told     []event.Msg
	secret   []string // fields that have a secret
}

// read reads the form. The nodes are those that the wizard would make of the same lines.
func (v *visit) read() (typed, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, mostForm)
	if err := v.r.ParseForm(); err != nil {
		return typed{}, malformed(err)
	}
	q := v.r.PostForm
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	t := typed{Cluster: profile.Cluster{Name: get("name"), ServerAddress: get("server_address"),
		Domain: get("domain"), Settings: map[string]string{}, Bundles: map[string]string{},
		SSH: profile.SSH{User: get("user"), Password: q.Get("password"), SudoPassword: q.Get("sudo_password"),
			KnownHosts: ended(q.Get("known_hosts")), HostKeys: get("host_keys")}}}
	if key := strings.ReplaceAll(get("key"), "\r\n", "\n"); key != "" {
		t.SSH.Key = key + "\n"
	}
	for name, values := range q {
		if key, is := strings.CutPrefix(name, "s:"); is && strings.TrimSpace(values[0]) != "" {
			t.Settings[key] = strings.TrimSpace(strings.ReplaceAll(values[0], "\r\n", "\n"))
		}
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if path := get("bundle:" + arch); path != "" {
			t.Bundles[arch] = path
		}
	}
	t.Options = server.RunOptions{OnFailure: get("on_failure"), HostKeys: t.SSH.HostKeys,
		Unsigned: q.Get("allow_unsigned") != "", Secrets: secretsOf(q)}
	t.nodes(q)
	for name := range q {
		if likeSecret(q.Get(name)) || name == "nodes" && len(t.told) > 0 {
			t.secret = append(t.secret, name)
		}
	}
	slices.Sort(t.secret)
	return t, nil
}

// likeSecret says whether a text may have a password in it. A browser does not keep such a field.
func likeSecret(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"pass", "token", "secret", "private", "auth", "密码"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	_, rest, url := strings.Cut(text, "://")
	return url && strings.Contains(rest, "@") // https://user:password@host
}

// sound refuses lines of nodes that could not be read: without them the request would be another one.
func (v *visit) sound(t typed) error {
	var out problem.List
	for _, r := range t.rejected {
		out = append(out, problem.At{Location: "body.nodes", Fault: event.NewFault(event.ClassUsage, "page.line", nil,
			"line", strconv.Itoa(r.Line), "text", event.Clean(r.Text), "why", v.p.Msg(r.Why))})
	}
	return out.Err()
}

// malformed is the fault of a form that cannot be read.
func malformed(err error) error {
	return event.NewFault(event.ClassUsage, "api.request", nil, "why", event.Clean(err.Error()))
}

// ended is a text whose last line ends.
func ended(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if text == "" {
		return ""
	}
	return text + "\n"
}

// extras are labels and taints of nodes, as their lines have them.
type extras struct {
	labels map[string]string
	taints []string
}

// extrasOf takes label:KEY=VALUE and taint:KEY=VALUE:EFFECT out of lines, whose grammar has none.
func extrasOf(text string) (string, map[int]extras) {
	lines, out := strings.Split(text, "\n"), map[int]extras{}
	for i, l := range lines {
		if !strings.Contains(l, "label:") && !strings.Contains(l, "taint:") {
			continue
		}
		x := extras{}
		var rest []string
		for _, w := range strings.Fields(l) {
			if label, is := strings.CutPrefix(w, "label:"); is && label != "" {
				if x.labels == nil {
					x.labels = map[string]string{}
				}
				key, value, _ := strings.Cut(label, "=")
				x.labels[key] = value
			} else if taint, is := strings.CutPrefix(w, "taint:"); is && taint != "" {
				x.taints = append(x.taints, taint)
			} else {
				rest = append(rest, w)
			}
		}
		if len(x.labels)+len(x.taints) > 0 {
			lines[i], out[i+1] = strings.Join(rest, " "), x
		}
	}
	return strings.Join(lines, "\n"), out
}

// nodes reads the lines of nodes, as the wizard does: what was not said is filled in.
func (t *typed) nodes(q url.Values) {
	text, more := extrasOf(q.Get("nodes"))
	list := machines.Read(text)
	of := map[string]extras{}
	for i := range list.Entries { // the API takes addresses; what is none is said at the node
		list.Entries[i].IP = cmp.Or(list.Entries[i].IP, list.Entries[i].Host)
		if x, is := more[list.Entries[i].Line]; is {
			of[list.Entries[i].IP] = x
		}
	}
	t.entries, t.rejected = list.Entries, list.Rejected
	t.told = draft.Told(machines.List{Skipped: list.Skipped, Secrets: list.Secrets})
	if slices.ContainsFunc(list.Entries, func(e machines.Entry) bool { return e.Key != "" }) {
		t.told = append(t.told, event.M("page.nodes.keys"))
	}
	d := config.Draft{Values: maps.Clone(t.Settings)}
	draft.AddMachines(&d, list.Entries, nil)
	t.SSH.User = cmp.Or(t.SSH.User, d.Values["username"])
	if logins := d.Values["eggo.machines"]; logins != "" {
		t.Settings["eggo.machines"] = logins
	}
	for _, m := range d.Machines {
		n := profile.Node{Name: m.Name, Address: m.IP, Arch: m.Arch, Roles: []string{}, Labels: of[m.IP].labels,
			Taints: of[m.IP].taints}
		n.Port, _ = strconv.Atoi(m.Port) // the grammar has checked it
		for _, r := range m.Roles {
			n.Roles = append(n.Roles, roleWord(r))
		}
		t.Nodes = append(t.Nodes, n)
	}
}

// roleWord is a role in the words of the API; one that it does not have stays as it is, and the rules refuse it.
func roleWord(r bundle.Role) string {
	switch r {
	case bundle.ControlPlane:
		return profile.ControlPlane
	case bundle.Worker:
		return profile.Worker
	case bundle.Etcd:
		return profile.Etcd
	}
	return string(r)
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
func (p *Page) draft(v *visit) error {
	if _, err := access.Check(v.r.Context(), p.Access, access.Administer, ""); err != nil {
		return err
	}
	t, err := v.read()
	if err != nil {
		return err
	}
	out := v.answerTo(t)
	list := p.Rules.Create(t.Cluster)
	dir := p.Dir("new")
	file := func(name, text string) string {
		if text == "" {
			return ""
		}
		return dir + "/" + name
	}
	yaml, more, err := profile.Deploy(t.Cluster, profile.Files{Key: file("ssh-key", t.SSH.Key),
		Password: file("ssh-password", t.SSH.Password), SudoPassword: file("sudo-password", t.SSH.SudoPassword),
		KnownHosts: file("known_hosts", t.SSH.KnownHosts),
		Registries: make([]profile.RegistryFiles, len(t.Registries))}, dir+"/deploy.yaml")
	if err != nil {
		return err
	}
	said := map[string]bool{}
	for _, f := range append(list, more...) {
		at := fieldAt(f.Location)
		if at == "nodes" && len(list) > 0 && slices.ContainsFunc(more, func(m profile.Finding) bool {
			return m.Fault == f.Fault
		}) {
			continue // the rules of deploy.yaml say the same again
		}
		text, next := v.p.FaultIn("form", f.Fault)
		if key := at + "\x00" + text; !said[key] {
			said[key] = true
			out.Wrong = append(out.Wrong, wrong{at, text, next})
		}
	}
	out.Wrong = append(out.Wrong, v.rejectedLines(t)...)
	get := func(key string) string { return config.Draft{Values: t.Settings}.Get(key) }
	for _, s := range config.Settings() {
		if s.Applies != nil && !s.Applies(get) {
			out.Hide = append(out.Hide, "s:"+s.Key)
		}
	}
	out.OK, out.YAML = len(out.Wrong) == 0, draft.Masked(yaml)
	out.Count = v.p.T("page.new.wrong", "count", strconv.Itoa(len(out.Wrong)))
	if out.OK {
		out.Count = v.p.T("page.new.right")
	}
	if out.Nodes, err = p.piece(v.lang, "node-table", nodeTable{Nodes: t.Nodes}); err != nil {
		return err
	}
	return v.answer(out)
}

// rejectedLines are the lines of nodes that could not be read.
func (v *visit) rejectedLines(t typed) (out []wrong) {
	for _, r := range t.rejected {
		text := v.p.T("page.nodes.line", "line", strconv.Itoa(r.Line), "text", r.Text, "why", v.p.Msg(r.Why))
		out = append(out, wrong{Field: "nodes", Text: text})
	}
	return out
}

// refuse says why the API refused a form, and which of its fields that is about: by the part of the request, or by the
// code.
func (v *visit) refuse(err error, fields map[string]string) error {
	said := *problem.Of(v.p, err)
	said.Next = advice(v.p, said.Code, said.Next)
	out := struct {
		*problem.Problem
		Wrong []wrong `json:"wrong,omitempty"`
	}{&said, nil}
	if at := fields[said.Code]; at != "" {
		out.Wrong = append(out.Wrong, wrong{at, said.Detail, said.Next})
	}
	for _, e := range said.Errors {
		out.Wrong = append(out.Wrong, wrong{fieldAt(e.Location), e.Detail, e.Next})
	}
	v.w.Header().Set("Content-Type", said.ContentType(""))
	v.w.WriteHeader(said.Status)
	_ = json.NewEncoder(v.w).Encode(out) // who does not read it is gone
	return errAnswered
}

// fieldAt is the field of the form that a part of the request comes from.
func fieldAt(location string) string {
	at := strings.TrimPrefix(location, "body.")
	switch {
	case strings.HasPrefix(at, "nodes"):
		return "nodes"
	case strings.HasPrefix(at, "load_balancer"):
		return "balancer"
	case strings.HasPrefix(at, "settings."):
		key, _, _ := strings.Cut(strings.TrimPrefix(at, "settings."), "[")
		return "s:" + key
	case strings.HasPrefix(at, "bundles."):
		return "bundle:" + strings.TrimPrefix(at, "bundles.")
	}
	return strings.TrimPrefix(at, "ssh.")
}

// created creates the cluster: the API checks again, and writes down who asked for it.
func (p *Page) created(v *visit) error {
	t, err := v.read()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return err
	}
	if err := p.call(v, http.MethodPost, "/clusters", t, nil); err != nil {
		return v.refuse(err, map[string]string{"manager.taken": "name"})
	}
	return v.answer(map[string]string{"go": "/clusters/" + escaped(t.Name)})
}

// checked inspects the machines before there is a cluster.
func (p *Page) checked(v *visit) error {
	t, err := v.read()
	if err == nil {
		err = v.sound(t)
	}
	if err != nil {
		return err
	}
	var res struct {
		OK       bool             `json:"ok"`
		Findings []server.Finding `json:"findings"`
	}
	if err := p.call(v, http.MethodPost, "/check", t, &res); err != nil {
		return v.refuse(err, nil)
	}
	html, err := p.piece(v.lang, "findings", res)
	if err != nil {
		return err
	}
	return v.answer(map[string]any{"html": html, "ok": res.OK})
}
