package page

import (
	"cmp"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// typed is what was typed into the form: the request that it comes to, what is wrong with its lines of nodes, and what
// is remarked about them.
type typed struct {
	clusterspec.Cluster
	Options    server.RunOptions `json:"options"`
	entries    []machines.Entry
	rejected   []machines.Rejected
	bad        problem.All // what cannot be read
	told       []event.Msg
	secret     []string // fields that have a secret
	registries []int    // the groups of fields that the registries come from
}

// read reads the form. The nodes are those that the wizard would make of the same lines.
func (v *visit) read() (typed, error) {
	q, err := v.form()
	if err != nil {
		return typed{}, err
	}
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	t := typed{Cluster: clusterspec.Cluster{Name: get("name"), ServerAddress: get("server_address"),
		Domain: get("domain"), Settings: map[string]string{}, Bundles: map[string]string{},
		SSH: clusterspec.SSH{User: get("user"), Password: q.Get("password"), SudoPassword: q.Get("sudo_password"),
			HostKeys: get("host_keys")}}}
	t.SSH.Key = ended(get("key"))
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
	t.takeOver(q)
	t.Options = server.RunOptions{TakeOver: t.Options.TakeOver, OnFailure: get("on_failure"), HostKeys: t.SSH.HostKeys,
		Unsigned: q.Get("allow_unsigned") != "", Secrets: secretsOf(q)}
	t.balancer(q)
	t.nodes(q)
	t.readRegistries(q)
	t.readHostKeys(q)
	for name := range q {
		if isSecret(name) || likeSecret(q.Get(name)) || name == "nodes" && len(t.told) > 0 {
			t.secret = append(t.secret, name)
		}
	}
	slices.Sort(t.secret)
	return t, nil
}

// takeOver reads the number of the owner that is taken over from.
func (t *typed) takeOver(q url.Values) {
	text := strings.TrimSpace(q.Get("take_over"))
	if text == "" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > 1<<53 { // as the API has it
		t.wrongly("options.take_over", "usage.take-over", "value", text)
		return
	}
	t.Options.TakeOver = n
}

// readNew reads the form of a new cluster.
func (v *visit) readNew() (typed, error) {
	t, err := v.read()
	if err == nil {
		t.logins(v.r.PostForm)
	}
	return t, err
}

// wrongly remarks what cannot be read.
func (t *typed) wrongly(field, code string, kv ...string) {
	t.bad = append(t.bad, problem.At{Location: "body." + field,
		Fault: event.NewFault(event.ClassUsage, code, nil, kv...)})
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

// ended is a text whose last line ends.
func ended(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if text == "" {
		return ""
	}
	return text + "\n"
}

// lines are the faults of the lines of nodes that could not be read.
func (t *typed) lines(p *i18n.Printer) (out []*event.Fault) {
	for _, r := range t.rejected {
		out = append(out, event.NewFault(event.ClassUsage, "page.line", nil, "line", strconv.Itoa(r.Line), "text",
			event.Clean(r.Text), "why", p.Msg(r.Why)))
	}
	return out
}

// balancer reads the fields of a load balancer.
func (t *typed) balancer(q url.Values) {
	get := func(name string) string { return strings.TrimSpace(q.Get("lb:" + name)) }
	port := func(name string) int {
		text := get(name)
		n, err := strconv.Atoi(text)
		if text != "" && (err != nil || n < 1 || n > 65535) {
			t.wrongly("lb:"+name, "page.port", "value", event.Clean(text))
			return 0
		}
		return n
	}
	b := clusterspec.Balancer{Name: get("name"), Address: get("address"), Arch: get("arch"), Port: port("port"),
		BindPort: port("bind_port")}
	if b.Name+b.Address+get("port")+get("bind_port") != "" {
		t.LoadBalancer = &b
	}
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
	of, keys := map[string]extras{}, false
	for i := range list.Entries { // the API takes addresses; what is none is said at the node
		list.Entries[i].IP = cmp.Or(list.Entries[i].IP, list.Entries[i].Host)
		for k := range list.Entries[i].Bastions { // the browser's files are not the server's
			hop := &list.Entries[i].Bastions[k]
			keys, hop.PrivateKeyPath = keys || hop.PrivateKeyPath != "", ""
		}
		if x, is := more[list.Entries[i].Line]; is {
			of[list.Entries[i].IP] = x
		}
	}
	t.entries, t.rejected = list.Entries, list.Rejected
	told := machines.List{Skipped: list.Skipped, Notes: list.Notes, Secrets: list.Secrets}
	for _, e := range list.Entries {
		told.Entries = append(told.Entries, machines.Entry{Bastions: e.Bastions})
	}
	t.told = draft.ImportRemarks(told)
	if keys || slices.ContainsFunc(list.Entries, func(e machines.Entry) bool { return e.Key != "" }) {
		t.told = append(t.told, event.M("page.nodes.keys"))
	}
	d := config.Draft{}.WithValues(t.Settings)
	draft.AddMachines(&d, list.Entries, nil)
	t.SSH.User = cmp.Or(t.SSH.User, d.Value("username"))
	t.takeLogins(d)
	for _, m := range d.Machines {
		port, _ := strconv.Atoi(m.Port) // the grammar has checked it
		if m.Has(bundle.LoadBalancer) && t.isBalancer(m, port) {
			if len(m.Roles) == 1 {
				continue
			}
			m.Roles = slices.DeleteFunc(slices.Clone(m.Roles), func(r bundle.Role) bool {
				return r == bundle.LoadBalancer
			})
		}
		n := clusterspec.Node{Name: m.Name, Address: m.IP, Arch: m.Arch, Port: port, Roles: []string{},
			Labels: of[m.IP].labels, Taints: of[m.IP].taints}
		for _, r := range m.Roles {
			n.Roles = append(n.Roles, roleWord(r))
		}
		t.Nodes = append(t.Nodes, n)
	}
}

// isBalancer makes a machine of the lines the load balancer, unless its fields name another one.
func (t *typed) isBalancer(m config.Machine, port int) bool {
	if t.LoadBalancer == nil {
		t.LoadBalancer = &clusterspec.Balancer{}
	}
	b := t.LoadBalancer
	if b.Name+b.Address != "" {
		return b.Name == m.Name && b.Address == m.IP
	}
	b.Name, b.Address, b.Arch, b.Port = m.Name, m.IP, m.Arch, port
	return true
}

// roleWord is a role in the words of the API; one that it does not have stays as it is, and the rules refuse it.
func roleWord(r bundle.Role) string {
	switch r {
	case bundle.ControlPlane:
		return clusterspec.ControlPlane
	case bundle.Worker:
		return clusterspec.Worker
	case bundle.Etcd:
		return clusterspec.Etcd
	}
	return string(r)
}

// logins has deploy.yaml ask for the passwords that single nodes and bastions have; the request has them.
func (t *typed) logins(q url.Values) {
	d := config.Draft{}.WithValues(t.Settings)
	for i := range groups(q, "login") {
		who, password, sudo := loginOf(q, i)
		if who == "" && password+sudo == "" {
			continue
		}
		field := groupField("login", i, "who")
		switch {
		case who == "":
			t.wrongly(field, "profile.empty", "field", "name")
		case slices.ContainsFunc(t.Nodes, func(n clusterspec.Node) bool { return n.Name == who }),
			t.LoadBalancer != nil && t.LoadBalancer.Name == who:
			if password != "" {
				draft.SetLogin(&d, who, "password-from", "prompt")
			}
			if sudo != "" {
				draft.SetLogin(&d, who, "sudo-password-from", "prompt")
			}
		case password == "" || !draft.AskBastion(&d, t.SSH.User, who):
			t.wrongly(field, "page.login", "name", event.Clean(who))
		}
	}
	t.takeLogins(d)
}

// takeLogins takes the logins of single nodes and the bastions of a draft into the settings.
func (t *typed) takeLogins(d config.Draft) {
	for _, key := range []string{"eggo.machines", "eggo.bastion"} {
		if said := d.Value(key); said != "" {
			t.Settings[key] = said
		}
	}
}

// loginOf is one of the groups of fields of logins.
func loginOf(q url.Values, i int) (who, password, sudo string) {
	return strings.TrimSpace(q.Get(groupField("login", i, "who"))), q.Get(groupField("login", i, "password")),
		q.Get(groupField("login", i, "sudo"))
}

// secretsOf are the passwords of nodes and bastions that a form has, by what the API calls them.
func secretsOf(q url.Values) map[string]string {
	out := map[string]string{}
	for name := range q {
		if id, is := strings.CutPrefix(name, "secret:"); is && q.Get(name) != "" {
			out[id] = q.Get(name)
		}
	}
	for i := range groups(q, "login") {
		who, password, sudo := loginOf(q, i)
		for kind, secret := range map[string]string{"password ": password, "sudo ": sudo} {
			id := kind + who
			if _, host, is := strings.Cut(who, "@"); is {
				if id = "bastion " + who; !portAt.MatchString(host) {
					id += ":22"
				}
			}
			if who != "" && secret != "" {
				out[id] = secret
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// portAt: a host with a port, an IPv6 address in brackets.
var portAt = regexp.MustCompile(`\A(?:\[[^]]+\]|[^:]+):[0-9]+\z`)

// readRegistries reads the groups of fields of registries.
func (t *typed) readRegistries(q url.Values) {
	for i := range groups(q, "registry") {
		get := func(name string) string { return q.Get(groupField("registry", i, name)) }
		r := clusterspec.Registry{Host: strings.TrimSpace(get("host")), Username: strings.TrimSpace(get("username")),
			Password: get("password"), CA: ended(get("ca"))}
		if r != (clusterspec.Registry{}) {
			t.Registries, t.registries = append(t.Registries, r), append(t.registries, i)
		}
	}
}

// readHostKeys reads lines as in known_hosts. Those that begin with the name of a node, or of the load balancer, are
// its host keys: they are accepted where none is known.
func (t *typed) readHostKeys(q url.Values) {
	text := strings.Join(append([]string{q.Get("known_hosts")}, q["accept"]...), "\n")
	var rest []string
	for line := range strings.Lines(ended(text)) {
		line = strings.TrimSpace(line)
		name, key, _ := strings.Cut(line, " ")
		if key = strings.TrimSpace(key); line == "" || slices.Contains(rest, line) {
			continue
		}
		if keys := t.keysOf(name); keys != nil && key != "" {
			if !slices.Contains(*keys, key) {
				*keys = append(*keys, key)
			}
			continue
		}
		rest = append(rest, line)
	}
	t.SSH.KnownHosts = ended(strings.Join(rest, "\n"))
}

// keysOf are the host keys of the node, or load balancer, of a name; nil: there is none.
func (t *typed) keysOf(name string) *[]string {
	for i := range t.Nodes {
		if t.Nodes[i].Name == name {
			return &t.Nodes[i].HostKeys
		}
	}
	if t.LoadBalancer != nil && t.LoadBalancer.Name == name && name != "" {
		return &t.LoadBalancer.HostKeys
	}
	return nil
}

// onlyNodes has all host keys be those of nodes, by name or by address: a request that changes nodes has no others.
func (t *typed) onlyNodes() {
	n := 0
	for line := range strings.Lines(t.SSH.KnownHosts) {
		name, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		at := slices.IndexFunc(t.Nodes, func(n clusterspec.Node) bool {
			return clusterspec.SameAddress(n.Address, hostOf(name))
		})
		switch n++; {
		case strings.HasPrefix(line, "#"):
		case at < 0:
			t.wrongly("known_hosts", "page.host-key", "line", strconv.Itoa(n), "name", event.Clean(name))
		default:
			t.Nodes[at].HostKeys = append(t.Nodes[at].HostKeys, strings.TrimSpace(key))
		}
	}
	t.SSH.KnownHosts = ""
}

// hostOf is the address of a line of known_hosts: ADDRESS, or [ADDRESS]:PORT.
func hostOf(name string) string {
	if a, err := netip.ParseAddrPort(name); err == nil {
		return a.Addr().String()
	}
	if inner, is := strings.CutPrefix(name, "["); is {
		inner, _, _ = strings.Cut(inner, "]")
		return inner
	}
	return name
}

// item is a part of a request that is one of several.
var item = regexp.MustCompile(`\Aregistries\[([0-9]+)\](?:\.([a-z]+))?`)

// fieldAt is the field of the form that a part of the request comes from.
func (t *typed) fieldAt(location string) string {
	at := strings.TrimPrefix(location, "body.")
	switch {
	case strings.Contains(at, "host_keys["), at == "known_hosts":
		return "known_hosts"
	case strings.HasPrefix(at, "nodes"):
		return "nodes"
	case strings.HasPrefix(at, "load_balancer"):
		return "lb:" + cmp.Or(strings.TrimPrefix(strings.TrimPrefix(at, "load_balancer"), "."), "name")
	case strings.HasPrefix(at, "settings."):
		key, _, _ := strings.Cut(strings.TrimPrefix(at, "settings."), "[")
		return "s:" + key
	case strings.HasPrefix(at, "bundles."):
		return "bundle:" + strings.TrimPrefix(at, "bundles.")
	case at == "registries":
		return groupField("registry", 0, "host")
	}
	if m := item.FindStringSubmatch(at); m != nil {
		if i, err := strconv.Atoi(m[1]); err == nil && i < len(t.registries) {
			return groupField("registry", t.registries[i], cmp.Or(m[2], "host"))
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(at, "options."), "ssh.")
}
