package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// fake writes a program into a machine's own directory of programs.
func fake(t *testing.T, sim *phasestest.Node, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(sim.Path(".."), "bin", name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// On a machine of the rpm family what comes from its own repositories is recorded by rpm's names, so that rpm takes it
// away again; a key that dnf imported is no package. An installation that was cut off is recorded by the next one.
func TestPackagesOfTheMachinesOwnRPMRepositories(t *testing.T) {
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.11")
	if err != nil {
		t.Fatal(err)
	}
	// An apt-get lies there too: it is not the system's own.
	facts := &phases.Facts{OS: map[string]string{"ID": "openEuler"}, PkgManagers: []string{"apt-get", "dnf"}}
	fake(t, sim, "dnf", `[ ! -e "$SIM/state/cut" ] || { echo jq.x86_64 >>"$SIM/state/rpms"; exit 1; }
printf '%s\n' oniguruma.x86_64 jq.x86_64 'gpg-pubkey.(none)' >>"$SIM/state/rpms"
echo '_jq:x:105:105::/:/bin/false' >>"$SIM/root/etc/passwd"
`)
	fake(t, sim, "rpm", `case "$1 $2" in
'-qa --qf') sort -u "$SIM/state/rpms" ;;
'-q --quiet') shift $(($# - 1)); grep -q "^$1[.]" "$SIM/state/rpms" ;;
*) exit 64 ;;
esac
`)
	if err := os.WriteFile(sim.State("rpms"), []byte("bash.x86_64\ngpg-pubkey.(none)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sim.State("cut"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := node.New(sim, (&book{}).emit)
	install := func() error {
		_, err := n.Change(t.Context(), node.Change{Desc: event.M("change.repo-packages"),
			Script: phases.RepoInstall(facts, []string{"jq"})})
		return err
	}
	if err := install(); err == nil {
		t.Fatal("a failed dnf is no success")
	}
	if err := os.Remove(sim.State("cut")); err != nil {
		t.Fatal(err)
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
	recs, err := n.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range recs {
		got = append(got, strings.Join([]string{r.Kind, r.Key, r.Was}, " "))
	}
	if want := []string{"rpm jq.x86_64 absent", "rpm oniguruma.x86_64 absent", "user _jq absent"}; !slices.Equal(got,
		want) {
		t.Errorf("recorded %q", got)
	}
}
