package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// terminal is a real terminal that a person sits at: tmux, with a shell in it.
type terminal struct {
	t    *testing.T
	s    *stand.Stand
	name string
	home string // where the shell begins
}

// prompt of the shell, unlike anything that a program draws.
const prompt = "jump-host>"

// sit opens a terminal in which eggo-tui keeps its state where the stand does.
func sit(t *testing.T, s *stand.Stand, lang string) *terminal {
	t.Helper()
	must(t, "tmux", s.Lab.Provide(t.Context(), "tmux", "tmux"))
	x := &terminal{t, s, fmt.Sprintf("eggo-e2e-%d-%d", os.Getpid(), time.Now().UnixNano()),
		filepath.Join(s.Dir, "home-"+lang)}
	must(t, "home", os.MkdirAll(x.home, 0o700))
	rc := filepath.Join(s.Dir, "rc-"+lang)
	must(t, "rc", os.WriteFile(rc, fmt.Appendf(nil,
		"PS1='%s '\nunset VISUAL EDITOR PAGER NO_COLOR ACCESSIBLE EGGO_ASCII\nexport HOME=%q LC_ALL=C.UTF-8 "+
			"EGGO_LANG=%s\ncd\neggo-tui() { %q \"$@\" --state-dir %q; }\n",
		prompt, x.home, lang, s.Program("eggo-tui"), s.State()), 0o600))
	t.Cleanup(func() { _ = x.tmux(context.WithoutCancel(t.Context()), "kill-server").Run() })
	if out, err := x.tmux(t.Context(), "-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "120", "-y", "40",
		"bash", "--noprofile", "--rcfile", rc).CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	x.see(time.Minute, prompt)
	return x
}

func (x *terminal) tmux(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "tmux", append([]string{"-L", x.name, "-u"}, args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	return c
}

// screen is what the person sees.
func (x *terminal) screen() string {
	// the end of the program is seen by what is not there
	out, _ := x.tmux(x.t.Context(), "capture-pane", "-p", "-t", "t").Output()
	return string(out)
}

// see waits until all the words are on the screen.
func (x *terminal) see(limit time.Duration, words ...string) {
	x.t.Helper()
	x.seeWhat(limit, strings.Join(words, ", "), func(screen string) error {
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return fmt.Errorf("%q is not on the screen", w)
			}
		}
		return nil
	})
}

// seeWhat waits until the screen is as it is to be.
func (x *terminal) seeWhat(limit time.Duration, what string, is func(screen string) error) {
	x.t.Helper()
	last := ""
	err := stand.Until(x.t.Context(), limit, what, func(context.Context) error {
		last = x.screen()
		return is(last)
	})
	if err != nil {
		x.t.Fatalf("%v\n%s", err, last)
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

// command types a command line at the shell.
func (x *terminal) command(line string) {
	x.t.Helper()
	x.press("C-l")
	must(x.t, "history", x.tmux(x.t.Context(), "clear-history", "-t", "t").Run())
	x.write(line)
	x.press("Enter")
}

// back waits until the program has ended and the shell asks again, with words above it that the program left there.
func (x *terminal) back(limit time.Duration, words ...string) {
	x.t.Helper()
	x.seeWhat(limit, "the shell's prompt, after "+strings.Join(words, ", "), func(string) error {
		// with what has scrolled away
		out, err := x.tmux(x.t.Context(), "capture-pane", "-p", "-S", "-", "-t", "t").Output()
		if err != nil {
			return err
		}
		screen := string(out)
		if !strings.HasSuffix(strings.TrimSpace(screen), prompt) {
			return fmt.Errorf("the program has not ended")
		}
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return fmt.Errorf("%q is not left on the screen", w)
			}
		}
		return nil
	})
}

// choose takes an entry of the menu by its number.
func (x *terminal) choose(entry string) {
	x.t.Helper()
	row := regexp.MustCompile(`(?m)^.{0,3} *([0-9w])  ` + regexp.QuoteMeta(entry))
	number := ""
	x.seeWhat(time.Minute, "the menu's "+entry, func(screen string) error {
		m := row.FindStringSubmatch(screen)
		if m == nil {
			return fmt.Errorf("it has no such entry")
		}
		number = m[1]
		return nil
	})
	x.press(number)
}

// kill ends the terminal and the program in it as nobody would ask them to: without a word.
func (x *terminal) kill() {
	x.t.Helper()
	out, err := x.tmux(x.t.Context(), "display-message", "-p", "-t", "t", "#{pane_pid}").Output()
	must(x.t, "the shell", err)
	shell := strings.TrimSpace(string(out))
	children, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
	must(x.t, "the program in the terminal", err)
	list := strings.Fields(string(children))
	if len(list) != 1 {
		x.t.Fatalf("not one program runs in the terminal: %q", children)
	}
	pid, err := strconv.Atoi(list[0])
	must(x.t, "the program in the terminal", err)
	must(x.t, "kill", syscall.Kill(pid, syscall.SIGKILL))
	must(x.t, "the terminal's end", x.tmux(x.t.Context(), "kill-server").Run())
}

// await watches the newest run of a cluster until enough says so of its records.
func await(t *testing.T, s *stand.Stand, cluster string, limit time.Duration, what string,
	enough func([]event.Record) bool) []event.Record {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		runs, err := stand.Runs(s.State(), cluster)
		if err == nil && len(runs) > 0 && enough(runs[len(runs)-1]) {
			return runs[len(runs)-1]
		}
		if time.Now().After(end) || t.Context().Err() != nil {
			t.Fatalf("%s: not within %s (%v)", what, limit, err)
		}
	}
}
