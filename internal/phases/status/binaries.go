package status

import (
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// versionsScript prints which versions of binaries there are, and which of them each link of ours leads to.
const versionsScript = `for p in /opt/eggo/*/bin/*; do case $p in *.eggo-part) ;; *) if [ -f "$p" ]; then printf 'version=%s\n' "$p"; fi ;; esac; done
awk -F'\t' '$1=="file" {print $2}' /var/lib/eggo-node/record 2>/dev/null | while IFS= read -r p; do
  if [ -L "$p" ]; then printf 'link=%s\n' "$(readlink "$p")"; fi
done
`

// Binary is one that services execute, as it lies on a machine.
type Binary struct {
	Name     string   `json:"name"`
	Linked   string   `json:"linked,omitempty"` // the version that is started
	Versions []string `json:"versions"`         // all that are there
}

// parseVersion reads a line that names a version of a binary.
func (st *Node) parseVersion(kind, value string) {
	unit, file, _ := strings.Cut(value, " ")
	if kind != "runs" {
		file = value
	}
	version, name := event.Clean(node.VersionOf(strings.TrimSuffix(file, " (deleted)"))), event.Clean(path.Base(file))
	if version == "" && kind == "runs" && strings.Contains(file, ":") { // the image of a pod
		version = name
	}
	if version == "" {
		return
	}
	switch kind {
	case "runs":
		for i := range st.Components {
			if st.Components[i].Name == unit {
				st.Components[i].Version = version
			}
		}
	case "version":
		b := st.binary(name)
		b.Versions = append(b.Versions, version)
	case "link":
		st.binary(name).Linked = version
	}
}

func (st *Node) binary(name string) *Binary {
	i := slices.IndexFunc(st.Binaries, func(b Binary) bool { return b.Name == name })
	if i < 0 {
		i, st.Binaries = len(st.Binaries), append(st.Binaries, Binary{Name: name, Versions: []string{}})
	}
	return &st.Binaries[i]
}

// versionDrift are the traces of a change of binaries that did not come to its end.
func (r *Gatherer) versionDrift(s *Status) {
	for _, st := range s.Nodes {
		for _, b := range st.Binaries {
			if len(b.Versions) > 1 {
				versions := strings.Join(b.Versions, ", ")
				s.Drift = append(s.Drift, event.M("drift.binary-several", "node", st.Node, "binary", b.Name, "versions",
					versions, "linked", b.Linked))
			}
			// A component has the name of its binary.
			i := slices.IndexFunc(st.Components, func(c Component) bool { return c.Name == b.Name })
			if i >= 0 && b.Linked != "" && st.Components[i].Version != "" && st.Components[i].Version != b.Linked {
				s.Drift = append(s.Drift, event.M("drift.binary-runs", "node", st.Node, "binary", b.Name, "runs",
					st.Components[i].Version, "linked", b.Linked))
			}
		}
	}
	if len(r.Cluster.Source.More) > 0 {
		return // machines of one architecture may have different bundles
	}
	r.unlikeBinaries(s)
}

// release says of components that tell their version themselves which it is: a binary's name on disk has a checksum for
// one. What differs was found before.
func (s *Status) release() {
	for _, m := range s.Etcd {
		s.runs(m.Node, "etcd", m.Version)
	}
	for _, n := range s.Nodes {
		s.runs(n.Node, "kubelet", n.Kubelet)
	}
}

// runs sets the version of a component of a node, if it is known.
func (s *Status) runs(node, component, version string) {
	for i := range s.Nodes {
		for j, c := range s.Nodes[i].Components {
			if s.Nodes[i].Node == node && c.Name == component && version != "" {
				s.Nodes[i].Components[j].Version = version
			}
		}
	}
}

// unlikeBinaries finds nodes of one architecture that start different versions of a binary.
func (r *Gatherer) unlikeBinaries(s *Status) {
	type key struct{ arch, name string }
	var order []key
	nodes := map[key]map[string][]string{} // by version
	for i, st := range s.Nodes {
		for _, b := range st.Binaries {
			k := key{r.Cluster.Nodes[i].Arch, b.Name}
			if b.Linked == "" {
				continue
			}
			if nodes[k] == nil {
				order, nodes[k] = append(order, k), map[string][]string{}
			}
			nodes[k][b.Linked] = append(nodes[k][b.Linked], st.Node)
		}
	}
	for _, k := range order {
		if len(nodes[k]) < 2 {
			continue
		}
		var on []string
		for version, names := range nodes[k] {
			on = append(on, version+" ("+strings.Join(names, ", ")+")")
		}
		slices.Sort(on)
		s.Drift = append(s.Drift, event.M("drift.binary-unlike", "binary", k.name, "versions", strings.Join(on, ", ")))
	}
}
