package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestCopiedStateDirectory: two copies of a state directory are used for one cluster. The older one is refused and
// changes nothing; it takes over on request, and then the other one is refused.
func TestCopiedStateDirectory(t *testing.T) {
	full(t)
	s := newLab(t, 1)
	file, err := s.Deploy("owner.yaml", "owned", []stand.Node{{Name: "n1", Roles: "mne"}})
	must(t, "owner.yaml", err)
	deploy(t, s, file)
	copied := filepath.Join(s.Dir, "copied-state")
	must(t, "old copy", os.RemoveAll(copied))
	must(t, "copy", os.CopyFS(copied, os.DirFS(s.State())))
	must(t, "mode", os.Chmod(copied, 0o700))

	s.Say("== the original is used: the copy is refused, and can be read")
	try(t, s, 0, "deploy", "--id", "owned")
	must(t, "why", tryFrom(t, s, copied, 5, "deploy", "--id", "owned").Has("preflight.stale-owner", "--take-over 2"))
	tryFrom(t, s, copied, 0, "status", "--id", "owned")

	s.Say("== the copy takes over: the original is refused")
	tryFrom(t, s, copied, 5, "deploy", "--id", "owned", "--take-over", "1")
	tryFrom(t, s, copied, 0, "deploy", "--id", "owned", "--take-over", "2")
	must(t, "why", try(t, s, 5, "deploy", "--id", "owned").Has("preflight.stale-owner", "--take-over 3"))
	try(t, s, 5, "cleanup", "--id", "owned", "--yes", "--purge")
	tryFrom(t, s, copied, 0, "cleanup", "--id", "owned", "--yes", "--purge")
}
