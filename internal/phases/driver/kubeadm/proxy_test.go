package kubeadm

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// TestAStaticPodKeepsItsUIDUntilItChanges: the manifest has one of its own, or else a kubelet of another version would
// take the pod for another one and restart it.
func TestAStaticPodKeepsItsUIDUntilItChanges(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	p := scheduler(t, r, node.New(m, r.Emit))
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(m.at("/var/lib/eggo-node/pods/kube-scheduler/kube-scheduler.yaml"))
	if err != nil || strings.Count(string(text), "metadata:\n  uid: \""+p.uid()+"\"\n") != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	other := scheduler(t, made(t, "config-extra-args: [{name: kube-scheduler, extra-args: [--v=4]}]\n"),
		node.New(m, r.Emit))
	if other.uid() == p.uid() {
		t.Error("a pod with another argument has the same uid")
	}
	q, err := r.pod(driver.ControllerManager, r.named("m1"), p.nd)
	if err != nil || q.uid() == p.uid() {
		t.Errorf("two components have the same uid: %v", err)
	}
}

// TestAFileOfSeveralComponentsIsTheSame: what one component puts there is no change to another one, which would be
// restarted by every deploy.
func TestAFileOfSeveralComponentsIsTheSame(t *testing.T) {
	r := made(t, "")
	n := r.named("m1")
	nd := node.New(newMachine(t, r.Binaries(n, Program)[0].File), r.Emit)
	seen := map[string]node.File{}
	for _, c := range podsOf(n) {
		p, err := r.pod(c, n, nd)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range slices.Concat(p.beside, p.files) {
			if is, ok := seen[f.Path]; ok && (is.Mode != f.Mode || !bytes.Equal(is.Data, f.Data)) {
				t.Errorf("%s of %s has mode %o, and of another one %o", f.Path, c, f.Mode, is.Mode)
			}
			seen[f.Path] = f
		}
	}
}
