package takeover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The script finds the process of a service whatever link or shell has started it, and no other.
func TestServicesScriptOnProcesses(t *testing.T) {
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err == nil {
		sleep, err = filepath.EvalSymlinks(sleep)
	}
	link := filepath.Join(dir, "kube-scheduler")
	if err == nil {
		err = os.Symlink(sleep, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(sleep) != "sleep" {
		t.Skipf("sleep is %s here, which does not start under another name; it is a program of its own on Debian, "+
			"where .ci/run runs this test", sleep)
	}
	for name, c := range map[string]struct {
		start []string
		want  string
	}{
		"by a link":  {[]string{link, "60"}, "arg 60\n"},
		"by a shell": {[]string{"sh", "-c", link + " 60; true"}, "arg 60\n"},
		"another":    {[]string{sleep, "60"}, ""},
	} {
		cmd := exec.CommandContext(t.Context(), c.start[0], c.start[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started(t, cmd.Process.Pid, "60")
		systemctl := "systemctl() { case $* in *MainPID*) echo " + strconv.Itoa(cmd.Process.Pid) + " ;; esac; }\n" +
			"timeout() { :; }\nAPPLIED=" + dir + "/applied\nUNITS=kube-scheduler\n"
		got, err := exec.CommandContext(t.Context(), "sh", "-c", systemctl+ServicesScript).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(got), "unit kube-scheduler\nmain ") ||
			strings.Contains(string(got), "arg 60\n") != (c.want != "") {
			t.Errorf("%s: %v %s", name, err, got)
		}
		for _, pid := range children(cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// children are the processes that a process has started.
func children(pid int) (out []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, kid := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(kid); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// started waits until a process, or one that it has started, executes what was asked for: its last argument says so.
func started(t *testing.T, pid int, argument string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		for _, p := range append(children(pid), pid) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
			if strings.HasSuffix(string(text), "\x00"+argument+"\x00") {
				return
			}
		}
	}
	t.Fatal("it was not started")
}

// A component of a role that a node gets after its import has no unit: ours will be the first. Where kubelet or
// kube-proxy have none, somebody has removed them.
func TestServicesScriptWithoutUnits(t *testing.T) {
	const systemctl = "systemctl() { case $* in *LoadState*etcd*) echo loaded ;; *LoadState*) echo not-found ;; " +
		"*MainPID*) echo 0 ;; esac; }\n"
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", systemctl+"APPLIED="+t.TempDir()+
		"\nUNITS='etcd kube-apiserver kubelet kube-proxy'\n"+ServicesScript).CombinedOutput()
	if err != nil || string(out) != "unit etcd\nunit kubelet\nunit kube-proxy\n" {
		t.Errorf("%s %v", out, err)
	}
}
