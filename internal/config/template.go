package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// TemplateOptions are what a template is filled in with; what is empty gets an example.
type TemplateOptions struct {
	Name         string
	User         string
	Password     string // "" leaves the key out: there is no default password
	PrivateKey   string
	Masters      []string // addresses; a machine may stand in several lists
	Nodes        []string // empty: example machines, or the masters if those are given
	Etcds        []string
	LoadBalancer string
	Arch         string            // of all machines
	Bundles      map[string]string // path of the bundle of each architecture
}

// Template writes a deploy.yaml in the order of the manual, with comments in the printer's language, for a person to go
// on from. It checks nothing: Load does, and every set of options that can be right gives a file that loads.
func Template(o TemplateOptions, p *i18n.Printer) []byte { return theTable().template(o, p) }

func (all *table) template(o TemplateOptions, p *i18n.Printer) []byte {
	t := &template{lines: lines{p: p}, table: all, names: map[string]string{}}
	o.fill()
	t.o, t.given = o, o.given()
	t.head("head")
	t.keys("", 0, false)
	return t.b.Bytes()
}

// given are the values that the options have, by the paths of their keys.
func (o TemplateOptions) given() map[string]string {
	endpoint := o.Masters[0] + ":" + APIPort
	if o.LoadBalancer != "" {
		endpoint = o.LoadBalancer + ":" + BalancerPort
	}
	out := map[string]string{"cluster-id": quote(o.Name), "username": quote(o.User),
		"apiserver-endpoint": quote(endpoint)}
	if o.Password != "" {
		out["password"] = quoted(o.Password)
	}
	if o.PrivateKey != "" {
		out["private-key-path"] = quote(o.PrivateKey)
	}
	for arch, path := range o.Bundles {
		out[BundleKey(arch)] = quote(path)
	}
	return out
}

// fill gives what was not said. One machine with all roles is the smallest cluster, so masters without nodes run pods
// too.
func (o *TemplateOptions) fill() {
	set := func(s *string, to string) {
		if *s == "" {
			*s = to
		}
	}
	set(&o.Name, "k8s-cluster")
	set(&o.User, "root")
	set(&o.Arch, "amd64")
	switch {
	case len(o.Masters) == 0 && len(o.Nodes) == 0:
		o.Masters, o.Nodes = []string{"192.168.0.1"}, []string{"192.168.0.2", "192.168.0.3"}
	case len(o.Masters) == 0:
		o.Masters = []string{"192.168.0.1"}
	case len(o.Nodes) == 0:
		o.Nodes = o.Masters
	}
	bundles := map[string]string{o.Arch: "./eggo-" + o.Arch + ".tar.gz"}
	for arch, path := range o.Bundles {
		if path != "" {
			bundles[arch] = path
		}
	}
	o.Bundles = bundles
}

// lines are those of a deploy.yaml. Comments stand in one column, as in the manual; without a printer there are none.
type lines struct {
	b bytes.Buffer
	p *i18n.Printer
}

// template collects the lines.
type template struct {
	lines
	table *table
	o     TemplateOptions
	given map[string]string // values by the paths of their keys
	names map[string]string // machine names by address
}

// commentColumn is where the comments stand, and widest is how long a line with a comment may be.
const (
	commentColumn = 44
	widest        = 120
)

// line writes code with the comment of that key, if there is one: in the line above it where both are too
// long for one.
func (l *lines) line(code, comment string) {
	if comment == "" || l.p == nil {
		l.b.WriteString(code + "\n")
		return
	}
	text := "# " + l.p.T("template."+comment)
	gap := max(1, commentColumn-ansi.StringWidth(code))
	if ansi.StringWidth(code)+gap+ansi.StringWidth(text) > widest {
		l.over(code, comment)
		return
	}
	l.b.WriteString(code + strings.Repeat(" ", gap) + text + "\n")
}

// over writes code below its comment.
func (l *lines) over(code, comment string) {
	if comment != "" && l.p != nil {
		in := " "
		if strings.HasPrefix(code, "#  ") { // a comment in the map that is one: it stays a comment when the map is none
			in = "# "
		}
		indent := code[:len(code)-len(strings.TrimLeft(code, in))]
		l.b.WriteString(indent + "# " + l.p.T("template."+comment) + "\n")
	}
	l.b.WriteString(code + "\n")
}

// head writes a comment of several lines.
func (l *lines) head(comment string) {
	if l.p == nil {
		return
	}
	for s := range strings.SplitSeq(l.p.T("template."+comment), "\n") {
		l.line("# "+s, "")
	}
}

// keys writes the keys below a path; in a comment, if the key above is in one.
func (t *template) keys(path string, depth int, hidden bool) {
	for _, k := range t.table.below[path] {
		switch {
		case k.Path == "loadbalance":
			t.balancer()
		case k.Kind == Machines:
			t.hosts(k)
		case k.Kind == Map && !t.shows(k): // nothing of it
		default:
			t.key(k, depth, hidden)
		}
	}
}

// shows reports whether the template has a key, or one below it.
func (t *template) shows(k Key) bool {
	_, has := t.value(k)
	return has || k.Kind == Map && slices.ContainsFunc(t.table.below[k.Path], t.shows)
}

// value returns the text after a key in the template: the value of the options, its example, its default.
func (t *template) value(k Key) (value string, has bool) {
	if v, ok := t.given[k.Path]; ok {
		return v, true
	}
	return k.sampled()
}

// sampled returns the text after the key in the template without a value of the options: its example, its default.
func (k Key) sampled() (value string, has bool) {
	if k.Example == "" {
		return k.Default, k.Default != ""
	}
	return strings.Replace(k.Example, "=", k.Default, 1), k.Example != "-"
}

// commented reports whether the template has the key in a comment.
func (k Key) commented() bool { return strings.HasPrefix(k.Example, "#") }

// key writes the line of a key, and what stands below it.
func (t *template) key(k Key, depth int, hidden bool) {
	value, has := t.value(k)
	if !has && k.Kind != Map {
		return
	}
	value, comment := strings.CutPrefix(value, "#")
	words := k.words()
	if none := words + ".none"; comment && t.p.Has("template."+none) {
		words = none
	}
	t.line(before(depth, hidden, comment)+strings.TrimSuffix(k.written()+":"+after(value), " "), words)
	hidden = hidden || comment
	if k.Kind == Map || k.Kind == Block && k.Of == "" {
		t.keys(k.Path, depth+1, hidden || k.Kind == Block)
	} else if k.Of != "" && (value == "[]" || value == "") {
		t.sample(k, depth)
	}
}

func after(value string) string {
	if value == "" {
		return ""
	}
	return " " + strings.TrimPrefix(value, " ")
}

// before returns the text before a key: a comment inside of another one keeps its indent.
func before(depth int, hidden, comment bool) string {
	indent := strings.Repeat("  ", depth)
	switch {
	case hidden:
		return "# " + indent
	case comment:
		return indent + "# "
	}
	return indent
}

// sample writes an item of a list in comments, as it may be written in the place of [].
func (t *template) sample(list Key, depth int) {
	dash := "- "
	for _, k := range t.table.below[list.Of] {
		if value, has := t.value(k); has {
			t.line("# "+strings.Repeat("  ", depth)+dash+k.name()+": "+value, k.words())
			dash = "  "
		}
	}
}

// hosts writes a list of machines. A machine keeps the name that it got in the first list.
func (t *template) hosts(k Key) {
	list := map[string]struct {
		prefix string
		ips    []string
	}{"masters": {"k8s-master-", t.o.Masters}, "nodes": {"k8s-worker-", t.o.Nodes},
		"etcds": {"etcd-", t.o.Etcds}}[k.Path]
	if len(list.ips) == 0 {
		t.line(k.Path+": []", k.words())
		return
	}
	t.line(k.Path+":", k.words())
	for i, ip := range list.ips {
		name, known := t.names[ip]
		if !known {
			name = fmt.Sprintf("%s%d", list.prefix, i)
			t.names[ip] = name
		}
		t.machine(name, ip, "- ", "<machine>", i == 0 && k.Path == "masters")
	}
}

// machine writes the keys of a machine.
func (t *template) machine(name, ip, first, shape string, explained bool) {
	values := map[string]string{"name": quote(name), "ip": quote(ip), "arch": quote(t.o.Arch)}
	for _, k := range t.table.below[shape] {
		value, ok := values[k.name()]
		if !ok {
			value = k.Default
		}
		comment := k.words()
		if !explained && k.name() != "bind-port" {
			comment = ""
		}
		t.line(first+k.name()+": "+value, comment)
		first = "  "
	}
}

func (t *template) balancer() {
	ip := t.o.LoadBalancer
	if ip == "" {
		return
	}
	name, known := t.names[ip]
	if !known {
		name = "k8s-loadbalance"
	}
	t.line("loadbalance:", "loadbalance")
	t.machine(name, ip, "  ", "<balancer>", false)
}

// plainScalar is text that no version of YAML takes for anything but text (or, for addresses, for what they are).
var plainScalar = regexp.MustCompile(
	`\A(?:[./~]?[A-Za-z/.][A-Za-z0-9_./-]*|[0-9]+(?:\.[0-9]+){3}(?::[0-9]+|/[0-9]+)?)\z`)

// quote writes a value as YAML, in quotes if it needs them.
func quote(s string) string {
	words := []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n", "~", ".", ".nan", ".inf"}
	if plainScalar.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) && !strings.HasPrefix(s, "//") {
		return s // and no comment as the manual has them
	}
	return quoted(s)
}

// quoted writes a double-quoted scalar. JSON's strings are YAML's, once what YAML does not want raw is escaped too.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // not possible: a string always encodes
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r < 0xa0 && r >= 0x7f || isBidi(r) || r == 0x2028 || r == 0x2029 || !unicode.IsPrint(r) && r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
