// Package kubeapi knows the API of Kubernetes: which minor serves which versions, and which kinds are in a namespace.
// It knows nothing of custom resources but what their definitions say, and reads no manifests itself.
package kubeapi

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed apis.txt
var text string

// row is the table's entry for a kind in a version of its group.
type row struct {
	version, kind string
	namespaced    bool
	from, to      int // minors that can serve it, 0 if none of the table does
	offFrom       int // and those that serve it only if runtime-config enables it
	offTo         int
	gone          int // the minor that removed it, when that was before the first of the table
}

func (r row) in(minor int) bool  { return r.from > 0 && r.from <= minor && minor <= r.to }
func (r row) off(minor int) bool { return r.offFrom > 0 && r.offFrom <= minor && minor <= r.offTo }

// Table is the API of all minors that the program knows.
type Table struct {
	First, Last int // minors
	rows        []row
	groups      map[string]bool
}

var minors = regexp.MustCompile(`of\n# (\d+) to (\d+),`)

// Load reads the table.
func Load() *Table {
	t := &Table{groups: map[string]bool{}}
	if m := minors.FindStringSubmatch(text); m != nil {
		t.First, _ = strconv.Atoi(m[1])
		t.Last, _ = strconv.Atoi(m[2])
	}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 3 || w[0] == "#" {
			continue
		}
		r := row{version: w[0], kind: w[1], namespaced: w[2] == "n", from: t.First, to: t.Last}
		for _, word := range w[3:] {
			name, value, _ := strings.Cut(word, ":")
			switch name {
			case "gone":
				r.gone, _ = strconv.Atoi(value)
				r.from, r.to = 0, 0
			case "off":
				r.offFrom, r.offTo = span(value)
			default:
				r.from, r.to = span(word)
			}
		}
		t.groups[Group(r.version)] = true
		t.rows = append(t.rows, r)
	}
	return t
}

func span(s string) (from, to int) {
	a, b, _ := strings.Cut(s, "-")
	from, _ = strconv.Atoi(a)
	to, _ = strconv.Atoi(b)
	return from, to
}

// Group is the group of an apiVersion, "" for the core group.
func Group(apiVersion string) string {
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		return g
	}
	return ""
}

// Has reports whether a group belongs to Kubernetes itself, today or in an earlier version.
func (t *Table) Has(group string) bool { return t.groups[group] }

// Namespaced reports whether objects of a kind are in a namespace; known is false for kinds that are not Kubernetes'
// own. A version of the group that the table does not have takes the scope from the versions that it has.
func (t *Table) Namespaced(apiVersion, kind string) (namespaced, known bool) {
	for _, r := range t.rows {
		if r.kind == kind && Group(r.version) == Group(apiVersion) {
			return r.namespaced, true
		}
	}
	return false, false
}

// Served are the versions that a minor serves by itself, each alone and with each of its kinds (policy/v1,
// policy/v1/PodDisruptionBudget), as Helm names them. A minor that the table does not have gets those of the nearest.
func (t *Table) Served(minor int) []string {
	minor = min(max(minor, t.First), t.Last)
	var out []string
	for _, r := range t.rows {
		if r.in(minor) && !r.off(minor) {
			if !slices.Contains(out, r.version) {
				out = append(out, r.version)
			}
			out = append(out, r.version+"/"+r.kind)
		}
	}
	return out
}

var versionRE = regexp.MustCompile(`\Av?1\.(\d{1,3})(?:[.+-]|\z)`)

// Minor is 34 of v1.34.2, 0 of what is no version of Kubernetes.
func Minor(version string) int {
	m := versionRE.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
