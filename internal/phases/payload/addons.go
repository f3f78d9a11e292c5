package payload

import (
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// AddonFiles are the manifests to apply, in order: those that deploy.yaml lists, and the network plugin's,
// which a cluster that was imported has already.
func (r *Payload) AddonFiles(m *bundle.Manifest) []string {
	var out []string
	for _, a := range r.Cluster.Addons {
		out = append(out, a.Filename)
	}
	if plugin := r.networkAddon(m); plugin != "" && !r.Cluster.Eggo.Imported && !slices.Contains(out, plugin) {
		out = append([]string{plugin}, out...)
	}
	for _, name := range r.Manifests() {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// networkAddon is the bundle's manifest for the network plugin: the one that NetworkYamlPath names, else the addon
// whose name contains the plugin's.
func (r *Payload) networkAddon(m *bundle.Manifest) string {
	if at := r.Cluster.PluginArgs["NetworkYamlPath"]; at != "" {
		if member := m.Layout.Place(bundle.Addon, path.Base(at)); slices.ContainsFunc(m.Members,
			func(x bundle.Member) bool { return x.Path == member }) {
			return path.Base(at)
		}
		return at
	}
	for _, mem := range m.Members {
		if mem.Kind == bundle.Addon && strings.Contains(path.Base(mem.Path), r.Cluster.NetworkPlugin) {
			return m.Rel(mem)
		}
	}
	return r.Cluster.NetworkPlugin + ".yaml"
}

// AddonMember is where in the bundle a manifest to apply is: an addon by its name, or, for an absolute path
// (NetworkYamlPath), the addon of that base name, else the file that the packages place there on the control plane.
func (r *Payload) AddonMember(m *bundle.Manifest, name string) (string, bool) {
	has := func(member string) bool {
		return slices.ContainsFunc(m.Members, func(x bundle.Member) bool { return x.Path == member })
	}
	if !path.IsAbs(name) {
		return config.ManifestIn(m, name)
	}
	if member := m.Layout.Place(bundle.Addon, path.Base(name)); has(member) {
		return member, true
	}
	for _, p := range r.Members(r.Cluster.With(bundle.ControlPlane)[0], m) {
		if p.File == path.Clean(name) {
			return p.Path, true
		}
	}
	return "", false
}
