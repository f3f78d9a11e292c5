package bundle_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// hostile are bundles whose sums are right and whose manifest places something where no file may come from outside.
func hostile(t testing.TB) map[string]*release {
	t.Helper()
	file := func(kind bundle.Kind, rel, name, dst string) *release {
		return newRelease(bundle.Flat, "registry.test/a:1=layer a").with(bundle.Member{Path: rel, Kind: kind,
			Name: name, Dst: dst, Mode: 0o644}, "evil")
	}
	return map[string]*release{
		"/etc/ld.so.preload": file(bundle.ExtraFile, "ld.so.preload", "ld.so.preload", "/etc"),
		"/etc/sudoers.d/x":   file(bundle.ExtraFile, "x", "x", "/etc/sudoers.d"),
		"/root/.ssh/authorized_keys": file(bundle.Binary, "authorized_keys", "authorized_keys",
			"/root/.ssh"),
		"/etc/cron.d/x": file(bundle.ExtraDir, "cron.d/x", "cron.d", "/etc"),
		"/etc/systemd/system/x.service": file(bundle.ExtraFile, "x.service", "x.service",
			"/etc/systemd/system"),
		"/etc/systemd/system/sshd.service.d/10.conf": file(bundle.ExtraDir, "sshd.service.d/10.conf", "sshd.service.d",
			"/etc/systemd/system"),
		"/etc/kubernetes/pki/ca.crt": file(bundle.ExtraDir, "pki/ca.crt", "pki", "/etc/kubernetes"),
		"/usr/local/bin/a b":         file(bundle.Binary, "a b", "a b", "/usr/local/bin"),
		"/usr/local/bin/%h":          file(bundle.Binary, "%h", "%h", "/usr/local/bin"),
		"/usr/local/bin/$a":          file(bundle.Binary, "$a", "$a", "/usr/local/bin"),
		"$(reboot).deb":              file(bundle.Deb, "$(reboot).deb", "x", ""),
		"a'b.yaml":                   file(bundle.Addon, "a'b.yaml", "x", ""),
	}
}

func TestFilesOutsideTheListAreRefused(t *testing.T) {
	for place, r := range hostile(t) {
		t.Run(filepath.Base(place), func(t *testing.T) {
			file, dir := store(t, archive(t, r.full(t))), t.TempDir()
			a, err := bundle.Open(file) // it can be looked at
			if err != nil {
				t.Fatal(err)
			}
			if out := a.Manifest().Outside(); len(out) != 1 || out[0].Place != place {
				t.Errorf("%+v", out)
			}
			refused := func(what string, err error) {
				t.Helper()
				if code(t, file, err) != "bundle.outside" || event.AsFault(err).Args["places"] != place {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err = bundle.Verify(context.Background(), file, nil)
			refused("Verify", err)
			_, err = bundle.Extract(context.Background(), file, filepath.Join(dir, "out"), nil)
			refused("Extract", err)
			_, err = bundle.Stage(context.Background(), file, filepath.Join(dir, "stages"), nil)
			refused("Stage", err)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("unpacked: %v", left)
			}
			if bundle.Finished(file, filepath.Join(dir, "stages")) {
				t.Error("Finished")
			}
		})
	}
}

// A stage of an earlier version, which did not look at places, is not used again.
func TestAStageFromBeforeIsHeldAgainstTheListToo(t *testing.T) {
	r := hostile(t)["/etc/sudoers.d/x"]
	members := r.full(t)
	file, dir := store(t, archive(t, members)), t.TempDir()
	a, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, a.ID(), "members")
	for _, m := range members {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(at, m.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, m.name), []byte(m.body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bundle.Stage(context.Background(), file, dir, nil); code(t, file, err) != "bundle.outside" {
		t.Error(err)
	}
}

// What the builder's own rules let through is on the list, so that it makes no bundle that is refused later.
func TestUsesOfKinds(t *testing.T) {
	m, _ := everything(bundle.Typed).manifest(t)
	if out := m.Outside(); len(out) > 0 {
		t.Error(cmp.Diff(nil, out))
	}
	if !slices.ContainsFunc(m.Members, func(e bundle.Member) bool { return e.Kind == bundle.ExtraDir }) {
		t.Error("no directory was looked at")
	}
}
