package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// derived is the default spec on its way to that of a cluster. It is changed line by line, so that its comments stay.
type derived struct {
	p     *i18n.Printer
	lines []string
	notes []string // what a person has to see to
}

// derive makes the spec of the bundle that a deploy.yaml needs from the default one. deploy.yaml does not say which
// Kubernetes it is for, nor which operating system: those are the default's.
func derive(p *i18n.Printer, text, file string, c *config.Cluster) *derived {
	d := &derived{p: p, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	d.name(c)
	d.runtime(c)
	d.install(c)
	d.binaries(c)
	d.addons(c)
	d.images(c)
	d.head(file, c)
	return d
}

func (d *derived) text() string { return strings.Join(d.lines, "\n") + "\n" }

func (d *derived) note(key string, kv ...string) { d.notes = append(d.notes, d.p.T(key, kv...)) }

// head says where the spec comes from and what to do with it.
func (d *derived) head(file string, c *config.Cluster) {
	var arches []string
	for _, n := range c.Nodes {
		if !slices.Contains(arches, n.Arch) {
			arches = append(arches, n.Arch)
		}
	}
	slices.Sort(arches)
	top := []string{
		"# " + d.p.T("bundle.cli.derived.from", "file", file, "name", c.Name),
		"# " + d.p.T("bundle.cli.derived.arches", "arches", strings.Join(arches, ", ")),
		"#   eggo-bundle build --arch " + strings.Join(arches, ",") + " -f SPEC -o DIR",
		"# " + d.p.T("bundle.cli.derived.kubernetes"),
		"#",
	}
	d.lines = append(top, d.lines...)
}

// set replaces the line of a key at the top level.
func (d *derived) set(key, value string) {
	for i, l := range d.lines {
		if strings.HasPrefix(l, key+":") {
			d.lines[i] = key + ": " + value
		}
	}
}

var bundleName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)

// name is that of the files which deploy.yaml wants to install from, else the cluster's.
func (d *derived) name(c *config.Cluster) {
	names := map[string]bool{}
	last := ""
	for arch, file := range c.Source.Bundles {
		base, ok := strings.CutSuffix(path.Base(file), "-"+arch+".tar.gz")
		if !ok {
			base = ""
		}
		names[base], last = true, base
	}
	if len(names) != 1 || !bundleName.MatchString(last) {
		last = c.Name
	}
	if bundleName.MatchString(last) {
		d.set("name", last)
	}
}

// runtime names the one that has to load the images.
func (d *derived) runtime(c *config.Cluster) {
	if c.Runtime == "containerd" {
		return
	}
	for i, l := range d.lines {
		if strings.HasPrefix(l, "kubernetes:") {
			d.lines = slices.Insert(d.lines, i+1, "runtime: "+c.Runtime)
			return
		}
	}
}

// list is the place of a list's items: the lines after its key that stand deeper.
func (d *derived) list(key string) (from, to int) {
	indent := len(key) - len(strings.TrimLeft(key, " "))
	for i, l := range d.lines {
		if l != key {
			continue
		}
		for j := i + 1; ; j++ {
			if j == len(d.lines) || strings.TrimSpace(d.lines[j]) == "" ||
				len(d.lines[j])-len(strings.TrimLeft(d.lines[j], " ")) <= indent {
				return i + 1, j
			}
		}
	}
	return -1, -1
}

func (d *derived) replace(from, to int, lines ...string) {
	d.lines = slices.Replace(d.lines, from, to, lines...)
}

var installLine = regexp.MustCompile(`^ *- \{name: ([^,]+), roles: \[([^]]*)\]\}$`)

// install adds the packages of deploy.yaml's lists, and puts the runtime's in the place of containerd.
func (d *derived) install(c *config.Cluster) {
	from, to := d.list("  install:")
	if from < 0 {
		return
	}
	type wanted struct {
		name  string
		roles []string
	}
	var all []*wanted
	add := func(name string, roles ...string) {
		i := slices.IndexFunc(all, func(w *wanted) bool { return w.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, &wanted{name: name})
		}
		for _, r := range roles {
			if !slices.Contains(all[i].roles, r) {
				all[i].roles = append(all[i].roles, r)
			}
		}
	}
	for _, l := range d.lines[from:to] {
		m := installLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		name := m[1]
		if c.Runtime != "containerd" && slices.Contains(config.RuntimePackages("containerd"), name) {
			name = d.runtimePackage(c.Runtime)
		}
		add(name, strings.Split(m[2], ", ")...)
	}
	for _, role := range bundle.AllRoles() {
		for _, p := range c.Packages[role] {
			switch p.Type {
			case "pkg":
				add(p.Name, string(role))
			case "binary": // below
			default:
				d.note("bundle.cli.derived.other", "name", p.Name, "type", p.Type)
			}
		}
	}
	var lines []string
	for _, w := range all {
		lines = append(lines, fmt.Sprintf("    - {name: %s, roles: [%s]}", w.name, strings.Join(w.roles, ", ")))
	}
	d.replace(from, to, lines...)
}

// runtimePackage is what the distribution calls the package of a runtime.
func (d *derived) runtimePackage(runtime string) string {
	text := d.text()
	openEuler := strings.Contains(text, "id: openEuler")
	switch {
	case runtime == "isulad" && openEuler:
		return "iSulad"
	case runtime == "isulad":
		d.note("bundle.cli.derived.isulad")
		return "isulad"
	case openEuler:
		return "docker-engine"
	case strings.Contains(text, "id: centos"):
		return "docker-ce"
	}
	return "docker.io"
}

var (
	nameLine = regexp.MustCompile(`^ +- name: (.+)$`)
	pickLine = regexp.MustCompile(`"[^"]*": ([^,}]+)`)
)

// binaries says which programs of the lists the default spec does not know: where they come from only the user can say.
func (d *derived) binaries(c *config.Cluster) {
	from, to := d.list("binaries:")
	if from < 0 {
		return
	}
	known := map[string]bool{"addons": true} // the manual copies the directory of addons as a "binary"
	for _, l := range d.lines[from:to] {
		if m := nameLine.FindStringSubmatch(l); m != nil {
			known[m[1]] = true
		}
		if strings.Contains(l, "pick:") {
			for _, m := range pickLine.FindAllStringSubmatch(l, -1) {
				known[m[1]] = true
			}
		}
	}
	lines := examplePrograms(c.Runtime, config.RuntimeExtras(c.Runtime), known)
	if c.ByKubeadm() {
		lines = append(lines, examplePrograms(config.DriverKubeadm, []string{config.DriverKubeadm}, known)...)
	}
	if c.DNS.Type == "binary" && !slices.ContainsFunc(c.Packages[bundle.ControlPlane],
		func(p config.Package) bool { return p.Name == "coredns" && p.Type != "binary" }) {
		lines = append(lines, examplePrograms("coredns", []string{"coredns"}, known)...)
	}
	for _, role := range bundle.AllRoles() {
		for _, p := range c.Packages[role] {
			if p.Type != "binary" || known[p.Name] {
				continue
			}
			known[p.Name] = true
			d.note("bundle.cli.derived.program", "name", p.Name)
			lines = append(lines, "  # "+d.p.T("bundle.cli.derived.program", "name", p.Name),
				fmt.Sprintf("  # - {name: %s, url: https://…, sha256: …, dst: %s, roles: [%s]}", event.Clean(p.Name),
					event.Clean(p.Dst), role))
		}
	}
	d.replace(to, to, lines...)
}

// examplePrograms are the lines of programs that the default spec does not have, as the example of that name has them:
// what a runtime needs beside its package, CoreDNS as a program.
func examplePrograms(example string, extras []string, known map[string]bool) []string {
	if len(extras) == 0 || known[extras[0]] {
		return nil
	}
	text, err := assets.Example(example)
	if err != nil {
		return nil // there is none for it
	}
	_, list, _ := strings.Cut(string(text), "\nbinaries:\n")
	for _, name := range extras {
		known[name] = true
	}
	return strings.Split(strings.TrimSuffix(list, "\n"), "\n")
}

// exampleImages are the lines of images that the example of that name has.
func exampleImages(example string) []string {
	text, err := assets.Example(example)
	if err != nil {
		return nil
	}
	_, list, _ := strings.Cut(string(text), "\nimages:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	return strings.Split(list, "\n")
}

// addons are those that deploy.yaml names, and the manifest of its network plugin.
func (d *derived) addons(c *config.Cluster) {
	from, to := d.list("addons:")
	if from < 0 {
		return
	}
	network := c.NetworkPlugin
	keep := network == "flannel"
	var known, lines []string
	if keep {
		for _, l := range d.lines[from:to] {
			if m := nameLine.FindStringSubmatch(l); m != nil {
				known = append(known, m[1])
			}
		}
		lines = slices.Clone(d.lines[from:to])
	}
	var names []string
	for _, a := range c.Addons {
		if !slices.Contains(known, a.Filename) && !slices.Contains(names, a.Filename) {
			names = append(names, a.Filename)
		}
	}
	if !keep && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, network) }) {
		file := network + ".yaml"
		if given := path.Base(c.PluginArgs["NetworkYamlPath"]); strings.Contains(given, network) {
			file = given
		}
		names = append([]string{file}, names...)
	}
	if len(names) > 0 {
		lines = append(lines, "  # "+d.p.T("bundle.cli.derived.beside"))
		d.note("bundle.cli.derived.files", "names", strings.Join(names, ", "))
	}
	for _, n := range names {
		lines = append(lines, fmt.Sprintf("  - {name: %q, path: %q}", n, n))
	}
	d.replace(from, to, lines...)
}

// images are those of the default but for the network plugin's; deploy.yaml may say which pause and which CoreDNS.
func (d *derived) images(c *config.Cluster) {
	from, to := d.list("images:")
	if from < 0 {
		return
	}
	pause := regexp.MustCompile(`"[^"]*/pause:[^"]*"`)
	dns := regexp.MustCompile(`("[^"]*/coredns:)[^"]*"`)
	var lines []string
	for _, l := range d.lines[from:to] {
		if c.NetworkPlugin != "flannel" && strings.Contains(l, "/flannel") {
			continue
		}
		if c.PauseImage != "" && pause.MatchString(l) {
			l = pause.ReplaceAllLiteralString(l, fmt.Sprintf("%q", c.PauseImage))
		}
		if v := c.DNS.ImageVersion; v != "" && dns.MatchString(l) {
			l = dns.ReplaceAllString(l, "${1}"+v+`"`)
		}
		lines = append(lines, l)
	}
	if c.ByKubeadm() {
		lines = append(lines, exampleImages(config.DriverKubeadm)...)
	}
	d.replace(from, to, lines...)
}
