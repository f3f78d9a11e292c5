package node_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// shellHost runs scripts with a systemctl of the test, and counts them.
type shellHost struct {
	node.Host
	dir  string
	runs int
}

func (*shellHost) Name() string { return "n1" }

func (h *shellHost) Run(ctx context.Context, c shell.Command) (shell.Result, error) {
	h.runs++
	cmd := exec.CommandContext(ctx, "sh", "-euc", strings.ReplaceAll(c.Script, node.Dir, h.dir))
	cmd.Env = append(os.Environ(), "PATH="+h.dir+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	return shell.Result{Stdout: out}, err
}

// TestHowUnitsAreOnANode: one round trip for all of them; a systemd that does not answer says nothing of any.
func TestHowUnitsAreOnANode(t *testing.T) {
	h := &shellHost{dir: t.TempDir()}
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("applied/a.service", "0123abcd\n", 0o644)
	put("systemctl", `#!/bin/sh
case "$*" in
'is-active a.service') echo active ;;
'is-enabled a.service') echo enabled ;;
'is-active b c.service') echo failed; exit 3 ;;
'is-enabled b c.service') echo disabled; exit 1 ;;
'is-active absent.service') echo inactive; exit 4 ;;
*) echo "Failed to get unit file state" >&2; exit 1 ;;
esac
`, 0o755)
	nd := node.New(h, nil)
	got, err := nd.Units(t.Context(), "a.service", "b c.service", "absent.service")
	want := []node.Unit{{State: "active", Enabled: true, Applied: "0123abcd"}, {State: "failed"}, {State: "inactive"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || h.runs != 1 {
		t.Errorf("%d round trips, %v\n%s", h.runs, err, diff)
	}
	put("systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n", 0o755)
	if u, err := nd.Unit(t.Context(), "a.service"); err != nil || u.Active() || u.State != "" ||
		u.Applied != "0123abcd" {
		t.Errorf("%+v %v", u, err)
	}
}
