package phases_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// program puts a program of the machine's own into its PATH.
func program(t *testing.T, n *phasestest.Node, name, script string) {
	t.Helper()
	path := n.Path("/usr/bin/" + name)
	put(t, path, "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestPreflightFindsWhatWouldFailLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, n *phasestest.Node)
		want  []string
	}{
		"no default route": {func(t *testing.T, n *phasestest.Node) { put(t, n.State("noroute"), "") },
			[]string{"preflight.no-route"}},
		"foreign files": {func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/usr/local/bin/kubelet"), "x")
			put(t, n.Path("/etc/systemd/system/kubelet.service"), "x")
			put(t, n.Path("/etc/systemd/system/etcd.service"), "x") // no etcd comes to a worker
		}, []string{"preflight.foreign-files"}},
		"a containerd": {func(t *testing.T, n *phasestest.Node) {
			put(t, n.State("active/containerd.service"), "")
		}, []string{"preflight.foreign-runtime"}},
		"leftovers of another": {func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/var/lib/kubelet/pods/x"), "")
		}, []string{"preflight.leftovers"}},
		"another name": {func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/var/lib/eggo-node/node"), "sim\nw7\n")
		}, []string{"preflight.renamed"}},
		"another version": {func(t *testing.T, n *phasestest.Node) {
			put(t, n.Path("/var/lib/eggo-node/node"), "sim\nw1\n")
			put(t, n.Path("/var/lib/eggo-node/record"), "file\t"+n.Path("/usr/local/bin/kubelet")+"\tabsent\n")
			put(t, n.State("active/kubelet.service"), "")
			put(t, n.Path("/usr/local/bin/kubelet"), "#!/bin/sh\necho Kubernetes v1.33.1\n")
			if err := os.Chmod(n.Path("/usr/local/bin/kubelet"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, []string{"preflight.version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 1)
			c.spoil(t, l.Nodes["w1"])
			before := tree(t, l)
			b, sum, err := run(t, l, phases.Deploy)
			if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight || len(sum.Changed) > 0 ||
				!slices.Equal(b.findings(), c.want) {
				t.Errorf("%v, changed %v, found %+v", err, sum.Changed, of[event.Finding](b))
			}
			if diff := cmp.Diff(before, tree(t, l)); diff != "" {
				t.Error("touched:", diff)
			}
		})
	}
}

// A bundle without a program of the role is found before anything is touched, machine by machine.
func TestPreflightFindsThatTheBundleLacksAProgram(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	for _, shared := range []string{"bundle.tar.gz", "stage"} { // links to what all labs have
		if err := os.Remove(filepath.Join(l.Dir, shared)); err != nil {
			t.Fatal(err)
		}
	}
	if err := phasestest.WriteBundleWithout(filepath.Join(l.Dir, "bundle.tar.gz"), "kube-proxy",
		"etcdctl"); err != nil {
		t.Fatal(err)
	}
	before := tree(t, l)
	b, sum, err := run(t, l, phases.Deploy)
	var got []string
	for _, f := range of[event.Finding](b) {
		got = append(got, f.Host+" "+string(f.Severity)+" "+f.Fault.Code+" "+f.Fault.Args["program"])
	}
	want := []string{"m1 error preflight.no-program kube-proxy", "m1 warning preflight.no-tool etcdctl",
		"w1 error preflight.no-program kube-proxy"}
	if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight || len(sum.Changed) > 0 {
		t.Errorf("%v, changed %v", err, sum.Changed)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("touched:", diff)
	}
}

func TestPreflightLetsAWorkingSetupBe(t *testing.T) {
	t.Parallel()
	l := newLab(t, 0)
	n := l.Nodes["m1"]
	for _, dir := range []string{"/var/lib/etcd", "/var/lib/kubelet"} {
		if err := os.MkdirAll(n.Path(dir+"/lost+found"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, n.State("active/firewalld.service"), "")
	program(t, n, "firewall-cmd",
		"case $1 in --get-zone-of-interface=eth0) exit 2 ;; --get-default-zone) echo public ;; --zone=public) "+
			"printf '  target: default\\n  ports: 2379-2380/tcp 6443/tcp 10250/tcp 10256/tcp 8472/udp\\n' ;; esac\n")
	// firewalld's own
	program(t, n, "nft",
		"[ \"$*\" != 'list ruleset' ] || echo 'type filter hook input priority filter; policy drop;'\nexit 1\n")
	r := &book{}
	p := phases.Deploy(l.Env(r.emit))
	p.Steps = slices.DeleteFunc(p.Steps, func(s *engine.Step) bool { return s.Phase != "preflight" })
	if _, err := engine.Run(t.Context(), p, quick(r)); err != nil || r.findings() != nil {
		t.Errorf("%v, found %+v", err, of[event.Finding](r))
	}
}

// A jump host that has lost its state, or another one with a cluster of the same name, takes no cluster that works from
// its nodes.
func TestPreflightKeepsAClusterFromAnotherStateDirectory(t *testing.T) {
	t.Parallel()
	l := deployed(t, workers(0))
	before := tree(t, l)
	refused := func(what string, plan func(phases.Env) *engine.Plan) {
		t.Helper()
		b, sum, err := run(t, l, plan)
		if f := event.AsFault(err); f == nil || f.Class != event.ClassPreflight || len(sum.Changed) > 0 ||
			!slices.Equal(b.findings(), []string{"preflight.state-elsewhere"}) {
			t.Errorf("%s: %v, found %v", what, err, b.findings())
		}
		if diff := cmp.Diff(before, tree(t, l)); diff != "" {
			t.Error(what, "touched:", diff)
		}
	}
	pki, kept := filepath.Join(l.StateDir(), "pki"), filepath.Join(l.StateDir(), "kept")
	if err := os.Rename(pki, kept); err != nil {
		t.Fatal(err)
	}
	refused("deploy with lost state", phases.Deploy)
	if _, err := os.Stat(pki); err == nil {
		t.Error("a refused deploy made an authority")
	}
	put(t, filepath.Join(pki, "ca.crt"), "of another cluster")
	refused("deploy from elsewhere", phases.Deploy)
	refused("cleanup from elsewhere", plain)
	if err := os.RemoveAll(pki); err != nil {
		t.Fatal(err)
	}
	cleanup(t, l, purge) // with lost state
}

func TestFactsNameTheResolvConfForPods(t *testing.T) {
	t.Parallel()
	const stub = "nameserver 127.0.0.53\noptions edns0\n"
	for name, c := range map[string]struct {
		etc, systemd string // "" is not there
		want         string
		nameserver   bool
	}{
		"one of its own": {"nameserver 192.0.2.53\n", "", "/etc/resolv.conf", true},
		"both": {stub + "nameserver 192.0.2.53\n", "nameserver 192.0.2.54\n", "/etc/resolv.conf",
			true},
		"systemd-resolved":       {stub, "nameserver 192.0.2.53\n", "/run/systemd/resolve/resolv.conf", true},
		"resolved that has none": {stub, "# none\n", "/run/systemd/resolve/resolv.conf", false},
		"a forwarder of its own": {stub, "", "/etc/resolv.conf", false},
		"none":                   {"", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 0)
			n := l.Nodes["m1"]
			if err := os.Remove(n.Path("/etc/resolv.conf")); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"/etc/resolv.conf": c.etc,
				"/run/systemd/resolve/resolv.conf": c.systemd} {
				if text != "" {
					put(t, n.Path(path), text)
				}
			}
			f, err := facts.Gather(t.Context(), node.New(n, (&book{}).emit), l.Cluster.Nodes[0].IP,
				l.Cluster.ServiceGateway, "", time.Now, facts.Places{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Resolv != c.want || f.Nameserver != c.nameserver {
				t.Errorf("%q, nameserver %v", f.Resolv, f.Nameserver)
			}
		})
	}
}
