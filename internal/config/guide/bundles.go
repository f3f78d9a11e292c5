package guide

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// moreBundles is the key of bundles besides the one of each architecture.
const moreBundles = "eggo.bundles"

// Arches returns the architectures of the machines.
func (s *Session) Arches() []string {
	var out []string
	for _, m := range s.Draft.Machines {
		if a := archOf(m); !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
}

// WithArch returns how many machines have an architecture.
func (s *Session) WithArch(arch string) int {
	n := 0
	for _, m := range s.Draft.Machines {
		if archOf(m) == arch {
			n++
		}
	}
	return n
}

func archOf(m config.Machine) string { return cmp.Or(m.Arch, "amd64") }

// BundlePaths returns where bundles are to be looked for, besides the usual places: those that the draft names, that
// were built just now, and that were found before.
func (s *Session) BundlePaths() []string {
	paths := []string{s.Draft.Value(config.BundleKey("amd64")), s.Draft.Value(config.BundleKey("arm64"))}
	paths = append(paths, config.Items(s.Draft.Value(moreBundles))...)
	for i, path := range paths {
		if path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			paths[i] = filepath.Join(filepath.Dir(s.Target()), path)
		}
	}
	paths = slices.DeleteFunc(append(paths, s.Built...), func(s string) bool { return s == "" })
	for _, x := range s.Bundles {
		if !slices.Contains(paths, x.Path) {
			paths = append(paths, x.Path)
		}
	}
	return paths
}

// FoundBundle takes what is known of a bundle. The only one that fits the machines of an architecture is chosen, or
// one that was built just now, unless another was chosen. It reports whether it was.
func (s *Session) FoundBundle(x draft.Bundle) (chosen bool) {
	if i := slices.IndexFunc(s.Bundles, func(o draft.Bundle) bool { return o.Path == x.Path }); i >= 0 {
		s.Bundles[i] = x
	} else {
		s.Bundles = append(s.Bundles, x)
		slices.SortStableFunc(s.Bundles, func(a, b draft.Bundle) int { return cmp.Compare(a.Path, b.Path) })
	}
	if !x.Verified || s.Draft.Value(moreBundles) != "" {
		return false
	}
	for _, arch := range s.Arches() {
		fit := s.fitting(arch)
		only := len(fit) == 1 || slices.Contains(s.Built, x.Path) // who built it wants it
		if key := config.BundleKey(arch); s.Draft.Value(key) == "" && only && slices.Contains(fit, x.Path) {
			s.Draft.Set(key, x.Path)
			chosen = true
		}
	}
	if chosen {
		s.Snapshot()
	}
	return chosen
}

// fitting returns the bundles of an architecture that can be read and fit all machines.
func (s *Session) fitting(arch string) []string {
	var out []string
	for _, o := range s.Bundles {
		if o.Manifest != nil && o.Fault == nil && o.Manifest.Arch == arch && len(s.misfits(o.Manifest)) == 0 {
			out = append(out, o.Path)
		}
	}
	return out
}

// Chosen reports whether the draft names a bundle.
func (s *Session) Chosen(path string) bool {
	return s.Draft.Value(config.BundleKey("amd64")) == path || s.Draft.Value(config.BundleKey("arm64")) == path ||
		slices.Contains(config.Items(s.Draft.Value(moreBundles)), path)
}

// AnyChosen reports whether one of the bundles that were found is chosen.
func (s *Session) AnyChosen() bool {
	return slices.ContainsFunc(s.Bundles, func(x draft.Bundle) bool { return s.Chosen(x.Path) })
}

// ToggleBundle chooses a bundle, or no longer. A second one of an architecture is for machines of another operating
// system.
func (s *Session) ToggleBundle(x draft.Bundle) {
	s.Change(func() {
		more := config.Items(s.Draft.Value(moreBundles))
		key := config.BundleKey(x.Manifest.Arch)
		switch {
		case s.Draft.Value(key) == x.Path:
			s.Draft.Set(key, "")
		case slices.Contains(more, x.Path):
			more = slices.DeleteFunc(more, func(s string) bool { return s == x.Path })
		case s.Draft.Value(key) == "":
			s.Draft.Set(key, x.Path)
		default:
			more = append(more, x.Path)
		}
		s.Draft.Set(moreBundles, strings.Join(more, ", "))
	})
}

// fits reports whether a bundle is for the operating system of a machine.
func fits(m *bundle.Manifest, l *draft.Probe) bool {
	return m.OS.ID == "" || slices.Contains(strings.Fields(l.OSID), strings.ToLower(m.OS.ID)) &&
		(m.OS.Codename == "" || l.Codename == m.OS.Codename)
}

// misfits returns the machines of the bundle's architecture whose operating system it is not for, as far as they were
// probed.
func (s *Session) misfits(m *bundle.Manifest) []string {
	var out []string
	for _, x := range s.Draft.Machines {
		if l := s.Probe(x); l != nil && l.Stage == draft.Seen && l.Arch == m.Arch && !fits(m, l) {
			out = append(out, x.Name)
		}
	}
	return out
}

// Unserved returns the machines for whose operating system none of the chosen bundles is.
func (s *Session) Unserved() []string {
	var out []string
	for _, x := range s.Draft.Machines {
		l := s.Probe(x)
		if l == nil || l.Stage != draft.Seen {
			continue
		}
		some, good := false, false
		for _, b := range s.Bundles {
			if s.Chosen(b.Path) && b.Manifest != nil && b.Manifest.Arch == l.Arch {
				some, good = true, good || fits(b.Manifest, l)
			}
		}
		if some && !good {
			out = append(out, x.Name)
		}
	}
	return out
}

// BundleTone returns how the bundle of a path is: good is one that is verified, not one that is named.
func (s *Session) BundleTone(path string) Tone {
	i := slices.IndexFunc(s.Bundles, func(x draft.Bundle) bool { return x.Path == path })
	if i < 0 {
		return Idle
	}
	switch x := s.Bundles[i]; {
	case x.Fault != nil, x.Manifest != nil && len(s.misfits(x.Manifest)) > 0 && len(s.Unserved()) > 0:
		return Bad
	case !x.Verified:
		return Busy
	}
	return Good
}

// BundleState returns how far the verification of a bundle is, in words.
func BundleState(p *i18n.Printer, x draft.Bundle) (Tone, string) {
	switch {
	case x.Fault != nil:
		return Bad, p.T(badBundle(x.Fault))
	case x.Verified:
		return Good, p.T("wizard.bundle.proven")
	case x.Size > 0 && x.Done > 0:
		return Busy, p.T("wizard.bundle.proving", "percent", itoa(int(x.Done*100/x.Size)))
	}
	return Idle, p.T("wizard.bundle.found")
}

// badBundle returns the word for a file that cannot be installed from: one that is no bundle is not damaged.
func badBundle(f *event.Fault) string {
	switch f.Code {
	case "bundle.open":
		return "wizard.bundle.unreadable"
	case "bundle.not-gzip", "bundle.not-tar", "bundle.text", "bundle.no-manifest", "bundle.none-here":
		return "wizard.bundle.none-such"
	}
	if f.Code == "bundle.outside" || strings.HasPrefix(f.Code, "trust.") || strings.HasPrefix(f.Code, "sign.") {
		return "wizard.bundle.refused"
	}
	return "wizard.bundle.bad"
}

// System returns the operating system that a bundle is for.
func System(m *bundle.Manifest) string {
	return strings.TrimSpace(m.OS.ID + " " + cmp.Or(m.OS.Codename, m.OS.Release))
}

// Remark is a problem in words.
type Remark struct {
	Severity   event.Severity
	Text, Next string
}

// Against returns what is wrong with a bundle for the machines and the settings of the draft.
func (s *Session) Against(p *i18n.Printer, place string, m *bundle.Manifest) []Remark {
	var out []Remark
	if !slices.Contains(s.Arches(), m.Arch) && len(s.Draft.Machines) > 0 {
		out = append(out, Remark{event.Warning, p.T("wizard.bundle.no-machine", "arch", m.Arch), ""})
	}
	if who := s.misfits(m); len(who) > 0 {
		out = append(out, Remark{event.Error, p.T("wizard.bundle.other-os", "nodes",
			strings.Join(who[:min(len(who), 5)], ", "), "os", strings.TrimSpace(m.OS.ID+" "+m.OS.Codename)),
			p.T("wizard.bundle.other-os.next")})
	}
	if s.Cluster == nil {
		return out
	}
	for _, x := range append(s.Cluster.MissingFrom(m), config.CheckFlags(s.Cluster, m.Kubernetes)...) {
		text, next := Words(p, place, x.Fault())
		out = append(out, Remark{x.Severity, text, next})
	}
	return out
}
