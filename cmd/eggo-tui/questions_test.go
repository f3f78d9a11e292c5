package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// atPTY starts eggo-tui with a terminal as stdin and stderr, and gives the person's end of it.
func atPTY(t *testing.T, args ...string) (*os.File, *exec.Cmd) {
	t.Helper()
	f, cmd, _ := atPTYWith(t, args...)
	return f, cmd
}

// atPTYWith is atPTY that keeps what goes to standard output; it is complete when the program has ended.
func atPTYWith(t *testing.T, args ...string) (*os.File, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := exec.LookPath("eggo-tui")
	if err != nil {
		t.Fatal(err)
	}
	f, tty := ptytest.New(t)
	defer tty.Close()
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "LANG=C", "HOME="+t.TempDir())
	out := new(bytes.Buffer)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, out, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return f, cmd, out
}

func answer(t *testing.T, f *os.File, text string) {
	t.Helper()
	if _, err := f.WriteString(text + "\n"); err != nil {
		t.Fatal(err)
	}
}

// lastRun is the newest run of the cluster away, and how it ended.
func lastRun(t *testing.T, state string) (id string, end *event.RunEnded) {
	t.Helper()
	store, err := journal.At(state, "away")
	if err != nil {
		t.Fatal(err)
	}
	if id, err = store.Latest(""); err != nil || id == "" {
		return "", nil
	}
	for rec, err := range journal.Read(store.RunDir(id)) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := rec.Event.(event.RunEnded); ok {
			end = &e
		}
	}
	return id, end
}

// The password and an unknown host key are asked for at the terminal before the run is a process of its own: it logs in
// with them and asks nothing.
func TestQuestionsComeBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--foreground"}} {
		srv := remotetest.New(t, remotetest.WithUser("root", "open sesame"))
		state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
		text := strings.NewReplacer("127.0.0.1, port: 1,", srv.IP+", port: "+strconv.Itoa(srv.Port)+",",
			"username: ops", "username: root").Replace(operationtest.Nobody)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, cmd := atPTY(t, append([]string{"deploy", "-f", file, "--state-dir", state}, flags...)...)
		until(t, f, "Password of root:")
		answer(t, f, "open sesame")
		until(t, f, "Which keys do you trust?")
		if id, _ := lastRun(t, state); id != "" {
			t.Error("the run has begun before it was asked")
		}
		answer(t, f, "y")
		go func() { _, _ = io.Copy(io.Discard, f) }()
		_ = cmd.Wait()
		_, end := lastRun(t, state)
		if end == nil || end.Fault == nil || strings.HasPrefix(end.Fault.Code, "ssh.") ||
			cmd.ProcessState.ExitCode() != end.Exit {
			t.Errorf("%v: it ended with %+v, exit code %d", flags, end, cmd.ProcessState.ExitCode())
		}
		if known, err := os.ReadFile(filepath.Join(state, "away", "known_hosts")); err != nil || len(known) == 0 {
			t.Errorf("%v: the key was not kept: %v", flags, err)
		}
	}
}

// A host key that is refused begins no run.
func TestARefusedHostKeyBeginsNoRun(t *testing.T) {
	t.Parallel()
	srv := remotetest.New(t, remotetest.WithUser("root", "x"))
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
	text := strings.NewReplacer("127.0.0.1, port: 1,", srv.IP+", port: "+strconv.Itoa(srv.Port)+",", "username: ops",
		"username: root", "eggo: {password-from: prompt}", "password: x").Replace(operationtest.Nobody)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, cmd := atPTY(t, "deploy", "-f", file, "--state-dir", state)
	until(t, f, "Which keys do you trust?")
	answer(t, f, "n")
	until(t, f, "ssh.hostkey")
	go func() { _, _ = io.Copy(io.Discard, f) }()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	if id, _ := lastRun(t, state); id != "" {
		t.Error("there is a run:", id)
	}
}

// A preflight that is interrupted has found nothing that would have to be fixed.
func TestAnInterruptedPreflight(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	if err := os.WriteFile(file, []byte(pair(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, cmd, out := atPTYWith(t, "preflight", "-f", file, "--state-dir", t.TempDir())
	until(t, f, "Which keys do you trust?")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	until(t, f, "run.interrupted")
	go func() { _, _ = io.Copy(io.Discard, f) }()
	_ = cmd.Wait()
	if strings.Contains(out.String(), "Deploy cannot start") {
		t.Error(out.String())
	}
}

// pair is a deploy.yaml with two machines: n1 has every role, n2 runs workloads. Both answer, with keys that nobody
// knows.
func pair(t *testing.T) string {
	t.Helper()
	var at [2]string
	for i := range at {
		srv := remotetest.New(t, remotetest.WithUser("root", "x"), remotetest.WithIP("127.0.0."+strconv.Itoa(i+1)))
		at[i] = srv.IP + ", port: " + strconv.Itoa(srv.Port) + ","
	}
	second := "nodes: [{name: n2, ip: " + at[1] + " arch: amd64}, "
	return strings.NewReplacer("127.0.0.1, port: 1,", at[0], "nodes: [", second, "username: ops", "username: root",
		"eggo: {password-from: prompt}", "password: x").Replace(operationtest.Nobody)
}

// Who is asked about host keys is asked about those of the machines that the verb talks to, and of no others.
func TestOnlyTheMachinesOfTheVerbAreAskedAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb  []string
		asked []string
		saved bool // the cluster's own deploy.yaml has both machines, the one that is named has others
	}{
		{verb: []string{"deploy", "--limit", "n2"}, asked: []string{"n1", "n2"}}, // preflight looks at every machine
		{verb: []string{"cleanup", "--yes"}, asked: []string{"n1", "n2"}},
		{verb: []string{"cleanup", "--yes", "--node", "n2"}, asked: []string{"n2"}},
		{verb: []string{"cleanup", "--yes", "--limit", "n2"}, asked: []string{"n2"}},
		{verb: []string{"cleanup", "--node", "n2"}, asked: []string{"n2"}},
		{verb: []string{"etcd", "snapshot"}, asked: []string{"n1"}},
		{verb: []string{"delete", "n2", "--yes"}, asked: []string{"n1", "n2"}, saved: true},
	} {
		t.Run(strings.Join(c.verb, " "), func(t *testing.T) {
			t.Parallel()
			state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
			write := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(file, pair(t))
			if c.saved {
				if err := os.Mkdir(filepath.Join(state, "away"), 0o700); err != nil {
					t.Fatal(err)
				}
				write(filepath.Join(state, "away", store.ConfigName), pair(t))
				write(file, strings.Replace(operationtest.Nobody, "eggo: {password-from: prompt}", "password: x", 1))
			}
			f, cmd := atPTY(t, append(c.verb, "-f", file, "--state-dir", state)...)
			defer func() {
				go func() { _, _ = io.Copy(io.Discard, f) }()
				_ = cmd.Wait()
			}()
			seen := until(t, f, "Which keys do you trust?")
			_, table, _ := strings.Cut(seen, "Connecting to") // what stands before it are the warnings of deploy.yaml
			for _, name := range []string{"n1", "n2"} {
				if strings.Contains(table, " "+name+" ") != slices.Contains(c.asked, name) {
					t.Errorf("of %v are asked about:\n%s", c.asked, seen)
				}
			}
			answer(t, f, "n")
		})
	}
}

// A machine that the cluster does not have any more is contacted for its cleanup, and the cluster's are not.
func TestCleanupOfAMachineAlone(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
	if err := os.WriteFile(file, []byte(pair(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, cmd := atPTY(t, "cleanup", "--yes", "--node", "127.0.0.9", "-f", file, "--state-dir", state)
	until(t, f, "Connecting to 1 node ") // of two that the cluster has
	go func() { _, _ = io.Copy(io.Discard, f) }()
	_ = cmd.Wait()
	_, end := lastRun(t, state)
	if end == nil || end.Fault == nil || end.Fault.Class == event.ClassAuth {
		t.Errorf("it ended with %+v", end)
	}
}

// The name at cleanup, and the yes at delete, are asked for before there is a run; a wrong one begins none.
func TestConfirmationsComeBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb           []string
		asked, no, yes string
		long           bool // the run asks for the API server, which is not there: it is aborted
	}{
		{verb: []string{"cleanup"}, asked: "Type the cluster's name (away)", no: "home", yes: "away"},
		{verb: []string{"delete", "n2"}, asked: "[y/N]", no: "n", yes: "y", long: true},
	} {
		t.Run(c.verb[0], func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			file := filepath.Join(t.TempDir(), "deploy.yaml")
			text := strings.NewReplacer("eggo: {password-from: prompt}", "password: x",
				"nodes: [", "nodes: [{name: n2, ip: 127.0.0.2, port: 1, arch: amd64}, ").Replace(operationtest.Nobody)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, said := range []string{c.no, c.yes} {
				f, cmd := atPTY(t, append(c.verb, "-f", file, "--state-dir", state)...)
				until(t, f, c.asked)
				answer(t, f, said)
				go func() { _, _ = io.Copy(io.Discard, f) }()
				if said == c.yes && c.long {
					s := &stage{t: t, cmd: cmd, state: state}
					waitFor[event.StepStarted](s)
					s.signal(syscall.SIGINT) // two of a kind may come as one
					s.signal(syscall.SIGTERM)
				}
				_ = cmd.Wait()
				if id, end := lastRun(t, state); (id != "") != (said == c.yes) || end == nil && id != "" {
					t.Errorf("%v: after %q there is the run %q, ended %+v", c.verb, said, id, end)
				}
			}
		})
	}
}

// A cluster whose lock another run holds is told of before anything is asked.
func TestALockedClusterAsksNothing(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "deploy.yaml")
	text := strings.Replace(operationtest.Nobody, "eggo: {password-from: prompt}", "password: x", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := journal.Open(state, "away")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := store.Lock(whoami("test"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	f, cmd := atPTY(t, "cleanup", "-f", file, "--state-dir", state)
	if seen := until(t, f, "lock.cluster-held"); strings.Contains(seen, "Type the cluster's name") {
		t.Error(seen)
	}
	go func() { _, _ = io.Copy(io.Discard, f) }()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 11 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
}

// stuck is a writer that takes nothing until it is let go.
type stuck struct{ gone chan struct{} }

func (s stuck) Write(p []byte) (int, error) { <-s.gone; return len(p), nil }

// What stdout does not take is given up when the run is over, with the number of events and the command that shows
// them; a stderr that takes nothing either is in nobody's way.
func TestWhatCannotBeShownIsGivenUp(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	defer close(gone)
	store, err := journal.Open(t.TempDir(), "rack")
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	for _, e := range []event.Event{event.RunStarted{Run: log.ID(), Cluster: "rack", Verb: "deploy"},
		event.RunEnded{Outcome: event.OK}} {
		if err := bus.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	for _, stderr := range []io.Writer{&said, newUnhurried(stuck{gone})} {
		env := &environment{Stdout: stuck{gone}, Stderr: stderr, Args: []string{"eggo-tui"},
			P: i18n.NewPrinter(i18n.English), State: "/srv/state"}
		w := newFollower(env, "json", request.Ref{Cluster: "rack", Run: log.ID()}, log.Dir())
		w.patience = time.Millisecond
		w.start()
		w.end()
	}
	if want := "2 events are not shown. To see all events: eggo-tui logs --id rack --state-dir /srv/state " +
		log.ID(); !strings.Contains(said.String(), want) {
		t.Errorf("%q is not in %q", want, said.String())
	}
}
