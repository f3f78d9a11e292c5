package e2e

import (
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// says wants a run of a verb to have said these words.
func (u *upgraded) says(tr stand.Try, words ...string) {
	u.t.Helper()
	if err := tr.Has(words...); err != nil {
		u.t.Errorf("%v\n%s", err, tail(tr.Out, 60))
	}
}

// looksAtMachines has the verbs that only look tell what would be done on new machines.
func looksAtMachines(u *upgraded) {
	u.t.Helper()
	u.says(try(u.t, u.Stand, 0, "preflight", "-f", u.file), "n1", "amd64")
	u.says(try(u.t, u.Stand, 0, "plan", "-f", u.file), "n2", "/usr/local/bin/kubelet", "MiB", "nothing was changed")
	same(u.t, u.before, func() []lab.Snapshot { return snapshots(u.t, u.Stand, len(u.nodes)) })
}

// looksAtCluster has them tell what is so, and what would be done about it.
func looksAtCluster(u *upgraded) {
	u.t.Helper()
	t, s := u.t, u.Stand
	u.says(try(t, s, 0, "plan", "-f", u.file), "would change nothing")
	_, err := s.Lab.Run(t.Context(), "n2", "echo '# spoilt' >>/etc/kubernetes/kube-proxy.yaml")
	must(t, "spoil a file", err)
	u.says(try(t, s, 0, "plan", "--id", u.cluster), "/etc/kubernetes/kube-proxy.yaml", "kube-proxy.service")
	try(t, s, 0, "deploy", "-f", u.file)
	u.says(try(t, s, 0, "status", "--id", u.cluster), "Ready", "leader", "coredns", u.cluster+" is healthy")
	u.says(try(t, s, 0, "list"), u.cluster, "installed")
	u.says(try(t, s, 0, "plan", "cleanup", "--id", u.cluster, "--purge"), "n1", "n2", "nothing was changed")
	try(t, s, 0, "deploy", "-f", u.file)
	noChange(t, s.State(), u.cluster) // the cleanup that was only planned left a mark nowhere
}
