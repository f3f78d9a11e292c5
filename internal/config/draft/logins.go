package draft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// addLogins takes users and private keys that were said of machines. Those of the first machines are the cluster's, if
// all have the same; others stand by the names of their machines in eggo.machines.
func addLogins(d *config.Draft, list []machines.Entry, first bool) {
	for _, x := range []struct {
		key, own string
		of       func(machines.Entry) string
	}{
		{"username", "user", func(e machines.Entry) string { return e.User }},
		{"private-key-path", "private-key-path", func(e machines.Entry) string { return e.Key }},
	} {
		// what was typed stays
		same := first && len(list) > 0 && x.of(list[0]) != "" && d.Value(x.key) == ""
		for _, e := range list {
			same = same && x.of(e) == x.of(list[0])
		}
		if same {
			d.Set(x.key, x.of(list[0]))
		}
		for _, e := range list {
			if v := x.of(e); v != "" && v != d.Get(x.key) {
				SetLogin(d, nameOf(d, e), x.own, v)
			}
		}
	}
	addBastions(d, list, first)
}

// addBastions takes the bastions that were said of machines, in the same way.
func addBastions(d *config.Draft, list []machines.Entry, first bool) {
	same := first && len(list) > 0 && len(list[0].Bastions) > 0 && d.Value("eggo.bastion") == ""
	for _, e := range list {
		same = same && slices.Equal(e.Bastions, list[0].Bastions)
	}
	if same {
		d.Set("eggo.bastion", hopsValue(list[0].Bastions))
		return
	}
	for _, e := range list {
		if len(e.Bastions) == 0 || hopsValue(e.Bastions) == d.Value("eggo.bastion") {
			continue
		}
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(hopsValue(e.Bastions)), &doc); err == nil && len(doc.Content) == 1 {
			setLogin(d, nameOf(d, e), "bastion", doc.Content[0])
		}
	}
}

// hopsValue are bastions as a value of deploy.yaml: as for ssh -J, or a list of maps if one has its own key.
func hopsValue(list []config.Bastion) string {
	if !slices.ContainsFunc(list, func(b config.Bastion) bool { return b.PrivateKeyPath != "" }) {
		text, _ := json.Marshal(machines.HopsText(list)) // which is YAML
		return string(text)
	}
	return hopsList(list)
}

// hopsList are bastions as a list of maps.
func hopsList(list []config.Bastion) string {
	var out []map[string]any
	for _, b := range list {
		hop := map[string]any{"host": b.Host, "port": b.Port}
		for key, value := range map[string]string{"user": b.User, "private-key-path": b.PrivateKeyPath,
			"password": b.Password, "password-from": b.PasswordFrom} {
			if value != "" {
				hop[key] = value
			}
		}
		out = append(out, hop)
	}
	text, err := json.Marshal(out) // which is YAML
	if err != nil {
		return ""
	}
	return string(text)
}

// WithoutBastions takes the bastions off machines that join a cluster: its deploy.yaml says how nodes are reached.
func WithoutBastions(l machines.List) machines.List {
	l.Entries, l.Notes = slices.Clone(l.Entries), slices.Clone(l.Notes)
	var ways []string
	for i, e := range l.Entries {
		if way := machines.HopsText(e.Bastions); way != "" && !slices.Contains(ways, way) {
			ways = append(ways, way)
			l.Notes = append(l.Notes, event.M("machines.bastion-dropped", "bastion", way))
		}
		l.Entries[i].Bastions = nil
	}
	return l
}

// OneLogin rejects machines that are to join a cluster with a login of their own: a node has one only by the cluster's
// deploy.yaml.
func OneLogin(d config.Draft, l machines.List) machines.List {
	l = WithoutBastions(l)
	entries := l.Entries
	l.Entries = nil
	for _, e := range entries {
		if e.User != "" && e.User != d.Get("username") || e.Key != "" && e.Key != d.Get("private-key-path") {
			l.Rejected = append(l.Rejected, machines.Rejected{Line: e.Line, Text: e.String(),
				Why: event.M("machines.join-login", "word", cmp.Or(e.User, e.Key))})
			continue
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// nameOf returns the name of the machine of an entry in the draft.
func nameOf(d *config.Draft, e machines.Entry) string {
	if i := Listed(*d, e.Machine); i >= 0 {
		return d.Machines[i].Name
	}
	return e.Name
}

// RenameLogin keeps the login of a machine with it when it is renamed; an empty name removes it.
func RenameLogin(d *config.Draft, was, name string) {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(d.Value("eggo.machines")), &doc) != nil || len(doc.Content) != 1 ||
		doc.Content[0].Kind != yaml.MappingNode {
		return
	}
	m := doc.Content[0]
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != was {
			continue
		}
		if name == "" {
			m.Content = slices.Delete(m.Content, i, i+2)
		} else {
			m.Content[i].SetString(name)
		}
		break
	}
	if len(m.Content) == 0 {
		d.Set("eggo.machines", "")
		return
	}
	writeLogins(d, m)
}

func writeLogins(d *config.Draft, m *yaml.Node) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(m) == nil {
		d.Set("eggo.machines", string(bytes.TrimRight(b.Bytes(), "\n")))
	}
}

// SetLogin sets a value of the login of one machine. A text of eggo.machines that is no map stays as it was typed.
func SetLogin(d *config.Draft, name, key, value string) {
	var n yaml.Node
	n.SetString(value)
	setLogin(d, name, key, &n)
}

func setLogin(d *config.Draft, name, key string, value *yaml.Node) {
	var doc yaml.Node
	if text := d.Value("eggo.machines"); text != "" {
		if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) != 1 ||
			doc.Content[0].Kind != yaml.MappingNode {
			return
		}
	} else {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	of := entryOf(doc.Content[0], name, func() *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	})
	if of.Kind != yaml.MappingNode {
		return
	}
	*entryOf(of, key, func() *yaml.Node { return &yaml.Node{} }) = *value
	writeLogins(d, doc.Content[0])
}

// entryOf is the value of a key of a map, which is made if it is not there.
func entryOf(m *yaml.Node, key string, fresh func() *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	var k yaml.Node
	k.SetString(key)
	m.Content = append(m.Content, &k, fresh())
	return m.Content[len(m.Content)-1]
}

// AskBastion has a draft say that the password of a bastion is asked for. who is the bastion as the login to it,
// user@host or user@host:port; user is who logs in where none is said. It gives false if the draft has no such bastion.
func AskBastion(d *config.Draft, user, who string) bool {
	probe := config.Draft{Machines: []config.Machine{{Name: "x", IP: "192.0.2.1",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
	}.WithValues(map[string]string{"cluster-id": "x", "eggo.bastion": d.Value("eggo.bastion"),
		config.BundleKey("amd64"): "/x.tar.gz"})
	c, _ := probe.Check("deploy.yaml")
	if c == nil {
		return false
	}
	known := false
	for i := range c.Eggo.Bastions {
		b := &c.Eggo.Bastions[i]
		if own := b.Login(user); own == who || own == who+":22" {
			known, b.PasswordFrom = true, "prompt"
		}
	}
	if known {
		d.Set("eggo.bastion", hopsList(c.Eggo.Bastions))
	}
	return known
}
