package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// writer writes a draft down.
type writer struct {
	lines
	d     Draft
	open  []string // maps that are open, by their path
	unset []Key    // that template has in comments, until it is known whether the map above them is written
}

// YAML is the deploy.yaml that the draft makes: passwords only if they are to be kept, else the word that they are
// asked for.
func (d Draft) YAML() []byte { return d.write(nil).b.Bytes() }

// Commented is YAML with the comments that Template has for what is written, in the printer's language, and what
// Template has in comments for a person to fill in.
func (d Draft) Commented(p *i18n.Printer) []byte { return d.write(p).b.Bytes() }

func (d Draft) write(p *i18n.Printer) *writer {
	d = d.Clone()
	for _, x := range secretSources() {
		switch {
		case d.Value(x.secret) == "":
		case d.Value(x.from) == "prompt": // a secret that was typed is not asked for
			d.Set(x.from, "")
			fallthrough
		case d.Value(x.from) == "":
			if !d.KeepSecrets {
				d.Set(x.from, "prompt")
			}
		}
	}
	if !d.KeepSecrets {
		d = d.WithoutSecrets()
	}
	w := &writer{lines: lines{p: p}, d: d}
	w.head("head")
	for _, s := range Settings() {
		if s.Key == "external-ca" {
			w.machines()
		}
		if v := d.Value(s.Key); v != "" || s.Key == "cluster-id" {
			w.setting(s, d.Get(s.Key))
		} else if p != nil {
			w.leave(s.Key)
		}
	}
	w.hidden()
	return w
}

// words are those of the comment of a key that is written; "" if template has none for it.
func (w *writer) words(key string) string {
	for _, words := range []string{key + ".set", key} {
		if w.p != nil && w.p.Has("template."+words) {
			return words
		}
	}
	return ""
}

// leave writes a key that is not set in a comment, if template does. What stands in a map that is not open waits until
// it is.
func (w *writer) leave(key string) {
	k, _ := theTable().find(key)
	value, has := k.sampled()
	above, _ := theTable().find(k.above())
	if !has || !strings.HasPrefix(value, "#") && !above.commented() {
		return
	}
	if up := k.above(); up != "" && strings.Join(w.open, ".") != up {
		w.unset = append(w.unset, k)
		return
	}
	w.left(k, strings.Count(key, "."), false)
}

// left writes the line of a key that is not set.
func (w *writer) left(k Key, depth int, hidden bool) {
	value, _ := k.sampled()
	words := w.words(k.Path)
	if none := k.Path + ".none"; w.p.Has("template." + none) {
		words = none
	}
	code := before(depth, hidden, true) + k.written() + ":" + after(strings.TrimPrefix(value, "#"))
	w.line(strings.TrimSuffix(code, " "), words)
}

// opened writes what waited for a map.
func (w *writer) opened(path string) {
	w.unset = slices.DeleteFunc(w.unset, func(k Key) bool {
		if k.above() == path {
			w.left(k, strings.Count(k.Path, "."), false)
		}
		return k.above() == path
	})
}

// hidden writes the maps that template has in comments, and of which nothing is set.
func (w *writer) hidden() {
	open := ""
	for _, k := range w.unset {
		above, _ := theTable().find(k.above())
		if !above.commented() {
			continue
		}
		if open != above.Path {
			open = above.Path
			w.line("# "+open+":", w.words(open))
		}
		w.left(k, 1, true)
	}
}

// enter opens the maps above a key and gives its last word with its indent.
func (w *writer) enter(key string) (indent, name string) {
	words := strings.Split(key, ".")
	for i := range words[:len(words)-1] {
		if i < len(w.open) && w.open[i] == words[i] {
			continue
		}
		w.open = append(w.open[:min(i, len(w.open))], words[i])
		path := strings.Join(w.open, ".")
		w.line(strings.Repeat("  ", i)+words[i]+":", w.words(path))
		w.opened(path)
	}
	w.open = w.open[:len(words)-1]
	if k, is := theTable().find(key); is {
		return strings.Repeat("  ", len(words)-1), k.written()
	}
	return strings.Repeat("  ", len(words)-1), words[len(words)-1]
}

func (w *writer) setting(s Setting, value string) {
	switch s.Kind {
	case List:
		items := Items(value)
		if len(items) == 0 {
			return
		}
		indent, name := w.enter(s.Key)
		w.line(indent+name+":", w.words(s.Key))
		for _, one := range items {
			if s.Key == "addons" {
				fmt.Fprintf(&w.b, "%s- type: file\n%s  filename: %s\n", indent, indent, s.written(one))
				continue
			}
			fmt.Fprintf(&w.b, "%s- %s\n", indent, s.written(one))
		}
	case Block:
		w.block(s, value)
	default:
		indent, name := w.enter(s.Key)
		line := w.line
		if s.Kind == Secret { // what hides the password on a screen hides the rest of its line
			line = w.over
		}
		line(indent+name+": "+s.written(value), w.words(s.Key))
	}
}

// block writes YAML below its key. What is no YAML is not written: Draft.Check reports it. Neither are keys that say
// nothing, because some have a meaning by being there.
func (w *writer) block(s Setting, value string) {
	node, _ := s.block(value)
	var said Spec
	if problems := said.Set(s.Key, value); node == nil || len(problems) == 0 && reflect.ValueOf(said).IsZero() {
		return
	}
	indent, name := w.enter(s.Key)
	if n := node; n.Kind == yaml.ScalarNode {
		w.line(indent+name+": "+s.written(n.Value), w.words(s.Key))
		return
	}
	w.line(indent+name+":", w.words(s.Key))
	w.b.WriteString(indented(value, indent+"  "))
}

func (w *writer) machines() {
	masters, etcds := w.d.With(bundle.ControlPlane), w.d.With(bundle.Etcd)
	if len(masters) == 0 {
		w.line("masters: []", w.words("masters"))
	}
	w.list("masters", masters)
	w.list("nodes", w.d.With(bundle.Worker))
	if len(etcds) > 0 && !slices.Equal(etcds, masters) {
		w.list("etcds", etcds)
	}
	if at := w.d.With(bundle.LoadBalancer); len(at) > 0 { // there is one
		w.line("loadbalance:", w.words("loadbalance"))
		w.machine(w.d.Machines[at[0]], "  ", "  ", false)
		if w.d.BindPort != "" {
			w.line("  bind-port: "+Setting{}.written(w.d.BindPort), w.words("balancer.bind-port"))
		}
	}
}

func (w *writer) list(key string, at []int) {
	if len(at) == 0 {
		return
	}
	w.line(key+":", w.words(key))
	for n, i := range at {
		w.machine(w.d.Machines[i], "- ", "  ", n == 0 && key == "masters")
	}
}

// machine writes the keys of a machine; those of the first are explained.
func (w *writer) machine(m Machine, first, indent string, explained bool) {
	for _, kv := range [][2]string{{"name", m.Name}, {"ip", m.IP}, {"port", cmp.Or(m.Port, "22")},
		{"arch", cmp.Or(m.Arch, "amd64")}} {
		words := ""
		if explained {
			words = w.words("machine." + kv[0])
		}
		w.line(first+kv[0]+": "+Setting{}.written(kv[1]), words)
		first = indent
	}
}

// secretSource is a secret, and the key that says where it comes from instead.
type secretSource struct{ secret, from string }

func secretSources() []secretSource {
	return []secretSource{{"password", "eggo.password-from"}, {"eggo.sudo-password", "eggo.sudo-password-from"}}
}
