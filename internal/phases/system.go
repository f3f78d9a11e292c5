package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// The families of operating systems, in the terms of a bundle's manifest.
const (
	familyDebian = "debian"
	familyRPM    = "rpm"
)

// families are the IDs of os-release from which a family follows; a system that has none of them names one in ID_LIKE.
func families() map[string][]string {
	return map[string][]string{
		familyDebian: {"debian", "ubuntu"},
		familyRPM:    {"rhel", "centos", "fedora", "rocky", "almalinux", "ol", "openeuler", "anolis", "kylin", "uos", "amzn", "scientific"},
	}
}

// parseOSRelease reads os-release(5): NAME=VALUE in lines, the value quoted as a shell would have it. What is not so is passed over, as
// every reader of such files does.
func parseOSRelease(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(key, " \t'\"") {
			continue
		}
		if v, ok := unquote(value); ok {
			out[key] = v
		}
	}
	return out
}

// unquote takes the quotes and backslashes off one shell word; false if it is not one word.
func unquote(s string) (string, bool) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			b.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i++; i == len(s) {
				return "", false
			}
			if quote == '"' && !strings.ContainsRune("$`\"\\", rune(s[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		case c == '\'' || c == '"':
			quote = c
		case c == ' ' || c == '\t':
			return b.String(), strings.HasPrefix(strings.TrimSpace(s[i:]), "#") || strings.TrimSpace(s[i:]) == ""
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), quote == 0
}

// ids are what the system calls itself and what it is like, in lower case, the nearest first.
func (f *Facts) ids() []string {
	return strings.Fields(strings.ToLower(f.OS["ID"] + " " + f.OS["ID_LIKE"]))
}

// Family is that of the machine's operating system by its own words, whatever programs lie on it; "" when it is none that we know.
func (f *Facts) Family() string {
	for _, id := range f.ids() {
		for family, known := range families() {
			if slices.Contains(known, id) {
				return family
			}
		}
	}
	return ""
}

// PackageManager is the program by which the machine's family installs packages; "" when the machine has none that we can work with.
func (f *Facts) PackageManager() string {
	has := func(name string) bool { return slices.Contains(f.PkgManagers, name) }
	switch family := f.Family(); {
	case family == familyDebian && has("apt-get"):
		return "apt-get"
	case family == familyRPM && has("dnf"):
		return "dnf"
	case family == familyRPM && has("yum"):
		return "yum"
	}
	return ""
}

// hasPackages says whether a bundle has packages, so that it is for one operating system.
func hasPackages(m *bundle.Manifest) bool {
	return len(m.Install) > 0 || slices.ContainsFunc(m.Members, func(x bundle.Member) bool { return x.Kind == bundle.Deb || x.Kind == bundle.RPM })
}

// fits says whether the packages of a bundle are for the machine's operating system: its family, its name or that of one it is like, and
// its codename or, where there is none, its release. A release of the bundle such as 9 is that of 9.4 too.
func (f *Facts) fits(m *bundle.Manifest) bool {
	os := m.OS
	if !hasPackages(m) {
		return true
	}
	if os.Family != "" && f.Family() != os.Family || f.PackageManager() == "" {
		return false
	}
	if id := strings.ToLower(os.ID); id != "" && !slices.Contains(f.ids(), id) && !sameBuild(id, f.ids()) {
		return false
	}
	if os.Codename != "" {
		return f.OS["VERSION_CODENAME"] == os.Codename
	}
	return os.Release == "" || f.OS["VERSION_ID"] == os.Release || strings.HasPrefix(f.OS["VERSION_ID"], os.Release+".")
}

// sameBuild says whether packages for id run on what is built from the same sources: CentOS, Rocky, Alma and Oracle are RHEL by another name.
func sameBuild(id string, ids []string) bool {
	rebuilds := []string{"rhel", "centos", "rocky", "almalinux", "ol"}
	return slices.Contains(rebuilds, id) && len(ids) > 0 && slices.Contains(rebuilds, ids[0])
}

// systemName is an operating system in a bundle's words.
func systemName(os bundle.OS) string {
	s := strings.TrimSpace(os.ID + " " + os.Release)
	if os.Codename != "" {
		s += " (" + os.Codename + ")"
	}
	return s
}

// Sources are the bundles that the machines may need, by key: one of an architecture and those of eggo.bundles, in the order in which they
// are tried.
func (r *Nodes) Sources() []config.BundleSource {
	arches := r.Arches()
	var out []config.BundleSource
	for _, s := range r.Cluster.Bundles() {
		if s.Arch == "" || slices.Contains(arches, s.Arch) {
			out = append(out, s)
		}
	}
	for _, arch := range arches {
		if r.Cluster.Source.Bundles[arch] == "" && len(r.Cluster.Source.More) == 0 {
			out = append(out, config.BundleSource{Key: arch, Arch: arch}) // staging says that it is not given
		}
	}
	return out
}

// Candidates are the staged bundles of the machine's architecture.
func (r *Nodes) Candidates(n config.Node) []Bundle {
	var out []Bundle
	if b := r.Bundle(n.Arch); b != nil {
		out = append(out, b)
	}
	for _, s := range r.Cluster.Bundles() {
		if b := r.Bundle(s.Key); b != nil && s.Arch == "" && b.Manifest().Arch == n.Arch {
			out = append(out, b)
		}
	}
	return out
}

// BundleOf is the bundle that the machine is served from: of its architecture the first whose packages are for its operating system, else
// one without packages. It is nil when none fits, which the verdict tells, and when the machine's facts are not known.
func (r *Nodes) BundleOf(n config.Node) Bundle {
	if f := r.Fact(n.Name); f != nil {
		return r.BundleFor(n, f)
	}
	return nil
}

func (r *Nodes) BundleFor(n config.Node, f *Facts) Bundle {
	var bare Bundle
	for _, b := range r.Candidates(n) {
		switch m := b.Manifest(); {
		case !f.fits(m):
		case hasPackages(m):
			return b
		case bare == nil:
			bare = b
		}
	}
	return bare
}

// Served are the machines that a bundle serves.
func (r *Nodes) Served(b Bundle) []config.Node {
	var out []config.Node
	for _, n := range r.Cluster.Nodes {
		if r.BundleOf(n) == b {
			out = append(out, n)
		}
	}
	return out
}

// systemsOf names the operating systems that bundles are for.
func systemsOf(list []Bundle) string {
	var out []string
	for _, b := range list {
		if s := fmt.Sprintf("%s (%s)", systemName(b.Manifest().OS), b.Manifest().Name); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}
