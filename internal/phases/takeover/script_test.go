package takeover

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The script finds the process of a service whatever link or shell has started it, and no other.
func TestServicesScriptOnProcesses(t *testing.T) {
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	sleep, err = filepath.EvalSymlinks(sleep)
	link := filepath.Join(dir, "kube-scheduler")
	if err != nil || os.Symlink(sleep, link) != nil || filepath.Base(sleep) != "sleep" {
		t.Skip("sleep is another program's name", err)
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
		systemctl := "systemctl() { case $* in *MainPID*) echo " + strconv.Itoa(cmd.Process.Pid) + " ;; esac; }\n" +
			"timeout() { :; }\nsleep 0.3\nAPPLIED=" + dir + "/applied\nUNITS=kube-scheduler\n"
		got, err := exec.CommandContext(t.Context(), "sh", "-c", systemctl+ServicesScript).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(got), "unit kube-scheduler\nmain ") ||
			strings.Contains(string(got), "arg 60\n") != (c.want != "") {
			t.Errorf("%s: %v %s", name, err, got)
		}
		kids, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/" + strconv.Itoa(cmd.Process.Pid) +
			"/children")
		for _, kid := range strings.Fields(string(kids)) {
			if pid, err := strconv.Atoi(kid); err == nil {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
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
