package bundle

import (
	"path"
	"slices"
	"strings"
)

// typedDir returns the directory of a kind in the typed layout; "": members of this kind are at the root.
func typedDir(k Kind) string {
	switch k {
	case Deb, RPM, Metadata:
		return "pkg/"
	case Binary:
		return "bin/"
	case Addon, ExtraFile:
		return "file/"
	case ExtraDir:
		return "dir/"
	case Images:
		return "image/"
	}
	return ""
}

// prefix is what stands before the members of a kind in a layout.
func (l Layout) prefix(k Kind) string {
	switch {
	case l == Typed:
		return typedDir(k)
	case k == Addon:
		return "addons/"
	}
	return ""
}

// Place is the path in the archive of a member of that kind whose path within its kind is rel: an addon's file name, a
// program's, a package's, "repodata/repomd.xml", "NAME/a/b" of the extra directory NAME.
func (l Layout) Place(k Kind, rel string) string { return l.prefix(k) + rel }

// Rel is what Place was given: the member's path without the directory that its layout has for its kind.
func (m *Manifest) Rel(e Member) string { return strings.TrimPrefix(e.Path, m.Layout.prefix(e.Kind)) }

// ImagesPath is the path of images.tar in the archive.
func (m *Manifest) ImagesPath() string { return m.Layout.Place(Images, ImagesName) }

// Target is the absolute path on a node of a member that is placed at its Dst; "" for other kinds. A directory's files
// keep their places below Dst/NAME.
func (m *Manifest) Target(e Member) string {
	switch e.Kind {
	case Binary, ExtraFile:
		return path.Join(e.Dst, path.Base(e.Path))
	case ExtraDir:
		return path.Join(e.Dst, m.Rel(e))
	}
	return ""
}

// NeededFormat is the lowest format that can say what the manifest says.
func (m *Manifest) NeededFormat() int {
	if m.Base != nil || m.Layout != Flat || slices.ContainsFunc(m.Members, func(e Member) bool {
		return e.Kind == ExtraFile || e.Kind == ExtraDir || e.Kind == SBOM
	}) {
		return FormatExtended
	}
	return FormatVersion
}

// Needs lists the members that a node with these roles needs, and those that every node needs for its package manager
// to choose from (dependencies and metadata, when any package is installed for one of the roles). images.tar is among
// them when an image is needed.
func (m *Manifest) Needs(roles ...Role) []Member {
	packages := false
	for _, p := range m.Install {
		packages = packages || sharesRole(p.Roles, roles)
	}
	images := len(m.ImagesFor(roles...)) > 0
	var out []Member
	for _, e := range m.Members {
		switch e.Kind {
		case Deb, RPM, Metadata:
			if packages && (len(e.Roles) == 0 || sharesRole(e.Roles, roles)) {
				out = append(out, e)
			}
		case Images:
			if images {
				out = append(out, e)
			}
		default:
			if sharesRole(e.Roles, roles) {
				out = append(out, e)
			}
		}
	}
	return out
}

// ImagesFor lists the images that a node with these roles needs.
func (m *Manifest) ImagesFor(roles ...Role) []Image {
	var out []Image
	for _, im := range m.Images {
		if sharesRole(im.Roles, roles) {
			out = append(out, im)
		}
	}
	return out
}

func sharesRole(a, b []Role) bool {
	return slices.ContainsFunc(a, func(r Role) bool { return slices.Contains(b, r) })
}

// Member returns the member with that path.
func (m *Manifest) Member(p string) (Member, bool) {
	for _, e := range m.Members {
		if e.Path == p {
			return e, true
		}
	}
	return Member{}, false
}

// checkLayout holds a member against the layout and against what its kind demands of its path.
func (m *Manifest) checkLayout(e Member) bool {
	rel, ok := strings.CutPrefix(e.Path, m.Layout.prefix(e.Kind))
	switch {
	case m.Layout == Typed && !ok, (e.Kind == Images) != (e.Path == m.ImagesPath()),
		(e.Kind == SBOM) != (e.Path == SBOMName):
		return false
	case e.Kind == ExtraDir:
		below, ok := strings.CutPrefix(rel, e.Name+"/")
		return ok && below != "" && !strings.Contains(e.Name, "/")
	}
	return true
}

// checkTargets refuses two extra files that would fight for one place on a node. Programs among themselves are left
// alone: format 1 has no such rule.
func (m *Manifest) checkTargets() error {
	type place struct {
		path string
		role Role
	}
	at := map[place]Member{}
	for _, e := range m.Members {
		to := m.Target(e)
		if to == "" {
			continue
		}
		for _, r := range e.Roles {
			other, taken := at[place{to, r}]
			if taken && other.Path != e.Path && (e.Kind != Binary || other.Kind != Binary) {
				return fault("bundle.duplicate", nil, "member", e.Path, "other", other.Path)
			}
			at[place{to, r}] = e
		}
	}
	return nil
}
