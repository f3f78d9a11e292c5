package phases_test

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A machine says how those of our units are that it has, and nothing of the others.
func TestStatesOfUnits(t *testing.T) {
	sim, err := phasestest.NewNode(t.TempDir(), "n1", "192.0.2.11")
	if err != nil {
		t.Fatal(err)
	}
	fake(t, sim, "systemctl", `for u in "$@"; do :; done
case "$1 $u" in
'show kubelet.service') printf 'Id=%s\nLoadState=loaded\nActiveState=failed\nNRestarts=7\n' "$u" ;;
'show etcd.service') echo 'Failed to connect to bus' >&2; exit 1 ;;
*) printf 'Id=%s\nLoadState=not-found\n' "$u" ;;
esac
`)
	out, err := phases.UnitStates(t.Context(), sim)
	if err != nil ||
		!strings.Contains(out, "Id=kubelet.service\nLoadState=loaded\nActiveState=failed\nNRestarts=7\n\n") ||
		!strings.Contains(out, "Failed to connect to bus") || strings.Contains(out, "docker") {
		t.Errorf("%q %v", out, err)
	}
}
