package config

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// ReadDraft makes a draft of a deploy.yaml of either layout. The problems are those of the file; of one that is no
// YAML, or that has machines which cannot be told apart, the draft has what could be read.
//
// It reads the YAML itself, and not through Decode: a draft has each text as it was typed, comments in the YAML of a
// key and values that no Spec can hold included.
func ReadDraft(data []byte, file string) (Draft, Problems) {
	d := Draft{}.Clone()
	_, problems := Load(data, file)
	l := theTable().newLoader(file)
	root := l.parse(data)
	if root == nil || root.Kind != yaml.MappingNode {
		return d, problems
	}
	d.read(root, "")
	d.Set("cluster-id", d.Get("cluster-id"))
	if len(d.With(bundle.Etcd)) == 0 { // the default is made explicit
		for i := range d.Machines {
			if d.Machines[i].Has(bundle.ControlPlane) {
				d.Machines[i].Roles = append(d.Machines[i].Roles, bundle.Etcd)
			}
		}
	}
	d.KeepSecrets = d.Value("password") != "" || d.Value("eggo.sudo-password") != ""
	return d, problems
}

func (d *Draft) read(n *yaml.Node, above string) {
	lists := map[string]bundle.Role{"masters": bundle.ControlPlane, "nodes": bundle.Worker, "etcds": bundle.Etcd,
		"loadbalance": bundle.LoadBalancer}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := theTable().canonical(above+n.Content[i].Value), n.Content[i+1]
		if role, ok := lists[key]; ok {
			items := v.Content
			if v.Kind == yaml.MappingNode {
				items = []*yaml.Node{v}
			}
			for _, item := range items {
				d.readMachine(item, role)
			}
			continue
		}
		s, known := SettingOf(key)
		switch {
		case isNull(v):
		case key == "install" && d.onlySource(v):
		case known:
			d.Set(key, d.readValue(s, v))
		case v.Kind == yaml.MappingNode:
			d.read(v, key+".")
		}
	}
}

// onlySource takes the bundles out of a key install that says nothing else.
func (d *Draft) onlySource(v *yaml.Node) bool {
	if v.Kind != yaml.MappingNode || len(v.Content) != 2 || v.Content[0].Value != "package-source" ||
		v.Content[1].Kind != yaml.MappingNode {
		return false
	}
	paths := map[string]string{}
	src := v.Content[1]
	for i := 0; i+1 < len(src.Content); i += 2 {
		switch n := src.Content[i+1]; src.Content[i].Value {
		case "type":
			if n.Value != "tar.gz" {
				return false
			}
		case "srcpath":
			for j := 0; j+1 < len(n.Content); j += 2 {
				arch := strings.ToLower(n.Content[j].Value)
				if to, ok := archAliases[arch]; ok {
					arch = to
				}
				if !slices.Contains(arches, arch) {
					return false
				}
				paths[BundleKey(arch)] = n.Content[j+1].Value
			}
		default:
			return false
		}
	}
	maps.Copy(d.values, paths)
	return true
}

func (d *Draft) readValue(s Setting, v *yaml.Node) string {
	switch {
	case v.Kind == yaml.ScalarNode:
		return v.Value
	case s.Kind == List && v.Kind == yaml.SequenceNode:
		var items []string
		for _, item := range v.Content {
			text := item.Value
			for i := 0; i+1 < len(item.Content); i += 2 {
				if item.Content[i].Value == "filename" {
					text = item.Content[i+1].Value
				}
			}
			items = append(items, text)
		}
		return strings.Join(items, ", ")
	case len(v.Content) == 0:
		return ""
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(v) != nil || e.Close() != nil {
		return ""
	}
	return strings.TrimRight(b.String(), "\n")
}

// readMachine gives a machine its role; one that is there already is known by its address.
func (d *Draft) readMachine(item *yaml.Node, role bundle.Role) {
	m := Machine{Roles: []bundle.Role{role}}
	for i := 0; i+1 < len(item.Content); i += 2 {
		v := item.Content[i+1].Value
		switch item.Content[i].Value {
		case "name":
			m.Name = v
		case "ip":
			m.IP = v
		case "port":
			m.Port = unless(v, "22")
		case "arch":
			m.Arch = v
			if to, ok := archAliases[strings.ToLower(v)]; ok {
				m.Arch = to
			}
			m.Arch = unless(m.Arch, "amd64")
		case "bind-port":
			if role == bundle.LoadBalancer {
				d.BindPort = unless(v, BalancerPort)
			}
		}
	}
	for i := range d.Machines {
		if d.Machines[i].IP == m.IP && m.IP != "" {
			if !d.Machines[i].Has(role) {
				d.Machines[i].Roles = append(d.Machines[i].Roles, role)
			}
			return
		}
	}
	if m.IP != "" || m.Name != "" {
		d.Machines = append(d.Machines, m)
	}
}

func unless(s, def string) string {
	if s == def {
		return ""
	}
	return s
}
