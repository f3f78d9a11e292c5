package machines

import (
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

var (
	yamlBegin = regexp.MustCompile(`\A(?:---|%YAML|- *\{|- +[\w-]+:|[\w.-]+:(?:\s|\z)|[\[{])`)
	yamlSure  = regexp.MustCompile(`\A(?:---|apiVersion:|kind:|[\w.-]+:\s*\z)`)
)

// isYAML reports whether a text has structures of YAML, or begins as if it had and has a mistake.
func isYAML(text string) bool {
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimRight(l, " \t")
		if t := strings.TrimSpace(l); t == "" || strings.HasPrefix(t, "#") {
			continue
		}
		if !yamlBegin.MatchString(l) {
			return false
		}
		docs, err := documents(text)
		if err != nil {
			return errors.Is(err, errAliases) || yamlSure.MatchString(l)
		}
		return slices.ContainsFunc(docs, structured) || len(docs) == 1 && isJSONList(docs[0])
	}
	return false
}

// structured reports whether a document is more than words: a list of maps, a map of lists or maps, or a map that says
// where a machine is.
func structured(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.SequenceNode:
		return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind == yaml.MappingNode })
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode || columnOf(n.Content[i].Value) == "host" {
				return true
			}
		}
	}
	return false
}

// isJSONList reports whether a document is a list between brackets: ["10.0.0.1", "10.0.0.2"].
func isJSONList(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) > 0
}

var (
	directive  = regexp.MustCompile(`(?m)^%[^\n]*`)
	typedColon = regexp.MustCompile(`(?m)^([ \t]*(?:-[ \t]*)?[\w-]+)：[ \t]*`)
)

// typedYAML is YAML whose keys have a colon of a Chinese input method behind them.
func typedYAML(text string) string {
	if !typedColon.MatchString(text) {
		return text
	}
	return typedColon.ReplaceAllString(text, "$1: ")
}

// documents are those of a text, without aliases and merge keys in them. Its directives are for another parser.
func documents(text string) (out []*yaml.Node, err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "%") {
		text = directive.ReplaceAllString(text, "")
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	var x aliases
	for len(out) < 100 {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			if out = append(out, x.value(n.Content[0])); x.err != nil {
				return nil, x.err
			}
		}
	}
	return out, nil
}

// yamlReader reads the documents of one text.
type yamlReader struct {
	out List
	// what RKE says of all machines
	hops []config.Bastion
	key  string
}

func readYAML(text string) List {
	r := &yamlReader{out: List{Format: YAML}}
	docs, err := documents(text)
	switch {
	case errors.Is(err, errAliases):
		r.out.Rejected = []Rejected{whole(1, because("machines.yaml-aliases", "limit", strconv.Itoa(mostCopied)))}
		return r.out
	case err != nil:
		r.out.Rejected = []Rejected{whole(1, because("machines.yaml", "why", err.Error()))}
		return r.out
	}
	for _, d := range docs {
		r.document(d)
	}
	if len(r.out.Entries)+len(r.out.Rejected)+len(r.out.Skipped) == 0 {
		for _, d := range docs {
			r.elsewhere(d, 0)
		}
	}
	if len(r.out.Entries)+len(r.out.Rejected)+len(r.out.Skipped) == 0 {
		r.out.Rejected = []Rejected{whole(1, because("machines.yaml-nothing"))}
	}
	return r.out
}

// at is the value of a key of a map, nil if it is not there.
func at(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		found := (*yaml.Node)(nil)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		n = found
	}
	return n
}

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func (r *yamlReader) document(n *yaml.Node) {
	kind, hosts := scalar(at(n, "kind")), at(n, "spec", "hosts")
	switch {
	case n.Kind == yaml.SequenceNode:
		r.items(n, nil)
	case n.Kind != yaml.MappingNode:
	case hosts != nil && hosts.Kind == yaml.MappingNode || kind == "Inventory":
		r.kubekeyInventory(n)
	case hosts != nil && at(n, "spec", "roleGroups") != nil:
		r.kubekey(hosts, at(n, "spec", "roleGroups"))
	case hosts != nil:
		r.out.Format = K0sctl
		r.items(hosts, nil)
	case kind != "": // another document of the same file, KubeKey's configuration say
	case r.lists(n):
	case slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return columnOf(c.Value) == "host" && c.Value != "host"
	}):
		r.item(n, nil, "")
	default:
		r.ansible(n)
	}
}

// elsewhere reads lists of machines wherever they are, and hosts of KubeKey that are indented too far. Lists of other
// things are not read: their items do not say where a machine is.
func (r *yamlReader) elsewhere(n *yaml.Node, depth int) {
	isMachine := func(c *yaml.Node) bool {
		for i := 0; c.Kind == yaml.MappingNode && i+1 < len(c.Content); i += 2 {
			if column := columnOf(c.Content[i].Value); column == "host" || column == "internal" {
				return c.Content[i+1].Kind == yaml.ScalarNode
			}
		}
		return false
	}
	switch hosts := at(n, "hosts"); {
	case depth > 6:
	case hosts != nil && at(n, "roleGroups") != nil:
		r.kubekey(hosts, at(n, "roleGroups"))
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0 && !slices.ContainsFunc(n.Content,
		func(c *yaml.Node) bool { return !isMachine(c) }):
		r.out.Format = YAML
		r.items(n, nil)
	default:
		for _, c := range n.Content {
			r.elsewhere(c, depth+1)
		}
	}
}

// lists reads the lists of a deploy.yaml, or of a cluster.yml of RKE.
func (r *yamlReader) lists(n *yaml.Node) (some bool) {
	if hops, secret := hopsOf(at(n, "bastion_host"), 0); at(n, "nodes") != nil {
		if r.hops, r.key = hops, scalar(at(n, "ssh_key_path")); secret {
			r.out.Secrets++
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i].Value, n.Content[i+1]
		role, is := RoleOf(key)
		switch {
		case v.Kind == yaml.SequenceNode && key == "hosts":
			r.items(v, nil)
		case is && v.Kind == yaml.SequenceNode && !saysRoles(v):
			r.items(v, []bundle.Role{role})
		case is && v.Kind == yaml.SequenceNode:
			r.items(v, nil)
		case is && v.Kind == yaml.MappingNode && at(v, "ip") != nil: // the load balancer
			r.item(v, []bundle.Role{role}, "")
		default:
			continue
		}
		some = true
	}
	return some
}

// saysRoles reports whether the machines of a list say their roles themselves.
func saysRoles(list *yaml.Node) bool {
	return slices.ContainsFunc(list.Content, func(n *yaml.Node) bool {
		return at(n, "role") != nil || at(n, "roles") != nil
	})
}

func (r *yamlReader) items(list *yaml.Node, roles []bundle.Role) {
	for _, n := range list.Content {
		if n.Kind == yaml.ScalarNode {
			l := readLine(narrow(n.Value))
			l.at, l.e.Roles = n.Line, with(l.e.Roles, roles...)
			r.put(l, (*List).takeNamed)
			continue
		}
		r.item(n, roles, "")
	}
}

// item reads one machine from a map; name is its name if the map has none.
func (r *yamlReader) item(n *yaml.Node, roles []bundle.Role, name string) {
	l := &line{at: n.Line, e: Entry{Machine: config.Machine{Roles: slices.Clone(roles)}}}
	if n.Kind != yaml.MappingNode {
		l.why = because("machines.yaml-machine")
		r.put(l, (*List).add)
		return
	}
	r.values(l, n, 0)
	if l.names == nil && name != "" && l.why == nil {
		l.set("name", name, name)
	}
	r.put(l, (*List).add)
}

// values takes what a map says of a machine; how it is reached may stand in a map of its own.
func (r *yamlReader) values(l *line, n *yaml.Node, depth int) {
	for _, internal := range []bool{false, true} { // an address from outside first
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, v := n.Content[i].Value, n.Content[i+1]
			column := columnOf(key)
			value := scalar(v)
			if v.Kind == yaml.SequenceNode && column == "role" {
				var all []string
				for _, c := range v.Content {
					all = append(all, c.Value)
				}
				value = strings.Join(all, ",")
			}
			if (column == "internal") != internal {
				continue
			}
			switch {
			case column == "bastion" && v.Kind == yaml.MappingNode:
				hops, secret := hopsOf(v, 0)
				l.secret = l.secret || secret
				l.through(hops)
			case v.Kind == yaml.MappingNode && depth == 0 && !internal &&
				slices.Contains([]string{"ssh", "openSSH", "connector"}, key):
				r.values(l, v, depth+1)
			case column == "internal":
				value, _, _ = strings.Cut(value, ",")
				l.set(column, narrow(value), value)
			case column != "":
				l.set(column, narrow(value), value)
			}
		}
	}
}

// put takes a machine. One that stands in several lists is one machine with all their roles.
func (r *yamlReader) put(l *line, take func(*List, *line)) {
	had := len(r.out.Entries)
	l.through(r.hops)
	if l.e.Key == "" && r.key != "" {
		l.set("key", r.key, r.key)
	}
	take(&r.out, l)
	fresh := r.out.Entries[had:]
	r.out.Entries = r.out.Entries[:had]
	for _, e := range fresh {
		i := slices.IndexFunc(r.out.Entries, func(o Entry) bool {
			return o.IP == e.IP && o.Host == e.Host && o.Port == e.Port
		})
		if i >= 0 {
			r.out.Entries[i].Roles = with(r.out.Entries[i].Roles, e.Roles...)
			continue
		}
		r.out.Entries = append(r.out.Entries, e)
	}
}

// kubekey reads the hosts of a cluster of KubeKey, whose roles stand beside them by name.
func (r *yamlReader) kubekey(hosts, groups *yaml.Node) {
	r.out.Format = KubeKey
	roles := map[string][]bundle.Role{}
	for i := 0; i+1 < len(groups.Content); i += 2 {
		role, is := RoleOf(groups.Content[i].Value)
		if !is {
			continue
		}
		for _, n := range groups.Content[i+1].Content {
			names, why := expand(strings.ToLower(narrow(n.Value)))
			if why != nil {
				r.out.Rejected = append(r.out.Rejected, Rejected{Line: n.Line, Text: n.Value, Why: *why})
			}
			for _, name := range names {
				roles[name] = with(roles[name], role)
			}
		}
	}
	from := len(r.out.Entries)
	r.items(hosts, nil)
	var kept []Entry
	for _, e := range r.out.Entries[from:] {
		e.Roles = inOrder(with(e.Roles, roles[e.Name]...))
		if len(e.Roles) == 0 {
			r.out.Skipped = append(r.out.Skipped, Rejected{Line: e.Line,
				Why: *because("machines.no-role", "name", e.Name)})
			continue
		}
		kept = append(kept, e)
	}
	r.out.Entries = append(r.out.Entries[:from], kept...)
}

// kubekeyInventory reads the Inventory of KubeKey 4, which is Ansible's with other words.
func (r *yamlReader) kubekeyInventory(n *yaml.Node) {
	v := newInventory()
	hosts, groups := at(n, "spec", "hosts"), at(n, "spec", "groups")
	if hosts == nil {
		return
	}
	for i := 0; i+1 < len(hosts.Content); i += 2 {
		name, of := hosts.Content[i], hosts.Content[i+1]
		vars := variables(of)
		if c := at(of, "connector"); c != nil {
			for key, value := range variables(c) {
				vars["ansible_"+key] = value
			}
		}
		if vars["ansible_host"] == "" {
			vars["ansible_host"] = vars["internal_ipv4"]
		}
		v.host("all", name.Value, name.Line, vars)
	}
	for i := 0; groups != nil && i+1 < len(groups.Content); i += 2 {
		g := v.group(groups.Content[i].Value)
		g.hosts = append(g.hosts, list(at(groups.Content[i+1], "hosts"))...)
		g.children = append(g.children, list(at(groups.Content[i+1], "groups"))...)
	}
	r.inventory(v, KubeKey)
}

func (r *yamlReader) inventory(v *inventory, f Format) {
	r.out.Format = f
	r.out = v.list(r.out)
}

func list(n *yaml.Node) (out []string) {
	if n == nil {
		return nil
	}
	for _, c := range n.Content {
		out = append(out, c.Value)
	}
	return out
}

func variables(n *yaml.Node) map[string]string {
	out := map[string]string{}
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if v := scalar(n.Content[i+1]); v != "" {
			out[n.Content[i].Value] = v
		}
	}
	return out
}

// ansible reads an inventory in YAML: groups with hosts, children and vars.
func (r *yamlReader) ansible(n *yaml.Node) {
	v := newInventory()
	r.groups(v, n, "", 0)
	v.said(at(n, "_meta", "hostvars"))
	r.inventory(v, Ansible)
}

// said adds what ansible-inventory --list writes of all hosts in one place, beside the groups.
func (v *inventory) said(of *yaml.Node) {
	for i := 0; of != nil && of.Kind == yaml.MappingNode && i+1 < len(of.Content); i += 2 {
		if m := v.hosts[of.Content[i].Value]; m != nil {
			maps.Copy(m.vars, variables(of.Content[i+1]))
		}
	}
}

// bareHosts reads hosts that are no map, as Ansible does not: words on lines of their own are one text for YAML.
func (r *yamlReader) bareHosts(v *inventory, group string, hosts *yaml.Node) {
	if hosts == nil || hosts.Kind == yaml.MappingNode {
		return
	}
	items := hosts.Content
	if hosts.Kind == yaml.ScalarNode {
		items = []*yaml.Node{hosts}
	}
	for _, n := range items {
		for _, word := range strings.Fields(scalar(n)) {
			names, why := namesOf(narrow(word))
			if why != nil {
				r.out.Rejected = append(r.out.Rejected, Rejected{Line: n.Line, Text: word, Why: *why})
			}
			for _, one := range names {
				v.host(group, one, n.Line, nil)
			}
		}
	}
}

func (r *yamlReader) groups(v *inventory, n *yaml.Node, parent string, depth int) {
	for i := 0; n != nil && depth < 30 && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		name, of := n.Content[i].Value, n.Content[i+1]
		if parent != "" {
			v.group(parent).children = append(v.group(parent).children, name)
		}
		g := v.group(name)
		for key, value := range variables(at(of, "vars")) {
			g.vars[key] = value
		}
		hosts := at(of, "hosts")
		for j := 0; hosts != nil && hosts.Kind == yaml.MappingNode && j+1 < len(hosts.Content); j += 2 {
			h := hosts.Content[j]
			names, why := namesOf(narrow(h.Value))
			var of []map[string]string
			if why == nil {
				of, why = each(names, variables(hosts.Content[j+1]))
			}
			if why != nil {
				r.out.Rejected = append(r.out.Rejected, Rejected{Line: h.Line, Text: h.Value, Why: *why})
				continue
			}
			for k, one := range names {
				v.host(name, one, h.Line, of[k])
			}
		}
		r.bareHosts(v, name, hosts)
		if children := at(of, "children"); children != nil && children.Kind == yaml.SequenceNode { // names of groups
			g.children = append(g.children, list(children)...)
		}
		r.groups(v, at(of, "children"), name, depth+1)
	}
}
