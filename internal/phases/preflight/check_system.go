package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkSystem says why no bundle serves a machine: there is none of its architecture, none for its operating system, or
// no package manager that could install from one. What is wrong with a bundle itself is told of the bundle.
func checkSystem() Check {
	return Check{
		Name: "system", Codes: []string{"preflight.no-bundle", "preflight.no-packager", "preflight.os"},
		Needs: Unserved,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			list := in.Candidates(n)
			is := f.OS["PRETTY_NAME"]
			if is == "" {
				is = f.OS["ID"] + " " + f.OS["VERSION_ID"]
			}
			switch {
			case len(list) == 0 && len(in.Cluster.Source.More) == 0:
				return nil // the one of its architecture could not be staged
			case len(list) == 0:
				return one(event.Error, n, "preflight.no-bundle", "arch", n.Arch)
			case f.PackageManager() == "" && slices.ContainsFunc(list,
				func(b input.Bundle) bool { return b.Manifest().OS.Family == f.Family() }):
				return one(event.Error, n, "preflight.no-packager", "is", event.Clean(is), "programs",
					map[string]string{facts.FamilyDebian: "apt-get", facts.FamilyRPM: "dnf, yum"}[f.Family()])
			}
			return one(event.Error, n, "preflight.os", "is", event.Clean(is), "for", systemsOf(list))
		},
	}
}

// systemsOf names the operating systems that bundles are for.
func systemsOf(list []input.Bundle) string {
	var out []string
	for _, b := range list {
		if s := fmt.Sprintf("%s (%s)", systemName(b.Manifest().OS), b.Manifest().Name); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// systemName is an operating system in a bundle's words.
func systemName(os bundle.OS) string {
	s := strings.TrimSpace(os.ID + " " + os.Release)
	if os.Codename != "" {
		s += " (" + os.Codename + ")"
	}
	return s
}
