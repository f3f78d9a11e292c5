package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestHandover: a cluster is handed over to another one and fetched back, while its workload is called. Each side is
// refused while the other one has it, and so is a copy of the directory from before. A hand-over that is killed is
// completed by the same command.
func TestHandover(t *testing.T) {
	full(t)
	s := newLab(t, 2)
	ctx := t.Context()
	for node, cluster := range map[string]string{"n1": "moves", "n2": "meta"} {
		file, err := s.Deploy(cluster+".yaml", cluster, []stand.Node{{Name: node, Roles: "mne"}})
		must(t, cluster, err)
		deploy(t, s, file)
	}
	conf := filepath.Join(s.Dir, "meta.conf")
	must(t, "old kubeconfig", os.RemoveAll(conf))
	try(t, s, 0, "kubeconfig", "--id", "meta", "--out", conf)
	copied := filepath.Join(s.Dir, "before-handover")
	must(t, "old copy", os.RemoveAll(copied))
	must(t, "copy", os.CopyFS(copied, os.DirFS(s.State())))
	must(t, "mode", os.Chmod(copied, 0o700))
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 1))
	calls := callService(t, s, "n1")

	to := []string{"--id", "moves", "--kubeconfig", conf, "-n", "default", "--yes"}
	s.Say("== killed, and completed")
	killed, err := s.Start(ctx, "", append([]string{"handover"}, to...)...)
	must(t, "handover", err)
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C { // until it has written to the nodes
		text, err := os.ReadFile(filepath.Join(s.State(), "moves", "owner.json"))
		must(t, "owner", errors.Join(err, ctx.Err()))
		if strings.Contains(string(text), `"fence":2,`) {
			tick.Stop()
			break
		}
	}
	must(t, "kill", killed.Signal(syscall.SIGKILL))
	end, err := killed.Wait()
	must(t, "end", err)
	s.Say("the killed hand-over ended with %d", end.Code)
	s.Admin = "n2"
	try(t, s, 0, append([]string{"handover"}, to...)...)
	try(t, s, 0, append([]string{"handover"}, to...)...)

	s.Say("== here it is refused, also from a copy of before")
	must(t, "why", try(t, s, 2, "deploy", "--id", "moves").Has("state.moved", "default @ https://"))
	must(t, "why", try(t, s, 2, "status", "--id", "moves").Has("state.moved"))
	must(t, "list", try(t, s, 0, "list").Has("handed over"))
	must(t, "why", tryFrom(t, s, copied, 5, "deploy", "--id", "moves").Has("preflight.other-owner", "default @ "))
	secretFree(t, filepath.Join(s.State(), "moves"), "PRIVATE KEY")
	for _, part := range []string{"pki", "config", "access", "progress"} {
		_, err := s.Kubectl(ctx, "get", "secret", "moves-state-"+part)
		must(t, part, err)
	}
	s.Admin = "n1"

	s.Say("== and back")
	try(t, s, 0, append([]string{"handover", "--back"}, to...)...)
	try(t, s, 0, "deploy", "--id", "moves")
	noChange(t, s.State(), "moves")
	must(t, "why", tryFrom(t, s, copied, 5, "deploy", "--id", "moves").Has("preflight.other-owner"))
	if n, failed := calls.end(s); n == 0 || len(failed) > 0 {
		t.Errorf("of %d calls %d failed", n, len(failed))
	}
	must(t, "use", s.Works(ctx, 1))
	try(t, s, 0, "cleanup", "--id", "moves", "--yes", "--purge")
	try(t, s, 0, "cleanup", "--id", "meta", "--yes", "--purge")
}
