package phases_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/status"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestStatusSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	seen := func() *phases.Status {
		t.Helper()
		s, err := phases.GatherStatus(t.Context(), l.Env((&book{}).emit))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := seen(); s.Healthy || !s.Nodes[0].Reached || s.Unknown == nil {
		t.Errorf("bare machines: %+v", s)
	}
	l = deployed(t, workers(1))
	before := tree(t, l)
	s := seen()
	if !s.Healthy || len(s.Nodes) != 2 || !s.Nodes[1].Ready || s.Nodes[1].Kubelet == "" ||
		len(s.Nodes[0].Certificates) < 5 || len(s.Etcd) != 1 || !s.Etcd[0].Leader || len(s.Workloads) == 0 {
		t.Errorf("%+v", s)
	}
	for _, c := range s.Nodes[0].Certificates {
		if c.Ends.Before(time.Now()) || c.Ends.After(time.Now().AddDate(11, 0, 0)) {
			t.Error(c)
		}
	}
	ran := l.Nodes["w1"].Runs("kube-proxy.service")
	if err := os.Remove(l.Nodes["w1"].State("active/kube-proxy.service")); err != nil {
		t.Fatal(err)
	}
	if s = seen(); s.Healthy || !slices.Contains(s.Nodes[1].Components,
		status.Component{Name: "kube-proxy", State: "inactive"}) {
		t.Errorf("%+v", s.Nodes[1])
	}
	put(t, l.Nodes["w1"].State("active/kube-proxy.service"), ran)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("looking changed:", diff)
	}
	l.Nodes["w1"].PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", errors.New("gone")))
	if s = seen(); s.Healthy || s.Nodes[1].Reached || s.Nodes[1].Fault.Code != "ssh.unreachable" ||
		!s.Etcd[0].Healthy {
		t.Errorf("%+v", s)
	}
	for code, want := range map[string]string{"ssh.no-credentials": "kube.no-login",
		"ssh.hostkey-unknown": "ssh.hostkey-unknown"} {
		for _, n := range l.Nodes {
			n.PowerOff(event.NewFault(event.ClassAuth, code, nil))
		}
		if s = seen(); s.Healthy || s.Unknown == nil || s.Unknown.Code != want ||
			s.Etcd[0].Error != "the login to the node failed" {
			t.Errorf("%s: %+v", code, s)
		}
	}
	for _, n := range l.Nodes {
		n.PowerOff(event.NewFault(event.ClassFailed, "ssh.unreachable", errors.New("gone")))
	}
	if s = seen(); s.Unknown == nil || s.Unknown.Code != "kube.no-control-plane" {
		t.Errorf("%+v", s)
	}
}

// What somebody edits or removes on a node is told, with the component that was started with it, until a deploy has
// made it again. What the node itself writes counts for nothing.
func TestStatusTellsWhatWasEditedOnNodes(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(1))
	drift := func() []event.Msg {
		t.Helper()
		s, err := phases.GatherStatus(t.Context(), l.Env((&book{}).emit))
		if err != nil {
			t.Fatal(err)
		}
		if s.Healthy != (len(s.Drift) == 0) {
			t.Errorf("healthy: %v, with the drift %v", s.Healthy, s.Drift)
		}
		return s.Drift
	}
	if is := drift(); len(is) > 0 {
		t.Fatal("nobody has edited anything:", is)
	}
	const config, unit, conf = "/etc/kubernetes/kubelet.yaml", "/etc/systemd/system/kube-scheduler.service",
		"/etc/kubernetes/scheduler.conf"
	put(t, l.Nodes["w1"].Path(config), readFile(t, l.Nodes["w1"].Path(config))+"maxPods: 77\n")
	put(t, l.Nodes["m1"].Path(unit), readFile(t, l.Nodes["m1"].Path(unit))+"# by hand\n")
	if err := os.Remove(l.Nodes["m1"].Path(conf)); err != nil {
		t.Fatal(err)
	}
	file := func(node, component, path string) event.Msg {
		return event.M("drift.file", "node", node, "component", component, "path", path)
	}
	want := []event.Msg{file("m1", "kube-scheduler", conf), file("m1", "kube-scheduler", unit),
		file("w1", "kubelet", config)}
	if diff := cmp.Diff(want, drift()); diff != "" {
		t.Error(diff)
	}
	deploy(t, l)
	if is := drift(); len(is) > 0 {
		t.Error("a deploy has left", is)
	}
}
