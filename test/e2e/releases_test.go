package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// otherRelease is the release of Debian that a scenario uses beside 12: what EGGO_E2E_DEBIAN says, else 12 again. It is
// said.
func otherRelease(t *testing.T) string {
	t.Helper()
	release := cmp.Or(os.Getenv("EGGO_E2E_DEBIAN"), "12")
	if release != "12" && release != "13" {
		t.Fatalf("EGGO_E2E_DEBIAN is %q, neither 12 nor 13", release)
	}
	t.Logf("the other release of Debian is %s; EGGO_E2E_DEBIAN=12 or 13 sets it", release)
	return release
}

// debian13Bundle packs the default spec with packages of Debian 13.
func debian13Bundle(t *testing.T, s *stand.Stand) string {
	t.Helper()
	text, err := assets.BundleSpec("debian-13")
	must(t, "spec", err)
	var other map[string]any
	must(t, "spec", yaml.Unmarshal(text, &other))
	w := workshopOn(t, s)
	spec := w.spec(t, "thirteen", func(doc map[string]any) {
		doc["os"], doc["packages"] = other["os"], other["packages"]
	})
	return filepath.Join(w.pack(t, spec, runtime.GOARCH), "thirteen-"+runtime.GOARCH+".tar.gz")
}

// TestDebianReleases is a control plane of Debian 13 and a worker of Debian 12, each with its own bundle, through their
// life and a reboot.
func TestDebianReleases(t *testing.T) {
	full(t)
	s := newLabWith(t, 2, "n1")
	ctx := t.Context()
	base, err := s.Deploy("releases-12.yaml", "releases",
		[]stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	before := untouched(t, s, 2)

	s.Say("== a bundle for Debian 12 is refused for Debian 13, before anything is touched")
	got := try(t, s, 5, "deploy", "-f", base)
	must(t, "why", got.Has("preflight.os", "n1"))
	file, err := s.Vary(base, "releases.yaml", "eggo:\n", "eggo:\n  bundles: [\""+debian13Bundle(t, s)+"\"]\n")
	must(t, "deploy.yaml", err)
	try(t, s, 0, "deploy", "-f", file)
	must(t, "the node is rebooted", s.Lab.Reboot(ctx, "n1"))
	lives(t, s, "releases", file, before)
}
