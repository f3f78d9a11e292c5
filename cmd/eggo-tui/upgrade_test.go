package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/testkit/bundletest"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// An upgrade and its way back name the versions and ask for a yes before there is a run; where the cluster has the
// version already nothing is asked.
func TestAnUpgradeIsConfirmed(t *testing.T) {
	t.Parallel()
	state, dir := t.TempDir(), t.TempDir()
	own, next := filepath.Join(dir, "34.tar.gz"), filepath.Join(dir, "35.tar.gz")
	if err := phasestest.WriteBundle(own); err != nil {
		t.Fatal(err)
	}
	if err := bundletest.Forge(own, next, func(m *bundle.Manifest) { m.Kubernetes = "v1.35.4" }); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("eggo: {password-from: prompt}", "password: x", "/no/such/bundle.tar.gz", own).
		Replace(operationtest.Nobody)
	cluster := filepath.Join(state, "away")
	if err := os.MkdirAll(cluster, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cluster, "deploy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(asked, said string, flags ...string) {
		t.Helper()
		f, cmd := atPTY(t, append(append([]string{"upgrade"}, flags...), "--state-dir", state)...)
		seen := until(t, f, asked)
		if said == "" && strings.Contains(seen, "[y/N]") {
			t.Errorf("%q is asked: %s", flags, seen)
		}
		if said != "" {
			answer(t, f, said)
		}
		go func() { _, _ = io.Copy(io.Discard, f) }()
		_ = cmd.Wait()
		id, _ := lastRun(t, state)
		if begun := strings.HasSuffix(id, "-upgrade"); begun != (said != "n") {
			t.Errorf("%q: after %q there is the run %q", flags, said, id)
		}
	}
	ask("upgraded from v1.34.2 to v1.35.4. Continue? [y/N]", "n", "--bundle", next)
	b := upgrade.Begun{From: "v1.34.2", Hops: []upgrade.Hop{{Version: "v1.35.4",
		Source: config.PackageSource{Bundles: map[string]string{"amd64": next}}}}}
	if err := b.Write(cluster); err != nil {
		t.Fatal(err)
	}
	ask("reverted from v1.35.4 to v1.34.2. Continue? [y/N]", "n", "--back", "--id", "away")
	ask("upgraded from v1.34.2 to v1.35.4. Continue? [y/N]", "n")
	if err := upgrade.Forget(cluster); err != nil {
		t.Fatal(err)
	}
	ask("Connecting to 1 node", "", "--bundle", own)
}
