package e2e

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestKubeadmFaults is what goes wrong with three control planes of static pods behind a load balancer: a plan that
// names every change and makes none, what somebody edits on a node and a scheduler that does not start, all data of
// etcd restored, an upgrade whose API server does not start.
func TestKubeadmFaults(t *testing.T) {
	full(t)
	nodes := []stand.Node{{Name: "n1", Roles: "me"}, {Name: "n2", Roles: "me"}, {Name: "n3", Roles: "mne"},
		{Name: "n4", Roles: "nl"}}
	u := newPlanes(t, "faults", 4, nodes)
	s := u.Stand
	s.Say("== the plan of the installation changes nothing")
	plan := try(t, s, 0, "plan", "deploy", "-f", u.file)
	must(t, "plan", plan.Has("n1", "n2", "n3", "n4", "generate the manifest of kube-scheduler with kubeadm",
		"replace the static pod manifest /etc/kubernetes/manifests/etcd.yaml", "enable and start kubelet.service",
		"nothing was changed"))
	same(t, u.before, func() []lab.Snapshot { return snapshots(t, s, 4) })
	deploy(t, s, u.file)
	plansNothing(u, "deploy")
	try(t, s, 0, "deploy", "--id", u.cluster)
	noChange(t, s.State(), u.cluster)

	s.Say("== certificates")
	allCertificates(u)

	s.Say("== what was edited on nodes")
	editedOnNodes(u)

	s.Say("== etcd is restored on three members")
	snapshotAndRestore(t, s, u.file, u.cluster, []string{"n1", "n2", "n3"}, 4)
	u.healthy()

	s.Say("== a restore is refused where a manifest is missing")
	const manifest = "/etc/kubernetes/manifests/kube-scheduler.yaml"
	onN2 := func(line string) {
		t.Helper()
		_, err := u.Lab.Run(t.Context(), "n2", line)
		must(t, line, err)
	}
	onN2("mv " + manifest + " /root/m")
	must(t, "why", try(t, s, 5, "etcd", "restore", filepath.Join(s.Dir, "etcd.db"), "-f", u.file, "--yes").
		Has("n2 has no manifest of kube-scheduler", "preflight.restore-manifests"))
	onN2("mv /root/m " + manifest)
	u.healthy()

	s.Say("== an upgrade whose API server does not start")
	u.workload()
	badPods(u)
	u.gone()
}

// plansNothing wants a plan of the cluster to have no change, and to make none.
func plansNothing(u *upgraded, verb string) {
	u.t.Helper()
	was, before := staying(u), u.changes()
	plan := try(u.t, u.Stand, 0, "plan", verb, "--id", u.cluster)
	if err := plan.Has("would change nothing on " + u.cluster); err != nil {
		u.t.Errorf("%v\n%s", err, tail(plan.Out, 40))
	}
	untouchedBy(u, was, before)
}

// staying is what runs on every node, one line each: processes, the manifests of static pods, and how often a
// controller manager or a scheduler has ended because it lost its lease.
func staying(u *upgraded) map[string]string {
	u.t.Helper()
	out := map[string]string{}
	for node, text := range u.services() {
		text, _, _ = strings.Cut(text, "/opt/eggo:")
		more, err := u.Lab.Run(u.t.Context(), node, `sha256sum /etc/kubernetes/manifests/* 2>/dev/null; `+
			`for c in kube-controller-manager kube-scheduler; do echo lost $c `+
			`$(cat /var/log/pods/kube-system_$c-*/*/*.log 2>/dev/null | grep -ci 'leaderelection lost'); done`)
		must(u.t, "manifests", err)
		out[node] = text + more
	}
	return out
}

// untouchedBy wants what runs to be what ran before, and no change to have been announced. A controller manager or a
// scheduler may have been started again by its kubelet, when it lost its lease meanwhile and says so.
func untouchedBy(u *upgraded, was map[string]string, before int) {
	u.t.Helper()
	for node, is := range staying(u) {
		stayed(u, node, was[node], is)
	}
	if n := u.changes(); n != before {
		u.t.Errorf("%d changes were made", n-before)
	}
}

// stayed wants what runs on a node to be what ran before.
func stayed(u *upgraded, node, was, is string) {
	u.t.Helper()
	old := strings.Split(was, "\n")
	for line := range strings.SplitSeq(is, "\n") {
		if slices.Contains(old, line) || strings.HasPrefix(line, "lost ") {
			continue
		}
		program, _, _ := strings.Cut(line, " ")
		lost := "lost " + path.Base(program) + " "
		if at := strings.Index(is, lost); at >= 0 && !strings.Contains(was, strings.SplitN(is[at:], "\n", 2)[0]) {
			u.Say("%s: %s has lost its lease, and was started again", node, path.Base(program))
			continue
		}
		u.t.Errorf("%s runs on %s, which was not there before:\n%s\nand is\n%s", line, node, was, is)
	}
	if before, now := len(old), strings.Count(is, "\n")+1; now < before {
		u.t.Errorf("%d things ran on %s, and now %d:\n%s\nand is\n%s", before, node, now, was, is)
	}
}

// allCertificates wants the list to have every certificate of every node, as the control host has it, and the days that
// are left of it.
func allCertificates(u *upgraded) {
	u.t.Helper()
	must(u.t, "list", try(u.t, u.Stand, 0, "certs", "list", "--id", u.cluster).Has("DAYS", "admin.conf",
		"controller-manager.conf", "scheduler.conf", "/etc/kubernetes/pki/etcd/peer.crt"))
	got := try(u.t, u.Stand, 0, "certs", "list", "--id", u.cluster, "--output", "json")
	var rows []operation.CertificateRow
	must(u.t, "list", json.Unmarshal([]byte(got.Out), &rows))
	at := map[string][]string{}
	for _, r := range rows {
		if r.State != "ok" || r.Days == nil || *r.Days < 300 {
			u.t.Errorf("%s of %s at %s: %s", r.Name, r.Node, r.At, r.State)
		}
		at[r.Node] = append(at[r.Node], r.At)
	}
	const pki = "/etc/kubernetes/pki/"
	want := map[string][]string{"n4": {pki + "kubelet.crt", "/var/lib/kubelet/pki/kubelet-client-current.pem",
		address(u.t, u.Stand, "n4") + ":10250"}}
	for _, n := range u.with("m") {
		ip := address(u.t, u.Stand, n)
		want[n] = []string{ip + ":6443", ip + ":2379", ip + ":2380", ip + ":10250", "/etc/kubernetes/admin.conf",
			"/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf",
			"/var/lib/kubelet/pki/kubelet-client-current.pem"}
		for _, name := range []string{"apiserver", "apiserver-kubelet-client", "apiserver-etcd-client",
			"front-proxy-client", "etcd/server", "etcd/peer", "kubelet"} {
			want[n] = append(want[n], pki+name+".crt")
		}
	}
	for node, places := range want {
		for _, p := range places {
			if !slices.Contains(at[node], p) {
				u.t.Errorf("no certificate of %s at %s is listed: %q", node, p, at[node])
			}
		}
	}
}

// editedOnNodes: a manifest that is edited by hand, so that its component does not start, one whose component runs with
// it, and the configuration of a kubelet. status names nodes, components, files and what to do; plan names what deploy
// then does.
func editedOnNodes(u *upgraded) {
	u.t.Helper()
	const manifest, config = "/etc/kubernetes/manifests/kube-scheduler.yaml", "/etc/kubernetes/kubelet.yaml"
	const running = "/etc/kubernetes/manifests/kube-controller-manager.yaml"
	run := func(node, line string) string {
		u.t.Helper()
		out, err := u.Lab.Run(u.t.Context(), node, line)
		must(u.t, line, err)
		return out
	}
	sums := func() string {
		u.t.Helper()
		const same = "sed '/^  uid: /d' %s | sha256sum" // a manifest that is made again has another uid
		return run("n2", fmt.Sprintf(same, manifest)) + run("n3", fmt.Sprintf(same, running)) +
			run("n4", "sha256sum <"+config)
	}
	asked := func() string {
		u.t.Helper()
		return run("n3", "tr '\\0' '\\n' </proc/$(pgrep -x kube-controller)/cmdline")
	}
	were := sums()
	// Of a pod with the same uid the kubelet does not see another flag; of one that was gone it does.
	const edit = "mv %[1]s /root/m; for i in $(seq 90); do pgrep -x %[2]s >/dev/null || break; sleep 2; done; " +
		"sed -i 's/--leader-elect=true/%[3]s/' /root/m; mv /root/m %[1]s; "
	run("n2", fmt.Sprintf(edit, manifest, "kube-scheduler", "--no-such-flag")+"sleep 20")
	run("n3", fmt.Sprintf(edit, running, "kube-controller", `&\n    - --v=4`)+
		"for i in $(seq 90); do pgrep -x kube-controller >/dev/null && break; sleep 2; done")
	run("n4", "echo 'maxPods: 77' >>"+config)
	must(u.t, "it runs as it was edited", edited(asked(), "--v=4"))
	got := try(u.t, u.Stand, 3, "status", "--id", u.cluster)
	if err := got.Has("n2: kube-scheduler does not run as it should: failed; run deploy",
		"n2: "+manifest+" of kube-scheduler was changed or removed, and not by Eggo",
		"n3: "+running+" of kube-controller-manager was changed or removed, and not by Eggo",
		"n4: "+config+" of kubelet was changed or removed, and not by Eggo"); err != nil {
		u.t.Errorf("%v\n%s", err, tail(got.Out, 40))
	}
	if now := sums(); now == were {
		u.t.Error("nothing was edited")
	}

	before := u.changes()
	plan := try(u.t, u.Stand, 0, "plan", "deploy", "--id", u.cluster)
	if err := plan.Has("replace the static pod manifest "+manifest, "write "+config,
		"nothing was changed"); err != nil || u.changes() != before {
		u.t.Errorf("%v\n%s", err, tail(plan.Out, 40))
	}
	must(u.t, "what is edited is there still", edited(run("n2", "cat "+manifest), "--no-such-flag"))
	try(u.t, u.Stand, 0, "deploy", "--id", u.cluster)
	if now := sums(); now != were {
		u.t.Errorf("the files were %s and are %s", were, now)
	}
	if is := asked(); strings.Contains(is, "--v=4") {
		u.t.Errorf("what was edited runs still:\n%s", is)
	}
	u.healthy()
	try(u.t, u.Stand, 0, "deploy", "--id", u.cluster)
	noChange(u.t, u.State(), u.cluster)
}

func edited(text, word string) error { return stand.Try{Out: text}.Has(word) }

// withoutEtcd is what stays on a node but its member of etcd.
func withoutEtcd(lines string) string {
	return regexp.MustCompile(`(?m)^.*/etcd( |\.yaml$).*\n`).ReplaceAllString(lines, "")
}

// badPods: the first control plane gets an API server that does not start, and is what it was a moment later; but for
// etcd, whose turn was before, the others have never been touched. The upgrade continues with another build of the
// bundle.
func badPods(u *upgraded) {
	u.t.Helper()
	newer, err := u.PackKubeadm(u.t.Context(), minorAfter)
	must(u.t, "pack", err)
	bad, err := u.BadPods(u.t.Context(), minorAfter)
	must(u.t, "bad API server", err)
	was, before := staying(u), u.changes()
	plan := try(u.t, u.Stand, 0, "plan", "upgrade", "--id", u.cluster, "--bundle", newer)
	must(u.t, "plan", plan.Has(minorAfter, "nothing was changed"))
	untouchedBy(u, was, before)

	began := time.Now()
	got := u.to(1, bad)
	u.Say("it ended after %s:\n%s", time.Since(began).Round(time.Second), tail(got.Out, 30))
	u.says(got, "upgrade.reverted", "n1", "kube-apiserver", "this API server does not start")
	u.run(minorOwn, controlPlane, u.with("m")...)
	u.run(minorOwn, everyKubelet, u.kubelets()...)
	now := staying(u)
	for _, n := range []string{"n2", "n3"} {
		stayed(u, n, withoutEtcd(was[n]), withoutEtcd(now[n]))
	}
	must(u.t, "use", u.WorksOn(u.t.Context(), u.kubelets()...))
	u.Say("== continued with another build of the bundle, a good one")
	u.unfinished()
	u.to(0, newer, "--soak", "5s")
	u.allRun(minorAfter)
	u.spread()
	u.healthy()
	if strings.Contains(u.kubectl("get", "pods", "-A", "--no-headers"), "CrashLoopBackOff") {
		u.t.Error("a pod of the bad bundle is left")
	}
}
