package lab

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is one fact that is not as it was.
type Difference struct {
	Section string
	Key     string
	Before  string // "" when it is new
	After   string // "" when it is gone
	Kind    DifferenceKind
}

// DifferenceKind says what became of a fact.
type DifferenceKind string

// What can become of a fact.
const (
	Added   DifferenceKind = "added"
	Removed DifferenceKind = "removed"
	Changed DifferenceKind = "changed"
)

func (d Difference) String() string {
	switch d.Kind {
	case Added:
		return strings.TrimSpace(fmt.Sprintf("%s: + %s %s", d.Section, d.Key, d.After))
	case Removed:
		return strings.TrimSpace(fmt.Sprintf("%s: - %s %s", d.Section, d.Key, d.Before))
	default:
		return fmt.Sprintf("%s: ~ %s: %s -> %s", d.Section, d.Key, d.Before, d.After)
	}
}

// Diff tells how a node differs from what it was, section by section in the order of their names. A key that
// stands more than once (mounts upon one another) is compared as a whole.
func Diff(before, after Snapshot) []Difference {
	var names []string
	for name := range before.Sections {
		names = append(names, name)
	}
	for name := range after.Sections {
		names = append(names, name)
	}
	slices.Sort(names)
	var found []Difference
	for _, name := range slices.Compact(names) {
		found = append(found, diffSection(name, byKey(before.Sections[name]), byKey(after.Sections[name]))...)
	}
	return found
}

func diffSection(section string, before, after map[string]string) []Difference {
	var keys []string
	for k := range before {
		keys = append(keys, k)
	}
	for k := range after {
		if _, both := before[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var found []Difference
	for _, k := range keys {
		b, was := before[k]
		a, is := after[k]
		switch {
		case !was:
			found = append(found, Difference{section, k, "", a, Added})
		case !is:
			found = append(found, Difference{section, k, b, "", Removed})
		case a != b:
			found = append(found, Difference{section, k, b, a, Changed})
		}
	}
	return found
}

func byKey(entries []Entry) map[string]string {
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		if old, ok := m[e.Key]; ok {
			m[e.Key] = old + "; " + e.Value
		} else {
			m[e.Key] = e.Value
		}
	}
	return m
}
