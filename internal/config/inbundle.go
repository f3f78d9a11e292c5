package config

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
)

// MissingFrom compares what the deploy.yaml names with what the bundle of one architecture has, before any machine is asked (of several bundles
// for one architecture, a manifest of all that they have together): addons, packages and programs of roles that have a machine of that architecture, the pause image. Each missing thing is an error at its line.
func (c *Cluster) MissingFrom(m *bundle.Manifest) Problems {
	var out Problems
	missing := func(key, value string, has []string) {
		at := nearest(c.given, key)
		slices.Sort(has)
		out = append(out, Problem{
			File: c.file, Line: at.line, Col: at.col, Key: key, Code: "config.not-in-bundle", Severity: event.Error,
			Args: map[string]string{"key": key, "value": clip(value), "arch": m.Arch, "choices": clip(strings.Join(slices.Compact(has), ", "))},
		})
	}
	has := map[string][]string{} // names by what deploy.yaml calls the kind
	for _, x := range m.Members {
		switch x.Kind {
		case bundle.Deb, bundle.RPM:
			has["pkg"] = append(has["pkg"], x.Name)
		case bundle.Binary:
			has["binary"] = append(has["binary"], x.Name)
		case bundle.Addon:
			has["addon"] = append(has["addon"], path.Base(x.Path))
		case bundle.Metadata, bundle.Images:
		}
	}
	for _, a := range c.Addons {
		if !slices.Contains(has["addon"], a.Filename) {
			missing("addons", a.Filename, has["addon"])
		}
	}
	told := map[string]bool{}
	for _, role := range slices.Sorted(maps.Keys(c.Packages)) {
		if !slices.ContainsFunc(c.With(role), func(n Node) bool { return n.Arch == m.Arch }) {
			continue
		}
		for _, p := range c.Packages[role] {
			// The manual copies the directory addons as a "binary"; every bundle has it.
			known := has[p.Type]
			if p.Type != "pkg" && p.Type != "binary" || p.Type == "binary" && p.Name == "addons" || slices.Contains(known, p.Name) || told[p.key+p.Name] {
				continue
			}
			told[p.key+p.Name] = true
			missing(p.key, p.Name, known)
		}
	}
	if c.PauseImage != "" && !slices.ContainsFunc(m.Images, func(i bundle.Image) bool { return i.Name == c.PauseImage }) {
		var names []string
		for _, i := range m.Images {
			names = append(names, i.Name)
		}
		missing("pause-image", c.PauseImage, names)
	}
	return out.Sorted()
}
