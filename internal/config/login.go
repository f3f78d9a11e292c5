package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Login is how one machine is logged in to where that differs from the others. What it does not say is the cluster's.
type Login struct {
	User             string
	PrivateKeyPath   string
	Password         string
	PasswordFrom     string // "", prompt, env:NAME, file:PATH
	SudoPassword     string
	SudoPasswordFrom string
	Bastions         []Bastion // when OwnBastions; none: the machine is reached without one
	OwnBastions      bool
}

// LoginOf is how a machine is logged in to. One with a key or a password of its own is not offered the cluster's, and
// its password is its sudo password too.
func (c *Cluster) LoginOf(name string) Login {
	l := c.Eggo.Machines[name]
	l.User = cmp.Or(l.User, c.SSH.User)
	if !l.OwnBastions {
		l.Bastions = c.Eggo.Bastions
	}
	own := l.Password != "" || l.PasswordFrom != ""
	if l.SudoPassword == "" && l.SudoPasswordFrom == "" {
		l.SudoPassword = l.Password
		if !own {
			l.SudoPassword = c.Eggo.SudoPassword
		}
	}
	if !own && l.PrivateKeyPath == "" {
		l.Password, l.PrivateKeyPath = c.SSH.Password, c.SSH.PrivateKeyPath
	}
	l.SudoPassword = cmp.Or(l.SudoPassword, l.Password)
	return l
}

// logins takes eggo.machines: logins by the names of machines.
func (l *loader) logins(list map[string]LoginSpec) {
	if len(list) == 0 {
		return
	}
	l.c.Eggo.Machines = map[string]Login{}
	for name, s := range list {
		path := "eggo.machines." + event.Clean(clip(name))
		text := func(key, said string) string { return l.word("<login>."+key, below(path, key), said) }
		o := Login{User: text("user", s.User), PrivateKeyPath: text("private-key-path", s.PrivateKeyPath),
			Password: text("password", s.Password), PasswordFrom: text("password-from", s.PasswordFrom),
			SudoPassword:     text("sudo-password", s.SudoPassword),
			SudoPasswordFrom: text("sudo-password-from", s.SudoPasswordFrom),
			Bastions:         l.bastions(below(path, "bastion"), s.Bastion), OwnBastions: s.Bastion != nil}
		l.oneSecret(path, "password", o.Password, o.PasswordFrom)
		l.oneSecret(path, "sudo-password", o.SudoPassword, o.SudoPasswordFrom)
		l.c.Eggo.Machines[name] = o
	}
}

// checkLogins warns of logins of machines that the file does not have, and of passwords that are easy to guess.
func (l *loader) checkLogins() {
	for name, o := range l.c.Eggo.Machines {
		key := "eggo.machines." + event.Clean(clip(name))
		if !slices.ContainsFunc(l.c.Nodes, func(n Node) bool { return n.Name == name }) {
			l.warnAt(l.where(key), key, "config.login-unknown", "value", clip(name))
		}
		if o.Password != "" && isWeak(o.Password) {
			l.warnAt(l.where(key+".password"), key+".password", "config.weak-password")
		}
	}
}

// removeOwn takes what is said of machines by name out of eggo.machines and eggo.nodes.
func (t *text) removeOwn(gone []Node) {
	key, eggo := t.pair("eggo")
	if eggo == nil || eggo.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(eggo.Content); i += 2 {
		machines := eggo.Content[i+1]
		if eggo.Content[i].Value != "machines" && eggo.Content[i].Value != "nodes" ||
			machines.Kind != yaml.MappingNode {
			continue
		}
		for _, n := range gone {
			for j := 0; j+1 < len(machines.Content); j += 2 {
				if machines.Content[j].Value == n.Name {
					machines.Content = append(machines.Content[:j:j], machines.Content[j+2:]...)
					t.changed[key] = true
					break
				}
			}
		}
		if len(machines.Content) == 0 {
			machines.Style = yaml.FlowStyle
		}
	}
}

// AddLogins gives machines of a deploy.yaml logins of their own in eggo.machines: user and private key. The result has
// been loaded again, as that of AddNodes.
func AddLogins(data []byte, file string, logins map[string]Login) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	was, problems := Load(data, file)
	if was == nil {
		return nil, problems, nil
	}
	machines := mapIn(asMap(t.eggo()), "machines")
	for _, name := range slices.Sorted(maps.Keys(logins)) {
		own := mapIn(machines, name)
		own.Style = yaml.FlowStyle
		for _, kv := range [][2]string{{"user", logins[name].User}, {"private-key-path", logins[name].PrivateKeyPath}} {
			if kv[1] != "" {
				own.Content = append(own.Content, textNode(kv[0]), textNode(kv[1]))
			}
		}
	}
	return t.result(file, was.Nodes)
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// asMap makes a node that says nothing a map.
func asMap(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", LineComment: n.LineComment}
	}
	if len(n.Content) == 0 {
		n.Style = 0
	}
	return n
}

// mapIn is the map of a key, which is made if it is not there.
func mapIn(m *yaml.Node, key string) *yaml.Node { return asMap(valueIn(m, key)) }

// Blank reports whether a secret is none: there is nothing in it but blanks and line breaks, as in a file that has only
// its last line break, or after Enter at a prompt.
func Blank(secret string) bool { return strings.TrimSpace(secret) == "" }
