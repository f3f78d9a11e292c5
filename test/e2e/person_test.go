package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// terminal is a real terminal that a person sits at: tmux.
type terminal struct {
	t    *testing.T
	name string
}

// sit starts the menu in a terminal.
func sit(t *testing.T, s *stand.Stand, lang string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	home := filepath.Join(s.Dir, "home-"+lang)
	must(t, "old home", os.RemoveAll(home))
	must(t, "home", os.MkdirAll(home, 0o700))
	x := &terminal{t, fmt.Sprintf("eggo-e2e-%d", os.Getpid())}
	t.Cleanup(func() { _ = x.tmux(context.WithoutCancel(t.Context()), "kill-server").Run() })
	command := fmt.Sprintf("cd %q && HOME=%q LC_ALL=C.UTF-8 EGGO_LANG=%s %q --state-dir %q", home, home, lang, s.Program("eggo-tui"), s.State())
	if out, err := x.tmux(t.Context(), "-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "120", "-y", "40", command).CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	return x
}

func (x *terminal) tmux(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "tmux", append([]string{"-L", x.name, "-u"}, args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return c
}

// screen is what the person sees.
func (x *terminal) screen() string {
	out, _ := x.tmux(x.t.Context(), "capture-pane", "-p", "-t", "t").Output() // the end of the program is seen by what is not there
	return string(out)
}

// see waits until all the words are on the screen.
func (x *terminal) see(limit time.Duration, words ...string) {
	x.t.Helper()
	err := stand.Until(x.t.Context(), limit, strings.Join(words, ", "), func(context.Context) error {
		got := x.screen()
		for _, w := range words {
			if !strings.Contains(got, w) {
				return fmt.Errorf("%q is not on the screen", w)
			}
		}
		return nil
	})
	if err != nil {
		x.t.Fatalf("%v\n%s", err, x.screen())
	}
}

// press presses keys by tmux's names.
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	must(x.t, "keys", x.tmux(x.t.Context(), append([]string{"send-keys", "-t", "t"}, keys...)...).Run())
}

// write types a text.
func (x *terminal) write(text string) {
	x.t.Helper()
	must(x.t, "keys", x.tmux(x.t.Context(), "send-keys", "-t", "t", "-l", text).Run())
}

// wizardWay is what a person types and sees from the menu to a cluster that is installed.
func wizardWay(t *testing.T, lang string, words map[string]string) {
	full(t)
	s := newLab(t, 3)
	ctx := t.Context()
	x := sit(t, s, lang)
	x.see(time.Minute, words["install"])
	x.press("Enter")
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
	x.press("End")
	x.see(time.Minute, "n3")
	x.press("Enter")
	x.see(time.Minute, words["really"])
	x.press("y")
	x.see(25*time.Minute, words["done"])
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	x.press("q")
}

// TestAPersonInstallsInEnglish: from the menu to a cluster that works, through the wizard, in a terminal.
func TestAPersonInstallsInEnglish(t *testing.T) {
	wizardWay(t, "en", map[string]string{"install": "Install a new cluster", "cluster": "Which cluster is it?", "login": "How are the machines reached?", "nodes": "Which machines", "keys": "host keys",
		"ready": "ready", "whose": "whose key?", "bundle": "What is it installed from?", "path": "Another bundle", "proven": "proven", "passed": "Nothing stands in the way", "really": "Install person now?", "done": "Cluster person is as it should be"})
}

// TestAPersonInstallsInChinese is the same way in Chinese.
func TestAPersonInstallsInChinese(t *testing.T) {
	wizardWay(t, "zh", map[string]string{"install": "安装新集群", "cluster": "这是哪个集群", "login": "怎样登录", "nodes": "有哪些机器", "keys": "主机密钥",
		"ready": "就绪", "whose": "密钥未知", "bundle": "从哪个离线包安装", "path": "其他离线包", "proven": "校验通过", "passed": "没有问题", "really": "现在安装 person", "done": "集群 person 一切就绪"})
}
