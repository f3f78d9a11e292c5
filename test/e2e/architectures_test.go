package e2e

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/lab/upstream"
)

// serverBundle packs for an architecture what members of etcd and the load balancer need of the default spec, and
// nothing else.
func serverBundle(t *testing.T, s *stand.Stand, arch string) string {
	t.Helper()
	w := workshopOn(t, s)
	const name = "servers"
	path := w.spec(t, name, func(doc map[string]any) {
		only(doc, "packages", "binaries")
		p := doc["packages"].(map[string]any)
		p["install"], doc["binaries"] = serving(p["install"]), serving(doc["binaries"])
	})
	spec, err := upstream.LoadSpec(path)
	must(t, name, err)
	must(t, "upstream for "+arch, upstream.Build(t.Context(),
		upstream.Options{Spec: spec, Arches: []string{arch}, Report: upstream.Printer(s.Out)}))
	return filepath.Join(w.pack(t, path, arch), name+"-"+arch+".tar.gz")
}

// serving are the entries of a list that members of etcd or the load balancer need.
func serving(list any) []any {
	return slices.DeleteFunc(list.([]any), func(x any) bool {
		return !slices.ContainsFunc(x.(map[string]any)["roles"].([]any),
			func(r any) bool { return r == "etcd" || r == "loadbalancer" })
	})
}

// TestArchitectures is a cluster of two architectures: control plane and workers on this machine's own; etcd, all of
// it, and the load balancer on a machine of the other one, whose programs qemu's emulation runs, PID 1 and sshd too.
// Each is served from the bundle of its architecture.
func TestArchitectures(t *testing.T) {
	full(t)
	s := newStand(t)
	ctx := t.Context()
	must(t, "build", s.Build(ctx))
	pack(t, s)
	own, other := runtime.GOARCH, lab.OtherArch()
	servers := serverBundle(t, s, other)
	t.Cleanup(func() {
		if err := s.Lab.Down(context.WithoutCancel(ctx), true); err != nil {
			t.Error(err)
		}
	})
	s.Lab.OfForeign("n3")
	must(t, "lab", s.Lab.Up(ctx, 3))
	must(t, "old state", os.RemoveAll(s.State()))
	before := untouched(t, s, 3)
	for settled := false; !settled; { // what a boot or a login still does takes its time under emulation
		now := snapshots(t, s, 3)
		settled = len(lab.Diff(before[2], now[2])) == 0
		before = now
	}
	if out, err := s.Lab.Run(ctx, "n3", "uname -m; dpkg --print-architecture; ps -p 1 -o comm="); err != nil ||
		!strings.HasPrefix(out, uname(other)+"\n"+other+"\n") {
		t.Fatalf("n3 is %q, %v", out, err)
	}

	lied, err := s.Deploy("lied.yaml", "arches", []stand.Node{{Name: "n1", Roles: "mn"}, {Name: "n2", Roles: "n"},
		{Name: "n3", Roles: "el"}})
	must(t, "deploy.yaml", err)
	s.Say("== an architecture that is not the machine's is refused before anything is touched")
	if err := try(t, s, 5, "deploy", "-f", lied).Has("preflight.arch", "n3", other); err != nil {
		t.Error(err)
	}
	n3, err := s.Lab.Address("n3")
	must(t, "address", err)
	sources := map[string]string{"amd64": "x86src", "arm64": "armsrc"}
	file, err := s.Vary(lied, "arches.yaml", "ip: "+n3+"\n  port: 22\n  arch: "+own,
		"ip: "+n3+"\n  port: 22\n  arch: "+other,
		"  type: tar.gz\n", "  type: tar.gz\n  "+sources[other]+": "+servers+"\n")
	must(t, "deploy.yaml", err)
	for name, pair := range map[string][2]string{"no-bundle": {"  " + sources[other] + ": " + servers + "\n", ""},
		"swapped": {servers, s.Bundle}} {
		wrong, err := s.Vary(file, name+".yaml", pair[0], pair[1])
		must(t, name, err)
		want := map[string]int{"no-bundle": 2, "swapped": 6}[name]
		if err := try(t, s, want, "deploy", "-f", wrong).Has(other); err != nil {
			t.Error(err)
		}
	}
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })

	try(t, s, 0, "deploy", "-f", file)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))

	s.Say("== each machine has its own architecture's programs")
	for node, programs := range map[string]string{"n1": "/usr/local/bin/kube-apiserver /usr/local/bin/kubelet",
		"n2": "/usr/local/bin/kubelet", "n3": "/usr/local/bin/etcd /usr/local/bin/etcdctl /usr/sbin/nginx"} {
		arch := own
		if node == "n3" {
			arch = other
		}
		want := map[string]string{"amd64": "3e 00", "arm64": "b7 00"}[arch] // the machine in the head of an ELF file
		out, err := s.Lab.Run(ctx, node, "for p in "+programs+
			"; do od -An -tx1 -j18 -N2 $p; done; dpkg --print-architecture")
		must(t, node, err)
		if f := strings.Split(strings.TrimSpace(out), "\n"); slices.ContainsFunc(f[:len(f)-1],
			func(l string) bool { return strings.TrimSpace(l) != want }) || f[len(f)-1] != arch {
			t.Errorf("%s: %s has %s", node, programs, out)
		}
	}
	out, err := s.Lab.Run(ctx, "n1",
		"grep server: /etc/kubernetes/kubelet.conf; tr '\\0' '\\n' </proc/$(systemctl show -P MainPID "+
			"kube-apiserver)/cmdline | grep etcd-servers")
	must(t, "endpoint", err)
	if !strings.Contains(out, "https://"+n3+":8443") || !strings.Contains(out, "--etcd-servers=https://"+n3+":2379") {
		t.Errorf("the load balancer and etcd are not %s: %s", n3, out)
	}

	s.Say("== the same again, and with the other machine rebooted")
	try(t, s, 0, "deploy", "-f", file)
	noChange(t, s.State(), "arches")
	must(t, "reboot", s.Lab.Reboot(ctx, "n3"))
	must(t, "use after the reboot", s.Works(ctx, 2))
	if err := try(t, s, 0, "status", "--id", "arches").Has("n3", "leader"); err != nil {
		t.Error(err)
	}
	try(t, s, 0, "cleanup", "-f", file, "--yes", "--purge")
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
