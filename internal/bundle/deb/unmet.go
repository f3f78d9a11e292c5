package deb

import (
	"slices"
)

// Unmet are the names of packages that some of these need and none of these has or provides, sorted: the first
// alternative of each need. Versions do not count. Fields that cannot be read are skipped.
func Unmet(list []Stanza) []string {
	have := map[string]bool{}
	for _, s := range list {
		have[s.Get("Package")] = true
		for _, cl := range clausesOf(s, "Provides") {
			for _, r := range cl {
				have[r.Name] = true
			}
		}
	}
	var out []string
	for _, s := range list {
		for _, cl := range append(clausesOf(s, "Pre-Depends"), clausesOf(s, "Depends")...) {
			if len(cl) > 0 && !slices.ContainsFunc(cl, func(r Relation) bool { return have[r.Name] }) {
				out = append(out, cl[0].Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func clausesOf(s Stanza, field string) []Clause {
	list, err := ParseRelations(s.Get(field), s.Get("Architecture"))
	if err != nil {
		return nil
	}
	return list
}
