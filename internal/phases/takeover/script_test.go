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

// sleeper is a program that sleeps, and a link to it by the name of a component.
func sleeper(t *testing.T, dir string) (program, link string) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err == nil {
		sleep, err = filepath.EvalSymlinks(sleep)
	}
	link = filepath.Join(dir, "kube-scheduler")
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
	return sleep, link
}

// The script finds the process of a service whatever link or shell has started it, and no other.
func TestServicesScriptOnProcesses(t *testing.T) {
	dir := t.TempDir()
	sleep, link := sleeper(t, dir)
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
		got, err := exec.CommandContext(t.Context(), "sh", "-c", systemctl+ServicesScript()).CombinedOutput()
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
		"\nUNITS='etcd kube-apiserver kubelet kube-proxy'\n"+ServicesScript()).CombinedOutput()
	if err != nil || string(out) != "unit etcd\nunit kubelet\nunit kube-proxy\n" {
		t.Errorf("%s %v", out, err)
	}
}

// A variable that a program heeds is named if only its unit sets it: not one that systemd gives all services, or that a
// drop-in sets. Its value may be a password.
func TestServicesScriptOnVariables(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.conf": "[Service]\nEnvironment=\"A=b\" \\\n \"GOGC=50\" MY_GODEBUG=1\nEnvironmentFile=-" + dir + "/file\n",
		"file":   "no_proxy=10.0.0.0/8\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, link := sleeper(t, dir)
	cmd := exec.CommandContext(t.Context(), link, "61")
	cmd.Env = []string{"HTTPS_PROXY=http://u:secret@192.0.2.9", "GOGC=50", "no_proxy=10.0.0.0/8", "TZ=UTC", "HOME=/",
		"KUBE_ARGS=x", "GODEBUG=x509=1", "PATH=/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	started(t, cmd.Process.Pid, "61")
	systemctl := "systemctl() { case $* in *MainPID*) echo " + strconv.Itoa(cmd.Process.Pid) +
		" ;; *DropInPaths*) echo " + dir + "/a.conf ;; show-environment) echo TZ=UTC ;; esac; }\n" +
		"timeout() { :; }\nAPPLIED=" + dir + "/applied\nUNITS=kube-scheduler\n"
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", systemctl+ServicesScript()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nvar GODEBUG\nvar HTTPS_PROXY\nversion") ||
		strings.Count(string(out), "var ") != 2 || strings.Contains(string(out), "secret") {
		t.Errorf("%v %s", err, out)
	}
}
