package operation

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// An inspection reads the file of host keys that the next command reads. A key that a user accepts is added there; one
// that is accepted unseen goes where it ends with the command, and messages name the file of the next one all the same.
func TestInspectionsUseTheFileOfTheNextCommand(t *testing.T) {
	f := &fakes{root: t.TempDir(), lab: &phasestest.Lab{Dir: t.TempDir()}}
	dir := filepath.Join(f.root, "one")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deploy.yaml"), []byte(threeMasters), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "known_hosts")
	for policy, kept := range map[string]bool{"ask": true, "strict": false, "accept-new": false} {
		nodes := &sshOnly{}
		d := f.deps()
		d.Dialer, d.KnownHosts = nodes, []string{"/draft"}
		c := request.OfCluster("one")
		c.HostKeys = policy
		i, err := inspect(t.Context(), request.Deploy{Common: c}, d)
		if err != nil {
			t.Fatal(err)
		}
		a := nodes.access
		if a.HostKeys != remote.Policy(policy) {
			t.Errorf("%s: the policy is %s", policy, a.HostKeys)
		}
		if file, also := a.KnownHosts(), a.AlsoKnown(); kept {
			if file != own || !slices.Equal(also, []string{"/draft"}) {
				t.Errorf("%s: keys are added to %s beside %v", policy, file, also)
			}
		} else if filepath.Dir(file) != i.files.Dir() || !slices.Equal(also, []string{own, "/draft"}) {
			t.Errorf("%s: keys are added to %s beside %v", policy, file, also)
		}
		i.close()
	}
}
