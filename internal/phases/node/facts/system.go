package facts

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// The families of operating systems, in the terms of a bundle's manifest.
const (
	FamilyDebian = "debian"
	FamilyRPM    = "rpm"
)

// families are the IDs of os-release from which a family follows; a system that has none of them names one in ID_LIKE.
func families() map[string][]string {
	return map[string][]string{
		FamilyDebian: {"debian", "ubuntu"},
		FamilyRPM: {"rhel", "centos", "fedora", "rocky", "almalinux", "ol", "openeuler", "anolis", "kylin", "uos",
			"amzn", "scientific"},
	}
}

// ParseOSRelease reads os-release(5): NAME=VALUE in lines, the value quoted as a shell would have it. What is not so is
// passed over, as every reader of such files does.
func ParseOSRelease(text string) map[string]string {
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

// Family is that of the machine's operating system by its own words, whatever programs lie on it; "" when it is none
// that we know.
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

// PackageManager is the program by which the machine's family installs packages; "" when the machine has none that we
// can work with.
func (f *Facts) PackageManager() string {
	has := func(name string) bool { return slices.Contains(f.PkgManagers, name) }
	switch family := f.Family(); {
	case family == FamilyDebian && has("apt-get"):
		return "apt-get"
	case family == FamilyRPM && has("dnf"):
		return "dnf"
	case family == FamilyRPM && has("yum"):
		return "yum"
	}
	return ""
}

// HasPackages says whether a bundle has packages, so that it is for one operating system.
func HasPackages(m *bundle.Manifest) bool {
	return len(m.Install) > 0 || slices.ContainsFunc(m.Members,
		func(x bundle.Member) bool { return x.Kind == bundle.Deb || x.Kind == bundle.RPM })
}

// Fits says whether the packages of a bundle are for the machine's operating system: its family, its name or that of
// one it is like, and its codename or, where there is none, its release. A release of the bundle such as 9 is that of
// 9.4 too.
func (f *Facts) Fits(m *bundle.Manifest) bool {
	os := m.OS
	if !HasPackages(m) {
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

// sameBuild says whether packages for id run on what is built from the same sources: CentOS, Rocky, Alma and Oracle are
// RHEL by another name.
func sameBuild(id string, ids []string) bool {
	rebuilds := []string{"rhel", "centos", "rocky", "almalinux", "ol"}
	return slices.Contains(rebuilds, id) && len(ids) > 0 && slices.Contains(rebuilds, ids[0])
}
