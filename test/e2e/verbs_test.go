package e2e

import (
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestLooking has the verbs that only look tell what is so, on machines before, with and after a cluster, and change
// nothing.
func TestLooking(t *testing.T) {
	s := newLab(t, 2)
	file, err := s.Deploy("looking.yaml", "looking", []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	has := func(tr stand.Try, words ...string) {
		t.Helper()
		if err := tr.Has(words...); err != nil {
			t.Errorf("%v\n%s", err, tail(tr.Out, 60))
		}
	}
	bare := snapshots(t, s, 2)
	has(try(t, s, 0, "preflight", "-f", file), "n1", "amd64")
	has(try(t, s, 0, "plan", "-f", file), "n2", "/usr/local/bin/kubelet", "MiB", "nothing was changed")
	same(t, bare, func() []lab.Snapshot { return snapshots(t, s, 2) })

	try(t, s, 0, "deploy", "-f", file)
	has(try(t, s, 0, "plan", "-f", file), "would change nothing")
	_, err = s.Lab.Run(t.Context(), "n2", "echo '# spoilt' >>/etc/kubernetes/kube-proxy.yaml")
	must(t, "spoil a file", err)
	has(try(t, s, 0, "plan", "--id", "looking"), "/etc/kubernetes/kube-proxy.yaml", "kube-proxy.service")
	try(t, s, 0, "deploy", "-f", file)
	has(try(t, s, 0, "status", "--id", "looking"), "Ready", "leader", "coredns", "looking is healthy")
	has(try(t, s, 0, "list"), "looking", "installed")
	has(try(t, s, 0, "plan", "cleanup", "--id", "looking", "--purge"), "n1", "n2", "nothing was changed")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "looking") // the cleanup that was only planned left a mark nowhere
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, bare, func() []lab.Snapshot { return snapshots(t, s, 2) })
}
