package e2e

import (
	"testing"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestImportOriginalTakenOver: a cluster in the layout of the original eggo is taken over by a deploy, while a client
// asks a Service twice a second; a flag that its deploy.yaml does not have refuses that before. Its control plane has
// no kubelet before, and gets one; its load balancer is replaced. Then a worker joins, certificates are renewed, a
// worker of the original leaves and gets its files back, the cluster is upgraded to the next minor version, and all is
// removed.
func TestImportOriginalTakenOver(t *testing.T) {
	full(t)
	s, dir := byOriginal(t, 4, stand.Node{Name: "n1", Roles: "me"}, stand.Node{Name: "n2", Roles: "n"},
		stand.Node{Name: "n3", Roles: "nl"})
	ctx := t.Context()
	sum := func(node string) string {
		t.Helper()
		out, err := s.Lab.Run(ctx, node, "cd /etc/kubernetes && sha256sum kubelet_config.yaml kube-proxy-config.yaml "+
			"kube-proxy.conf pki/ca.crt pki/kubelet.crt /usr/lib/systemd/system/kubelet.service /usr/bin/kubelet")
		must(t, "files of "+node, err)
		return out
	}
	theirs := sum("n2")
	must(t, "said", try(t, s, 0, "import", "--from-eggo", dir, "--host-keys", "accept-new").Has(
		"n1 is a control plane without a kubelet"))
	try(t, s, 0, "status", "--id", "old")
	must(t, "why", try(t, s, 5, "certs", "renew", "--id", "old").Has("deploy --id old"))

	s.Say("== a flag that somebody has given a component is not lost")
	const unit = "/usr/lib/systemd/system/kube-scheduler.service"
	_, err := s.Lab.Run(ctx, "n1", "cp -p "+unit+" /root/unit && sed -i 's#bin/kube-scheduler#& --kube-api-qps=77#' "+
		unit+" && systemctl daemon-reload && systemctl restart kube-scheduler")
	must(t, "flag", err)
	must(t, "flag", try(t, s, 5, "deploy", "--id", "old").Has("--kube-api-qps=77", "config-extra-args"))
	if now := sum("n2"); now != theirs {
		t.Errorf("n2 is another one: %s, and before %s", now, theirs)
	}
	_, err = s.Lab.Run(ctx, "n1", "cp -p /root/unit "+unit+
		" && systemctl daemon-reload && systemctl restart kube-scheduler")
	must(t, "flag", err)

	s.Say("== taken over")
	must(t, "plan", try(t, s, 0, "plan", "deploy", "--id", "old").Has("n1", "n2", "/etc/etcd/etcd.conf"))
	before := restarts(t, s)
	watch := watchService(t, s, "n2", "n3") // n1 has no kube-proxy
	try(t, s, 0, "deploy", "--id", "old")
	asked, failed := watch()
	s.Say("the Service was asked %d times meanwhile, %d times in vain", asked, failed)
	if asked == 0 || failed > 0 {
		t.Errorf("the workload stood still: %d of %d calls failed", failed, asked)
	}
	noRestart(t, before, restarts(t, s))
	must(t, "use", s.Works(ctx, 3))
	for _, n := range []string{"n1", "n2", "n3"} {
		out, err := s.Lab.Run(ctx, n, "readlink /proc/$(pgrep -x -o kubelet)/exe /proc/$(pgrep -x -o kube-proxy)/exe"+
			" | grep -vc ^/opt/eggo/ || true")
		if err != nil || out != "0\n" {
			t.Errorf("%s runs binaries of the original: %q %v", n, out, err)
		}
	}
	out, err := s.Lab.Run(ctx, "n1", "ls -d /var/lib/etcd/default.etcd/member; stat -c %U /var/lib/etcd/default.etcd; "+
		"cat /proc/$(pgrep -x -o etcd)/status | awk '/^Uid:/ {print ($2 > 0)}'")
	if err != nil || out != "/var/lib/etcd/default.etcd/member\netcd\n1\n" {
		t.Errorf("etcd: %q %v", out, err)
	}
	out, err = s.Lab.Run(ctx, "n3", "systemctl is-active eggo-lb; systemctl is-active nginx || true; "+
		"systemctl is-enabled nginx || true; ls /etc/kubernetes/kube-nginx.conf")
	if err != nil || out != "active\ninactive\ndisabled\n/etc/kubernetes/kube-nginx.conf\n" {
		t.Errorf("load balancer: %q %v", out, err)
	}
	try(t, s, 0, "deploy", "--id", "old")
	noChange(t, s.State(), "old")
	try(t, s, 0, "status", "--id", "old")

	s.Say("== a worker joins, certificates are renewed, a worker of the original leaves")
	try(t, s, 0, "join", "--id", "old", "--host-keys", "accept-new", "--name", "n4", address(t, s, "n4"))
	must(t, "use", s.Works(ctx, 4))
	try(t, s, 0, "certs", "renew", "--id", "old")
	try(t, s, 0, "delete", "--id", "old", "--yes", "--purge", "n2")
	absent(t, s, "old", "n2")
	if now := sum("n2"); now != theirs {
		t.Errorf("n2 has not got its files back: %s, and before %s", now, theirs)
	}
	out, err = s.Lab.Run(ctx, "n2", "systemctl is-active kubelet kube-proxy || true; systemctl is-enabled kubelet || "+
		"true; ls /var/lib/eggo-node /etc/kubernetes/kubelet.conf /etc/systemd/system/kubelet.service 2>/dev/null || "+
		"true")
	if err != nil || out != "inactive\ninactive\ndisabled\n" {
		t.Errorf("n2: %q %v", out, err)
	}
	must(t, "use", s.WorksOn(ctx, "n1", "n3", "n4"))

	s.Say("== to the next minor version")
	u := &upgraded{Stand: s, t: t, cluster: "old", nodes: []stand.Node{{Name: "n1", Roles: "me"},
		{Name: "n3", Roles: "nl"}, {Name: "n4", Roles: "n"}}}
	newer := u.packed(minorAfter)
	u.to(0, newer, "--soak", "5s")
	u.allRun(minorAfter)
	u.spread()

	s.Say("== removed")
	must(t, "what stays", try(t, s, 0, "cleanup", "--id", "old", "--yes", "--purge").Has("was imported"))
	out, err = s.Lab.Run(ctx, "n1", "pgrep -x kubelet || true; pgrep -x kube-apiserver || true; pgrep -x etcd || "+
		"true; ls -d /var/lib/eggo-node /etc/kubernetes/kubelet.conf 2>/dev/null || true; ls "+
		"/etc/kubernetes/pki/ca.key /etc/etcd/etcd.conf /usr/bin/kube-apiserver; "+
		"grep -c ETCD_INITIAL_CLUSTER= /etc/etcd/etcd.conf")
	if err != nil || out != "/etc/etcd/etcd.conf\n/etc/kubernetes/pki/ca.key\n"+
		"/usr/bin/kube-apiserver\n1\n" {
		t.Errorf("n1: %q %v", out, err)
	}
}
