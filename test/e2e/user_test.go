package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/lab"
)

// wizardWay is what a person types and sees from the menu to an install that has begun, on machines with these roles,
// of which the last is a worker.
func wizardWay(x *terminal, cluster string, words map[string]string, roles ...string) {
	t, s := x.t, x.s
	t.Helper()
	x.command("eggo-tui")
	x.choose(words["install"])
	x.see(time.Minute, words["cluster"])
	x.write(cluster)
	x.press("C-n")
	x.see(time.Minute, words["login"])
	x.press("Down")
	x.write(s.Lab.IdentityFile())
	x.press("C-n")
	x.see(time.Minute, words["nodes"])
	for i, role := range roles {
		ip := address(t, s, fmt.Sprintf("n%d", i+1))
		x.write(fmt.Sprintf("n%d %s %s", i+1, ip, role))
		x.press("Enter")
		x.see(time.Minute, ip)
	}
	x.press("Enter")
	x.see(2*time.Minute, words["keys"])
	firstContacts(x, fmt.Sprint(len(roles), " ", words["ready"]), "f "+words["keys"], words["trust"])
	x.press("C-n")
	x.see(time.Minute, "10.244.0.0/16")
	x.press("C-n", "C-n")
	x.see(time.Minute, words["bundle"])
	x.press("a")
	x.see(time.Minute, words["path"])
	x.write(s.Bundle)
	x.press("Enter")
	x.see(5*time.Minute, words["proven"])
	x.press("C-n", "C-n")
	x.see(10*time.Minute, words["passed"])
	x.press("Enter")
	x.see(time.Minute, "kube-apiserver :6443", cluster)
	x.press("Tab")
	x.see(time.Minute, "cluster-id", cluster)
	x.press("Tab", "Tab")
	x.see(5*time.Minute, "/etc/hosts") // which the plan names and deploy.yaml does not
	x.press("/")
	last := fmt.Sprint("n", len(roles))
	x.write(address(t, s, last))
	x.press("Enter")
	x.see(time.Minute, last, "kubelet.service")
	x.press("Enter")
	x.see(time.Minute, words["really"])
	x.press("y")
}

// firstContacts trusts the keys of machines that are met for the first time, whenever the footer offers to look at
// them: what is said above it depends on which machine asked first.
func firstContacts(x *terminal, ready, open, trust string) {
	x.t.Helper()
	x.seeWhat(3*time.Minute, "the machines are ready", func(screen string) error {
		switch {
		case strings.Contains(screen, trust):
			x.press("y")
		case strings.Contains(screen, open):
			x.press("f")
		case strings.Contains(screen, ready):
			return nil
		}
		return fmt.Errorf("they are not")
	})
}

// TestUserWholeWay is in English: from the menu through the wizard to an install on two machines, which is left and
// attached again; then the terminal is killed with the board in it, the install goes on all the same, and another
// terminal shows it to its end: a cluster that works. From the menu a machine joins, all are asked how they are, the
// machine leaves, the cluster is cleaned up, and every machine is what it was.
func TestUserWholeWay(t *testing.T) {
	const cluster = "person"
	s := newLab(t, 3)
	ctx := t.Context()
	before := snapshots(t, s, 3)
	x := sit(t, s, "en")
	wizardWay(x, cluster, map[string]string{"install": "Install a new cluster",
		"cluster": "Grey values are defaults", "login": "SSH access", "nodes": "Nodes and roles",
		"keys":  "host keys",
		"ready": "ready", "trust": "trust marked keys", "bundle": "The bundle contains everything",
		"path":   "Path ❯",
		"proven": "✔ verified", "passed": "Preflight passed", "really": "Install person now?"},
		"master worker etcd", "worker")
	x = leaveAndComeBack(t, s, x, cluster)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 2))
	lookBack(s, x, cluster)
	changeFromTheMenu(t, s, x, cluster)
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}

// TestUserInstallsInChinese: from the menu through the wizard to a cluster of three machines that works.
func TestUserInstallsInChinese(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	x := sit(t, s, "zh")
	wizardWay(x, "person", map[string]string{"install": "安装新集群", "cluster": "灰色的内容是默认值",
		"login": "SSH 登录",
		"nodes": "节点与角色", "keys": "主机密钥",
		"ready": "就绪", "trust": "信任已标记的",
		"bundle": "离线包包含安装所需", "path": "路径 ❯", "proven": "✔ 校验通过",
		"passed": "预检通过", "really": "现在安装 person"}, "master etcd", "worker", "worker")
	const done = "集群 person 已就绪"
	x.see(25*time.Minute, done)
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	x.press("q")
	x.back(time.Minute, done) // the summary stays in the terminal
}
