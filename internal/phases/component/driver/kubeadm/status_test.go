package kubeadm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// says are the lines of a status of m1 that begin with one of the words, with the node's own paths.
func says(t *testing.T, r *Kubeadm, m *machine, nd *node.Node, words ...string) []string {
	t.Helper()
	out, err := nd.Query(t.Context(), r.StatusScript(r.named("m1"))+node.Edited)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(out, m.dir, "")) {
		line = strings.TrimSpace(line)
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(line, w) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

func addTo(t *testing.T, file, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(data, text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAStatusTellsOfStaticPods: one that runs, one whose containers end, one that was stopped; a manifest and a file of
// a component that somebody has edited, and a manifest that is gone.
func TestAStatusTellsOfStaticPods(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	nd := node.New(m, r.Emit)
	p := scheduler(t, r, nd)
	want := func(lines ...string) {
		t.Helper()
		if got := says(t, r, m, nd, "unit=kube-scheduler", "edited="); !slices.Equal(got, lines) {
			t.Errorf("%q, want %q", got, lines)
		}
	}
	start := func() {
		t.Helper()
		if err := p.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want("unit=kube-scheduler inactive")
	start()
	want("unit=kube-scheduler failed")
	end := process(t, "kube-scheduler", p.revision)
	want("unit=kube-scheduler active")

	conf := "/etc/kubernetes/scheduler.conf"
	addTo(t, m.at(manifest(p.c)), "    - --no-such-flag\n")
	addTo(t, m.at(conf), "# by hand\n")
	end()
	byHand := []string{"unit=kube-scheduler failed", "edited=kube-scheduler " + manifest(p.c),
		"edited=kube-scheduler " + conf}
	want(byHand...)
	if err := os.Remove(m.at(manifest(p.c))); err != nil {
		t.Fatal(err)
	}
	byHand[0] = "unit=kube-scheduler inactive"
	want(byHand...)
	wants(t, "what was edited is made again", false, p.Current)
	start()
	process(t, "kube-scheduler", p.revision)
	want("unit=kube-scheduler active")
	wants(t, "as it was", true, p.Current)
}

// TestAStatusOfAPodThatWasStopped: nobody has edited what Eggo has put aside.
func TestAStatusOfAPodThatWasStopped(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	nd := node.New(m, r.Emit)
	if err := r.StartLocked(t.Context(), driver.Scheduler, r.named("m1"), nd); err != nil {
		t.Fatal(err)
	}
	if _, err := nd.Change(t.Context(), node.Change{Desc: event.M("change.static-pod"),
		Script: r.Stop(driver.Scheduler)}); err != nil {
		t.Fatal(err)
	}
	if got := says(t, r, m, nd, "unit=kube-scheduler", "edited="); !slices.Equal(got,
		[]string{"unit=kube-scheduler inactive"}) {
		t.Errorf("%q", got)
	}
}

// TestWhatKubeadmMadeBefore: on a node that was imported, a process without a revision counts when it is in the
// container of a static pod, or of kube-proxy; that of a pod of somebody's own does not.
func TestWhatKubeadmMadeBefore(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	nd := node.New(m, r.Emit)
	const static, ours = "3c8fbf7607be48e1b350c5f8960e326f", "e60b090d-8ab2-4919-b31c-b9433530bb1a"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(m.at(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.at(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	underscores := strings.ReplaceAll(ours, "-", "_")
	write("/p/systemd/cgroup", "4:memory:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"+static+
		".slice/cri-containerd-1.scope\n0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"+static+
		".slice/cri-containerd-1.scope\n")
	write("/p/cgroupfs/cgroup", "0::/kubepods/burstable/pod"+static+"/1\n")
	write("/p/pod/cgroup", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"+underscores+
		".slice/cri-containerd-1.scope\n")
	write("/p/service/cgroup", "0::/system.slice/etcd.service\n")
	for _, dir := range []string{static + "/containers/etcd/1", ours + "/containers/etcd/1",
		ours + "/containers/kube-proxy/1"} {
		write("/var/lib/kubelet/pods/"+dir, "")
	}
	asked := func(name, process string) bool {
		t.Helper()
		out, err := nd.Query(t.Context(), podsLib+"! madebefore "+name+" "+m.at("/p/"+process)+" || echo yes\n")
		if err != nil {
			t.Fatal(err)
		}
		return out == "yes\n"
	}
	if asked("etcd", "systemd") {
		t.Error("the node was not imported")
	}
	write("/var/lib/eggo-node/record", "format\t1\t-\nimported\t-\tkubeadm\n")
	for process, want := range map[string][]string{"systemd": {"etcd"}, "cgroupfs": {"etcd"}, "pod": {"kube-proxy"},
		"service": nil, "gone": nil} {
		for _, name := range []string{"etcd", "kube-apiserver", "kube-proxy"} {
			if is := asked(name, process); is != slices.Contains(want, name) {
				t.Errorf("%s of %s: %v", name, process, is)
			}
		}
	}
}

// TestCertificatesOfANode: all that kubeadm's manifests and the kubeconfigs name, and what a kubelet has got by itself.
func TestCertificatesOfANode(t *testing.T) {
	r := made(t, "")
	const dir, own = "/etc/kubernetes/", "/var/lib/kubelet/pki/kubelet-client-current.pem"
	for name, want := range map[string][]string{
		"m1": {dir + "pki/apiserver.crt", dir + "pki/apiserver-kubelet-client.crt",
			dir + "pki/apiserver-etcd-client.crt", dir + "pki/front-proxy-client.crt", dir + "controller-manager.conf",
			dir + "scheduler.conf", dir + "admin.conf", dir + "pki/etcd/server.crt", dir + "pki/etcd/peer.crt",
			dir + "pki/kubelet.crt", own},
		"w1": {dir + "pki/kubelet.crt", own},
		"e1": {dir + "pki/etcd/server.crt", dir + "pki/etcd/peer.crt"},
	} {
		var got []string
		for _, c := range r.Certificates(r.named(name)) {
			got = append(got, c.File)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
