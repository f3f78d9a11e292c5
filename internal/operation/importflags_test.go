package operation

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A kubelet that somebody has given flags is not taken over without them: the deploy names them, and touches nothing.
// What kubeadm itself writes is no such flag.
func TestFlagsOfAKubeletAreNotLostWhenItIsTakenOver(t *testing.T) {
	f, d := byKubeadm(t)
	elsewhere(t, f)
	next, err := ReadImport(t.Context(), importOf(), d, func([]event.Finding) {})
	if err != nil {
		t.Fatal(err)
	}
	h := heard{&collector{}}
	d.Sink = h.collector
	if err := did(t, next, d); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"/var/lib/kubelet/kubeadm-flags.env": `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=` +
			`unix:///run/containerd/containerd.sock --pod-infra-container-image=registry.k8s.io/pause:3.10"` + "\n",
		"/etc/default/kubelet":   "# ours\nKUBELET_EXTRA_ARGS=--max-pods=50\n",
		"/etc/sysconfig/kubelet": "KUBELET_EXTRA_ARGS='--v 4'",
	} {
		file := f.lab.Nodes["w1"].Path(path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf := f.lab.Nodes["w1"].Path("/var/lib/kubelet/config.yaml")
	usual, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, append(usual, "maxPods: 250"...), 0o600); err != nil {
		t.Fatal(err)
	}
	was := trees(t, f)
	for range 2 { // it is refused as long as nothing was done about it
		h.all = nil
		err = did(t, request.Deploy{Common: request.OfCluster("sim")}, d)
		if event.AsFault(err) == nil || event.AsFault(err).Code != "preflight.failed" || len(h.changes()) > 0 {
			t.Error(err, h.changes())
		}
		var said []string
		for _, x := range h.findings() {
			if x.Fault.Code == "preflight.kubelet-flags" {
				said = append(said, x.Host+" "+x.Fault.Args["flags"])
			}
			if x.Fault.Code == "preflight.kubelet-config" {
				said = append(said, x.Host+" "+x.Fault.Args["settings"])
			}
		}
		if !slices.Equal(said, []string{"w1 --max-pods=50, --v=4", "w1 maxPods: 250"}) {
			t.Errorf("%q", said)
		}
		if got := trees(t, f); got != was {
			t.Error("the deploy has changed files of a node:", got, was)
		}
	}
}
