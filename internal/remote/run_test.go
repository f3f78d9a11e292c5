package remote_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// shells are the POSIX shells of this machine under the name sh, each in a directory of its own. That of busybox has
// its applets too, in place of coreutils.
func shells(t *testing.T) map[string]string {
	dirs := map[string]string{}
	for _, name := range []string{"dash", "bash", "busybox"} {
		bin, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		dir := t.TempDir()
		names := []string{"sh"}
		if name == "busybox" {
			list, err := exec.Command(bin, "--list").Output()
			if err != nil {
				t.Fatal(err)
			}
			names = strings.Fields(string(list))
		}
		for _, n := range names {
			if err := os.Symlink(bin, filepath.Join(dir, n)); err != nil {
				t.Fatal(err)
			}
		}
		dirs[name] = dir
	}
	if len(dirs) == 0 {
		dirs["sh"] = t.TempDir()
	}
	return dirs
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			h := dial(t, target(s), options(t, s))
			for _, c := range []struct {
				name string
				cmd  shell.Command
				want shell.Result
			}{
				{"status", shell.Command{Script: "exit 7"}, shell.Result{Status: 7}},
				{"streams apart", shell.Command{Script: "echo out; echo err >&2"},
					shell.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
				{"no newline at the end", shell.Command{Script: "printf a; printf b >&2"},
					shell.Result{Stdout: []byte("a"), Stderr: []byte("b")}},
				{"nothing", shell.Command{}, shell.Result{}},
				{"a comment at the end", shell.Command{Script: "echo x # y"}, shell.Result{Stdout: []byte("x\n")}},
				{"stdin", shell.Command{Script: "cat; echo .", Stdin: []byte("a\x00b\n")},
					shell.Result{Stdout: []byte("a\x00b\n.\n")}},
				{"stdin is never the session's", shell.Command{Script: "cat; read x || echo none"},
					shell.Result{Stdout: []byte("none\n")}},
				{"stdin that nobody reads", shell.Command{Script: "exit 3", Stdin: make([]byte, 300_000)},
					shell.Result{Status: 3}},
				{"a script as long as a file", shell.Command{Script: strings.Repeat(": 12345678\n", 20_000) +
					"echo end"}, shell.Result{Stdout: []byte("end\n")}},
				{"here-documents", shell.Command{Script: "cat <<E\nit's $((1+1))\nE\n"},
					shell.Result{Stdout: []byte("it's 2\n")}},
				{"set -e", shell.Command{Script: "set -eu; false; echo no"}, shell.Result{Status: 1}},
				{"killed by a signal", shell.Command{Script: "sh -c 'kill -9 $$'"}, shell.Result{Status: 137}},
				{"nothing of the last one stays", shell.Command{Script: `echo "${LEFT-unset} $#"`},
					shell.Result{Stdout: []byte("unset 0\n")}},
			} {
				t.Run(c.name, func(t *testing.T) {
					run(t, h, "LEFT=over; export LEFT; cd /tmp; set -- 1 2")
					got, err := h.Run(limit(t), c.cmd)
					if err != nil {
						t.Fatal(err)
					}
					if c.name == "killed by a signal" {
						got.Stderr = nil // some shells say so
					}
					if !bytes.Equal(got.Stdout, c.want.Stdout) || !bytes.Equal(got.Stderr, c.want.Stderr) ||
						got.Status != c.want.Status {
						t.Errorf("got %.200q %.200q %d, want %.200q %.200q %d", got.Stdout, got.Stderr, got.Status,
							c.want.Stdout, c.want.Stderr, c.want.Status)
					}
				})
			}
			if r := run(t, h, "if then fi"); r.Status != 2 || len(r.Stderr) == 0 {
				t.Errorf("a syntax error: status %d, %q", r.Status, r.Stderr)
			}
			if n := s.Sessions(); n != 1 {
				t.Errorf("%d sessions were opened", n)
			}
		})
	}
}

// hostile are values that break a careless quoting, each in several company.
func hostile() []string {
	seeds := []string{"$(touch /tmp/eggo-was-here)", "`id`", "'", "\"", "\\", "\n", "\r\n", "\t", "!", "!!", "$HOME",
		"${x}", "$'a'", "-n", "-e a", "--", "*", "?", "[a]", "~",
		"{a,b}", "#", ";", "&", "&&", "|", "<", ">", "(", ")", "=", "a=b", " ", "", "\x01", "\x1b[31m", "\x7f",
		"\x80\xff", "\u202e", "世界", "%s", "%", "\\n", "\\0",
		"'\\''", "EOF", ".", "q", "l", "\n.\n", "\nq\n", "d 1 5\n", "[sudo] password for x: ", "eg_m", "x\n", "\n\n"}
	var all []string
	for i, a := range seeds {
		all = append(all, a, "a"+a+"b", a+a, a+"\n", "\n"+a, " "+a+" ", "'"+a+"'", "\""+a, a+seeds[(i*7+3)%len(seeds)],
			"\\"+a, "$"+a)
	}
	return append(all, strings.Repeat("'", 1000), strings.Repeat("é\n", 5000))
}

func TestHostileValues(t *testing.T) {
	t.Parallel()
	all := hostile()
	if len(all) < 601 {
		t.Fatalf("%d values", len(all))
	}
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			h := dial(t, target(s), options(t, s))
			// Many at once through Env, and all of them as input.
			env := map[string]string{}
			var script strings.Builder
			var want bytes.Buffer
			for i, v := range all {
				env["V"+strconv.Itoa(i)] = v
				fmt.Fprintf(&script, "printf '%%s\\0' \"$V%d\"\n", i)
				want.WriteString(v + "\x00")
			}
			r, err := h.Run(limit(t), shell.Command{Script: script.String(), Env: env, Quiet: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(want.String(), "\x00"),
				strings.Split(string(r.Stdout), "\x00")); diff != "" {
				t.Error(diff)
			}
			r, err = h.Run(limit(t), shell.Command{Script: "cat", Stdin: want.Bytes(), Quiet: true})
			if err != nil || !bytes.Equal(r.Stdout, want.Bytes()) {
				t.Errorf("input came back different (%v)", err)
			}
			if exists("/tmp/eggo-was-here") {
				t.Error("a value was executed")
			}
		})
	}
}

func TestBadCommands(t *testing.T) {
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	for name, c := range map[string]shell.Command{
		"a NUL in the script": {Script: "echo \x00"},
		"a NUL in a value":    {Env: map[string]string{"A": "\x00"}},
		"a bad name":          {Env: map[string]string{"A;id": "x"}},
		"too much input":      {Stdin: make([]byte, 17<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.Run(limit(t), c)
			wantFault(t, err, "ssh.bad-command")
		})
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	t.Run("binary", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		in := make([]byte, 1<<20)
		_, _ = rand.Read(in)
		r, err := h.Run(limit(t), shell.Command{Script: "cat", Stdin: in, Quiet: true})
		if err != nil || !bytes.Equal(r.Stdout, in) {
			t.Fatalf("%d of %d bytes, %v", len(r.Stdout), len(in), err)
		}
	})
	t.Run("lines are clean and in pieces", func(t *testing.T) {
		s := remotetest.New(t)
		ev := &heard{}
		o := options(t, s)
		o.Emit = ev.emit
		h := dial(t, target(s), o)
		run(t, h, `printf 'a\033[31mb\n10%%\r20%%\r\nend'; head -c 400000 /dev/zero | tr '\0' x >&2`)
		var out, errs []string
		for _, l := range ev.lines() {
			if rest, ok := strings.CutPrefix(l, "stdout: "); ok {
				out = append(out, rest)
			} else {
				errs = append(errs, strings.TrimPrefix(l, "stderr: "))
			}
		}
		if diff := cmp.Diff([]string{"a[31mb", "20%", "end"}, out); diff != "" {
			t.Error(diff)
		}
		if n := len(strings.Join(errs, "")); n != 400_000 || len(errs) != 7 {
			t.Errorf("%d bytes in %d pieces", n, len(errs))
		}
	})
	t.Run("quiet and secret say nothing", func(t *testing.T) {
		s := remotetest.New(t)
		ev := &heard{}
		o := options(t, s)
		o.Emit = ev.emit
		h := dial(t, target(s), o)
		for _, c := range []shell.Command{{Script: "echo a", Quiet: true}, {Script: "echo b", Secret: true}} {
			if _, err := h.Run(limit(t), c); err != nil {
				t.Fatal(err)
			}
		}
		if l := ev.lines(); len(l) > 0 {
			t.Errorf("heard %q", l)
		}
	})
	t.Run("too large", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		_, err := h.Run(limit(t), shell.Command{Script: "head -c 100000000 /dev/zero; sleep 1000", Quiet: true})
		wantFault(t, err, "ssh.output-too-large")
		if r := run(t, h, "echo still"); string(r.Stdout) != "still\n" {
			t.Errorf("then %q", r.Stdout)
		}
	})
	t.Run("the end of a flood of errors", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		r, err := h.Run(limit(t), shell.Command{Script: "head -c 3000000 /dev/zero >&2; echo end >&2", Quiet: true})
		if err != nil || len(r.Stderr) != 64<<10 || !bytes.HasSuffix(r.Stderr, []byte("\x00end\n")) {
			t.Errorf("%d bytes, %v", len(r.Stderr), err)
		}
	})
}

func TestManyCommandsOneSession(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	start := time.Now()
	for i := range 120 {
		want := strconv.Itoa(i)
		r, err := h.Run(limit(t), shell.Command{Script: "echo $A; cat", Env: map[string]string{"A": want},
			Stdin: []byte(want)})
		if err != nil || string(r.Stdout) != want+"\n"+want {
			t.Fatalf("%d: %q %v", i, r.Stdout, err)
		}
	}
	t.Logf("%v a command", time.Since(start)/120)
	if s.Connections() != 1 || s.Sessions() != 1 {
		t.Errorf("%d connections, %d sessions", s.Connections(), s.Sessions())
	}
}

func TestSideBySide(t *testing.T) {
	s := remotetest.New(t)
	h := dial(t, target(s), options(t, s))
	got := make(chan error, 8)
	for i := range cap(got) {
		go func() {
			r, err := h.Run(limit(t), shell.Command{Script: "echo " + strconv.Itoa(i)})
			if err == nil && string(r.Stdout) != strconv.Itoa(i)+"\n" {
				err = errors.New(string(r.Stdout))
			}
			got <- err
		}()
	}
	for range cap(got) {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}

// A child that keeps the streams neither holds the command nor writes into the next one's output.
func TestChildLeftBehind(t *testing.T) {
	for name, dir := range shells(t) {
		t.Run(name, func(t *testing.T) {
			s := remotetest.New(t, remotetest.WithPath(dir))
			h := dial(t, target(s), options(t, s))
			start := time.Now()
			r := run(t, h, `(trap '' TERM PIPE; while :; do echo noise; echo noise >&2; sleep 0.01; done) & echo $!`)
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
			f := strings.Fields(strings.ReplaceAll(string(r.Stdout), "noise", ""))
			child, err := strconv.Atoi(f[0])
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
			for range 20 {
				if r := run(t, h, "echo mine"); string(r.Stdout) != "mine\n" || len(r.Stderr) > 0 {
					t.Fatalf("%q %q", r.Stdout, r.Stderr)
				}
			}
		})
	}
}

// pidIn reads a process number that a remote script wrote to a file.
func pidIn(t *testing.T, file string) int {
	var pid int
	eventually(t, file+" holds a number", func() bool {
		b, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid > 0 && bytes.HasSuffix(b, []byte("\n"))
	})
	return pid
}

// gone says that a process has ended; one that nobody has waited for yet counts.
func gone(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(b, []byte(") Z "))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a child":             `sleep 1000 & echo $! >"$F"; wait`,
		"in the foreground":   `sh -c 'echo $$ >"$F"; exec sleep 1000'`,
		"one that ignores it": `trap '' TERM; sh -c 'echo $$ >"$F"; while :; do sleep 0.1; done'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := remotetest.New(t)
			o := options(t, s)
			if strings.HasPrefix(script, "trap") { // this one is waited for
				o.Timeouts.Kill = 4 * time.Second
			}
			h := dial(t, target(s), o)
			file := filepath.Join(s.Root, "pid")
			ctx, cancel := context.WithCancel(limit(t))
			got := make(chan error, 1)
			go func() {
				_, err := h.Run(ctx, shell.Command{Script: script, Env: map[string]string{"F": file}})
				got <- err
			}()
			pid := pidIn(t, file)
			cancel()
			err := <-got
			wantFault(t, err, "ssh.cancelled")
			if !errors.Is(err, context.Canceled) {
				t.Error("the cause is lost")
			}
			eventually(t, "the remote process ends", func() bool { return gone(pid) })
			if r := run(t, h, "echo again"); string(r.Stdout) != "again\n" {
				t.Errorf("then %q", r.Stdout)
			}
			if s.Connections() != 1 {
				t.Error("it took another connection")
			}
		})
	}
	t.Run("a limit of time", func(t *testing.T) {
		s := remotetest.New(t)
		h := dial(t, target(s), options(t, s))
		ctx, cancel := context.WithTimeout(limit(t), 50*time.Millisecond)
		defer cancel()
		_, err := h.Run(ctx, shell.Command{Script: "sleep 1000"})
		if f := wantFault(t, err, "ssh.time-limit"); !f.Retry {
			t.Error("not worth another try")
		}
	})
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	o.Timeouts.Lease = 4 * time.Second
	h := dial(t, target(s), o)
	if r := run(t, h, "kill -9 0"); r.Status != 137 {
		t.Errorf("status %d", r.Status)
	}
	if r := run(t, h, "echo again"); string(r.Stdout) != "again\n" {
		t.Errorf("then %q", r.Stdout)
	}
}
