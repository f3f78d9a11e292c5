package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// TestNoFrontEndEndsARun: three clusters of one machine each are installed at once. The run of the first is killed by
// SIGKILL and its process number taken by another process: it is dead nevertheless, and is resumed over an SSH session
// without a terminal that dies. The second's terminal is closed. The third's is stopped with Ctrl-S until the install
// has ended, and shows the rest when it flows again.
func TestNoFrontEndEndsARun(t *testing.T) {
	full(t)
	s := newLab(t, 3)
	files := map[string]string{}
	for i, cluster := range []string{"dead", "closed", "stopped"} {
		file, err := s.Deploy(cluster+".yaml", cluster, []stand.Node{{Name: fmt.Sprintf("n%d", i+1), Roles: "mne"}})
		must(t, "deploy.yaml", err)
		files[cluster] = file
	}
	under := func(cluster string, n int) {
		t.Helper()
		await(t, s, cluster, 5*time.Minute, "the install of "+cluster+" is under way",
			func(run []event.Record) bool { return changes([][]event.Record{run}) >= n })
	}
	s.Say("== a terminal that is stopped, and one that is closed")
	stopped, closed := sit(t, s, "en"), sit(t, s, "en")
	stopped.command("eggo-tui deploy -f " + files["stopped"])
	closed.command("eggo-tui deploy -f " + files["closed"])
	under("stopped", 3)
	stopped.press("C-s")
	under("closed", 10)
	must(t, "the terminal's end", closed.tmux(t.Context(), "kill-server").Run())

	takenNumber(t, s, files["dead"])
	s.Say("== an SSH session without a terminal that dies")
	before := len(runsOf(t, s, "dead"))
	session := controlHost(t, s, "eggo-tui deploy -f "+files["dead"])
	must(t, "the second run", stand.Until(t.Context(), time.Minute, "the second run", func(ctx context.Context) error {
		if n := len(runsOf(t, s, "dead")); n == before {
			return fmt.Errorf("%d runs, as before", n)
		}
		return nil
	}))
	under("dead", 5)
	must(t, "kill", session.Process.Kill())
	_ = session.Wait()

	for cluster, runs := range map[string]int{"dead": 2, "closed": 1, "stopped": 1} {
		run := await(t, s, cluster, 15*time.Minute, cluster+" is installed", ended)
		if end, ok := endOf(run); !ok || end.Exit != 0 || end.Outcome != event.Changed {
			t.Errorf("%s: %+v", cluster, end)
		}
		if n := len(runsOf(t, s, cluster)); n != runs {
			t.Errorf("%s: %d runs, want %d", cluster, n, runs)
		}
		try(t, s, 0, "deploy", "--id", cluster)
		noChange(t, s.State(), cluster)
	}
	if strings.Contains(stopped.screen(), "Event log:") {
		t.Errorf("the stopped terminal shows the end:\n%s", stopped.screen())
	}
	stopped.press("C-q")
	stopped.back(time.Minute, "deploy of cluster stopped", "Event log: ", "To remove the cluster: ")
}

// takenNumber kills the run of a deploy and lets another process have its number.
func takenNumber(t *testing.T, s *stand.Stand, file string) {
	t.Helper()
	s.Say("== a run is killed, and its process number taken")
	ctx := t.Context()
	r, err := s.Start(ctx, "", "deploy", "-f", file)
	must(t, "deploy", err)
	if ok, err := r.When(ctx, "dead", func(runs [][]event.Record) bool { return changes(runs) >= 3 }); err != nil ||
		!ok {
		got, _ := r.Wait()
		t.Fatalf("%v\n%s", err, tail(got.Out, 40))
	}
	pid := holder(t, s, "dead")
	if pid == r.PID() {
		t.Fatal("the run is no process of its own")
	}
	must(t, "kill", syscall.Kill(pid, syscall.SIGKILL))
	got, err := r.Wait()
	must(t, "deploy", err)
	must(t, "what it says", got.Has("run.died", "signal: killed", "n1", "eggo-tui deploy -f"))
	if got.Code != 1 {
		t.Errorf("exit code %d", got.Code)
	}
	other := withNumber(t, pid)
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	s.Say("process %d is now: %s", pid, strings.Join(other.Args, " "))
	if holder(t, s, "dead") != pid {
		t.Fatal("the lock's file names another process")
	}
	must(t, "list", try(t, s, 0, "list").Has("interrupted"))
	must(t, "logs -F", try(t, s, 0, "logs", "--id", "dead", "-F").Has("deploy of cluster dead"))
	must(t, "logs --list", try(t, s, 0, "logs", "--id", "dead", "--list").Has("interrupted"))
}

// holder is the process that the lock's file of a cluster names.
func holder(t *testing.T, s *stand.Stand, cluster string) int {
	t.Helper()
	var h struct {
		PID int `json:"pid"`
	}
	must(t, "holder", json.Unmarshal([]byte(read(t, filepath.Join(s.State(), cluster, "lock.json"))), &h))
	return h.PID
}

// withNumber starts a process that has a certain number: the kernel gives the next one after that which it gave last.
func withNumber(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	for range 1000 {
		must(t, "ns_last_pid", os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0o600))
		c := exec.CommandContext(t.Context(), "sleep", "600")
		must(t, "sleep", c.Start())
		if c.Process.Pid == pid {
			return c
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	t.Fatalf("no process got the number %d", pid)
	return nil
}

func runsOf(t *testing.T, s *stand.Stand, cluster string) [][]event.Record {
	t.Helper()
	runs, err := stand.Runs(s.State(), cluster)
	must(t, "event logs", err)
	return runs
}

func ended(run []event.Record) bool { _, ok := endOf(run); return ok }

func endOf(run []event.Record) (end event.RunEnded, ok bool) {
	for _, r := range run {
		if e, is := r.Event.(event.RunEnded); is {
			end, ok = e, true
		}
	}
	return end, ok
}

// controlHost runs eggo-tui over an SSH session without a terminal, at a server on loopback, and gives the client.
func controlHost(t *testing.T, s *stand.Stand, line string) *exec.Cmd {
	t.Helper()
	need(t, "/usr/sbin/sshd", "openssh-server")
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		must(t, "key", exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(dir, name)).Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, "port", err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, "port", err)
	must(t, "port", l.Close())
	must(t, "sshd", os.MkdirAll("/run/sshd", 0o755))
	conf := filepath.Join(dir, "sshd_config")
	must(t, "sshd", os.WriteFile(conf, fmt.Appendf(nil,
		"ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\n"+
			"PermitRootLogin yes\nUsePAM no\n",
		port, filepath.Join(dir, "host"), filepath.Join(dir, "user.pub")), 0o600))
	server := exec.CommandContext(t.Context(), "/usr/sbin/sshd", "-D", "-f", conf)
	must(t, "sshd", server.Start())
	t.Cleanup(func() { _ = server.Wait() }) // it ends with the test's context
	must(t, "sshd", stand.Until(t.Context(), time.Minute, "sshd listens", func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return err
		}
		return c.Close()
	}))
	line = strings.Replace(line, "eggo-tui", "LC_ALL=C.UTF-8 "+s.Program("eggo-tui"), 1) + " --state-dir " + s.State()
	client := exec.CommandContext(t.Context(), "ssh", "-T", "-F", "none", "-i", filepath.Join(dir, "user"), "-p", port,
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "root@127.0.0.1", line)
	out, err := client.StdoutPipe()
	must(t, "ssh", err)
	client.Stderr = os.Stderr
	must(t, "ssh", client.Start())
	first := make([]byte, 1)
	_, err = out.Read(first)
	must(t, "the first word over SSH", err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return client
}
