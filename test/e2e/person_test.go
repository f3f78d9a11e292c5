package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// wizardWay is what a person types and sees from the menu to a cluster that is installed.
func wizardWay(t *testing.T, lang string, words map[string]string) {
	s := newLab(t, 3)
	ctx := t.Context()
	x := sit(t, s, lang)
	x.command("eggo-tui")
	x.choose(words["install"])
	x.see(time.Minute, words["cluster"])
	x.write("person")
	x.press("C-n")
	x.see(time.Minute, words["login"])
	x.press("Down")
	x.write(s.Lab.IdentityFile())
	x.press("C-n")
	x.see(time.Minute, words["nodes"])
	for i, role := range []string{"master etcd", "worker", "worker"} {
		ip, err := s.Lab.Address(fmt.Sprintf("n%d", i+1))
		must(t, "address", err)
		x.write(fmt.Sprintf("n%d %s %s", i+1, ip, role))
		x.press("Enter")
		x.see(time.Minute, ip)
	}
	x.press("Enter")
	x.see(2*time.Minute, words["keys"])
	// The three keys are asked about side by side; what is shown is trusted, and what comes after it too.
	must(t, "host keys", stand.Until(ctx, 3*time.Minute, "three machines are ready", func(context.Context) error {
		if strings.Contains(x.screen(), "3 "+words["ready"]) {
			return nil
		}
		if strings.Contains(x.screen(), words["whose"]) {
			x.press("f")
			x.see(time.Minute, "SHA256:")
			x.press("y")
		}
		return fmt.Errorf("not yet")
	}))
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
	x.see(time.Minute, "cluster-id", "person")
	x.press("Tab", "Tab")
	x.see(5*time.Minute, "/etc/hosts") // which the plan names and deploy.yaml does not
	x.press("/")
	x.write(address(t, s, "n3"))
	x.press("Enter")
	x.see(time.Minute, "n3", "kubelet.service")
	x.press("Enter")
	x.see(time.Minute, words["really"])
	x.press("y")
	x.see(25*time.Minute, words["done"])
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	x.press("q")
	x.back(time.Minute, words["done"]) // the summary stays in the terminal
}

// TestAPersonInstallsInEnglish: from the menu to a cluster that works, through the wizard, in a terminal.
func TestAPersonInstallsInEnglish(t *testing.T) {
	wizardWay(t, "en", map[string]string{"install": "Install a new cluster", "cluster": "What is the cluster called?", "login": "How are the machines reached?", "nodes": "Which machines", "keys": "host keys",
		"ready": "ready", "whose": "whose key?", "bundle": "What is it installed from?", "path": "Another bundle", "proven": "✔ proven", "passed": "Nothing stands in the way", "really": "Install person now?", "done": "Cluster person is as it should be"})
}

// TestAPersonInstallsInChinese is the same way in Chinese.
func TestAPersonInstallsInChinese(t *testing.T) {
	full(t)
	wizardWay(t, "zh", map[string]string{"install": "安装新集群", "cluster": "集群叫什么名字", "login": "怎样登录", "nodes": "有哪些机器", "keys": "主机密钥",
		"ready": "就绪", "whose": "密钥待确认", "bundle": "从哪个离线包安装", "path": "其他离线包", "proven": "✔ 校验通过", "passed": "没有问题", "really": "现在安装 person", "done": "集群 person 一切就绪"})
}
