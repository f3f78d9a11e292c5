package kubeapi

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Object is one of a manifest.
type Object struct {
	APIVersion, Kind string
	Name             string // namespace/name, or the name
	Defines          string // the kind that a CustomResourceDefinition brings: group/kind
}

// Unserved are objects of one kind that a version of Kubernetes does not serve as they are written.
type Unserved struct {
	Code             string // of the fault
	APIVersion, Kind string
	Names            []string
	Minor            int    // that removed it, or brings it
	Instead          string // the version to use, "" if there is none
}

// The codes: removed, with a version that replaces it or without; not there yet; served on demand only; unknown to
// Kubernetes.
const (
	Replaced = "addon.api-replaced"
	Removed  = "addon.api-removed"
	Later    = "addon.api-later"
	OnDemand = "addon.api-off"
	Unknown  = "addon.api-unknown"
)

// Check names what a version of Kubernetes does not serve. Custom resources are left alone, and so is what a minor that
// is newer than the table may serve. enabled reports which versions runtime-config enables; nil is none.
func (t *Table) Check(version string, objects []Object, enabled func(apiVersion string) bool) []Unserved {
	minor := Minor(version)
	if minor == 0 {
		return nil
	}
	defined := map[string]bool{}
	for _, o := range objects {
		defined[o.Defines] = true
	}
	var out []Unserved
	for _, o := range objects {
		group := Group(o.APIVersion)
		if !t.Has(group) || defined[group+"/"+o.Kind] || strings.HasSuffix(o.Kind, "List") {
			continue
		}
		u := t.unserved(minor, o.APIVersion, o.Kind)
		if u.Code == "" || u.Code == OnDemand && enabled != nil && enabled(o.APIVersion) {
			continue
		}
		same := func(x Unserved) bool { return x.APIVersion == o.APIVersion && x.Kind == o.Kind }
		i := slices.IndexFunc(out, same)
		if i < 0 {
			i, out = len(out), append(out, u)
		}
		if !slices.Contains(out[i].Names, o.Name) {
			out[i].Names = append(out[i].Names, o.Name)
		}
	}
	return out
}

// unserved says why a minor does not serve a kind; the code is "" when it does.
func (t *Table) unserved(minor int, apiVersion, kind string) Unserved {
	u := Unserved{APIVersion: apiVersion, Kind: kind}
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.version == apiVersion && r.kind == kind })
	if i < 0 {
		if t.First <= minor && minor <= t.Last {
			u.Code, u.Instead = Unknown, t.instead(minor, apiVersion, kind)
		}
		return u
	}
	r := t.rows[i]
	gone := r.gone
	if gone == 0 && r.to < t.Last {
		gone = r.to + 1
	}
	switch {
	case gone > 0 && minor >= gone:
		u.Code, u.Minor, u.Instead = Removed, gone, t.instead(minor, apiVersion, kind)
		if u.Instead != "" {
			u.Code = Replaced
		}
	case r.from > t.First && minor < r.from:
		u.Code, u.Minor = Later, r.from
	case r.off(minor):
		u.Code = OnDemand
	}
	return u
}

var stable = regexp.MustCompile(`(?:\A|/)v\d+\z`)

// instead is the version of a kind that a minor serves: of the same group if there is one, and the highest stable one.
func (t *Table) instead(minor int, apiVersion, kind string) string {
	minor = min(max(minor, t.First), t.Last)
	var best string
	rank := func(version string) (out int) {
		if Group(version) == Group(apiVersion) {
			out += 2
		}
		if stable.MatchString(version) {
			out++
		}
		return out
	}
	for _, r := range t.rows {
		if r.kind != kind || !r.in(minor) || r.off(minor) {
			continue
		}
		if best == "" || cmp.Or(cmp.Compare(rank(r.version), rank(best)), strings.Compare(r.version, best)) > 0 {
			best = r.version
		}
	}
	return best
}

const maxNamed = 10 // objects in a message

// Fault names the addon and what of it is not served.
func (u Unserved) Fault(class event.Class, addon, version string) *event.Fault {
	return event.NewFault(class, u.Code, nil, u.args(addon, version)...)
}

// Warning is the sentence of Fault where the bundle is made all the same.
func (u Unserved) Warning(addon, version string) event.Msg {
	return event.M("fault."+u.Code, u.args(addon, version)...)
}

func (u Unserved) args(addon, version string) []string {
	names := u.Names
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), "…")
	}
	kv := []string{"addon", addon, "version", version, "api", event.Clean(u.APIVersion), "kind", event.Clean(u.Kind),
		"objects", event.Clean(strings.Join(names, ", "))}
	switch u.Code {
	case Replaced:
		kv = append(kv, "minor", "1."+strconv.Itoa(u.Minor), "instead", u.Instead)
	case Removed, Later:
		kv = append(kv, "minor", "1."+strconv.Itoa(u.Minor))
	}
	return kv
}

// Enabled reads the flag runtime-config of the API server: it reports whether the value enables a version that is off
// by default.
func Enabled(runtimeConfig string) func(apiVersion string) bool {
	said := map[string]bool{}
	for word := range strings.SplitSeq(runtimeConfig, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(word), "=")
		on, err := strconv.ParseBool(value)
		on = on || !given
		if parts := strings.Split(name, "/"); err == nil || !given {
			if len(parts) == 3 && on { // one resource of a version
				name = parts[0] + "/" + parts[1]
			}
			said[name] = on
		}
	}
	return func(apiVersion string) bool {
		level := "api/ga"
		for _, l := range []string{"alpha", "beta"} {
			if strings.Contains(apiVersion[strings.LastIndex(apiVersion, "/")+1:], l) {
				level = "api/" + l
			}
		}
		for _, name := range []string{apiVersion, level, "api/all"} {
			if on, is := said[name]; is {
				return on
			}
		}
		return false
	}
}
