package facts_test

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
)

// What is packed for an operating system serves nodes that say of themselves that they are it.
func TestEverySystemIsServedByItsBundle(t *testing.T) {
	for _, system := range assets.Systems() {
		text, err := assets.BundleSpec(system)
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		f := &facts.Facts{PkgManagers: []string{"apt-get", "dnf"}, OS: facts.ParseOSRelease(strings.Join([]string{
			"ID=" + s.OS.ID, "VERSION_ID=\"" + s.OS.Release + "\"", "VERSION_CODENAME=" + s.OS.Codename, ""}, "\n"))}
		m := &bundle.Manifest{Install: []bundle.Package{{Name: "runc"}}, OS: bundle.OS{
			Family: s.OS.Family, ID: s.OS.ID, Release: s.OS.Release, Codename: s.OS.Codename}}
		if f.Family() != s.OS.Family {
			t.Errorf("%s: no family has the ID %s", system, s.OS.ID)
		} else if !f.Fits(m) {
			t.Errorf("%s: its own bundle does not serve it", system)
		}
	}
}
