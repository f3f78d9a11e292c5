package remote_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// cut adds up what the notices say was left out.
func (h *heard) cut() (lines, bytes int) {
	for _, e := range h.all() {
		if n, ok := e.(event.Notice); ok && n.Text.Key == event.OutputCut {
			l, _ := strconv.Atoi(n.Text.Args["lines"])
			b, _ := strconv.Atoi(n.Text.Args["bytes"])
			lines, bytes = lines+l, bytes+b
		}
	}
	return lines, bytes
}

func (h *heard) full() (limits []string) {
	for _, e := range h.all() {
		if n, ok := e.(event.Notice); ok {
			if limit, yes := strings.CutPrefix(n.Text.Key, "output.full-"); yes {
				limits = append(limits, limit)
			}
		}
	}
	return limits
}

// A step that prints without end costs a few MiB of the control host's disk; it goes on, its status counts, and its
// last words are there.
func TestAFloodOfOutputIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		way  func(*testing.T) (remote.Target, remote.Options)
	}{
		{"sshd", func(t *testing.T) (remote.Target, remote.Options) { return sshd(t, "") }},
		{"in process", func(t *testing.T) (remote.Target, remote.Options) {
			s := remotetest.New(t)
			return target(s), options(t, s)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tg, o := c.way(t)
			clusters, err := journal.Open(t.TempDir(), "c")
			if err != nil {
				t.Fatal(err)
			}
			log, err := clusters.NewRun("deploy", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			bus := event.NewBus(nil, log)
			o.Emit = func(e event.Event) { _ = bus.Emit(e) }
			ctx := moving(t, &o)
			h := dial(t, tg, o)
			r, err := h.Run(ctx,
				shell.Command{Script: "echo first >&2\nyes | head -c 60000000 >&2\nyes no | head -c 30000000\necho " +
					"'disk is full' >&2\nexit 3"})
			if err != nil || r.Status != 3 || !strings.HasSuffix(string(r.Stderr), "\ndisk is full\n") ||
				!strings.HasSuffix(string(r.Stdout), "no\n") {
				t.Fatalf("status %d, %.40q, %v", r.Status, r.Stderr, err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			size := int64(0)
			_ = filepath.WalkDir(log.Dir(), func(path string, d os.DirEntry, _ error) error {
				if i, err := d.Info(); err == nil && !d.IsDir() {
					size += i.Size()
				}
				return nil
			})
			if size > 6<<20 {
				t.Errorf("90 MB of output made %d bytes of log", size)
			}
			said, err := os.ReadFile(filepath.Join(log.Dir(), journal.NodeLog("n1")))
			if err != nil || !strings.Contains(string(said), "stderr| first\n") ||
				!strings.Contains(string(said), "stderr| disk is full\n") ||
				!strings.Contains(string(said), " lines, ") {
				t.Errorf("the node's log has neither the beginning nor the end, or does not say that something is "+
					"missing: %v", err)
			}
		})
	}
}

func TestLimitsOfOutput(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	l := &heard{}
	o.Emit = l.emit
	o.Shared = remote.NewShared(remote.Limits{Step: 100 << 10, Node: 150 << 10, Run: 220 << 10})
	step := "a"
	o.Step = func(context.Context) string { return step }
	first := dial(t, target(s), o)
	// A step that is within its limit loses nothing.
	run(t, first, "seq 200")
	if lines, _ := l.cut(); lines != 0 || len(l.lines()) != 200 {
		t.Fatalf("%d lines, %d cut", len(l.lines()), lines)
	}
	// The same step, tried again, has what is left.
	run(t, first, "seq 10000; seq 10000 >&2")
	lines, bytes := l.cut()
	shown := len(l.lines()) - 200
	if lines+shown != 20000 || shown > 700 || bytes < 80000 {
		t.Errorf("%d shown and %d cut (%d bytes) of 20000", shown, lines, bytes)
	}
	all := strings.Join(l.lines(), "\n")
	if !strings.Contains(all, "stdout: 10000") || !strings.Contains(all, "stderr: 10000") {
		t.Error("the last lines are missing")
	}
	step = "b"
	run(t, first, "seq 10000")
	step = "c"
	run(t, first, "seq 10000")
	tg := target(s)
	tg.Name = "n2"
	second := dial(t, tg, o)
	run(t, second, "seq 10000")
	if got := strings.Join(l.full(), " "); got != "step node run" {
		t.Errorf("limits: %s", got)
	}
	cost := 0
	for _, line := range l.lines() {
		cost += len(line) + 192
	}
	if cost > 300<<10 {
		t.Errorf("%d bytes of output in all", cost)
	}
	// What is in nobody's way still comes.
	if r, err := first.Run(limit(t), shell.Command{Script: "seq 300000", Quiet: true}); err != nil ||
		len(r.Stdout) != 1988895 {
		t.Errorf("%d bytes: %v", len(r.Stdout), err)
	}
}

// Without a newline the lines are cut; the last words of a command that is killed come too.
func TestLastWordsOfACommandThatIsKilled(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	l := &heard{}
	o.Emit = l.emit
	o.Shared = remote.NewShared(remote.Limits{Step: 10 << 10})
	h := dial(t, target(s), o)
	ctx, cancel := context.WithCancel(limit(t))
	defer cancel()
	flag := filepath.Join(s.Root, "there")
	go func() {
		eventually(t, "the command has spoken", func() bool { return exists(flag) })
		cancel()
	}()
	_, err := h.Run(ctx,
		shell.Command{Script: "head -c 3000000 /dev/zero | tr '\\0' x; echo; seq 1000; echo I am at the end; : >" +
			flag + "; exec sleep 1000"})
	wantFault(t, err, "ssh.cancelled")
	if all := strings.Join(l.lines(), "\n"); !strings.Contains(all[max(0, len(all)-100):], "I am at the end") {
		t.Errorf("the end is %.100q", all[max(0, len(all)-100):])
	}
}

// The last lines of commands beyond the limit are paid for, too: many commands, each with an end to show, do not get
// round the limit of a node. Each line is either there or counted, and the first commands have all of their ends.
func TestTheLastLinesOfManyCommandsAreBounded(t *testing.T) {
	t.Parallel()
	s := remotetest.New(t)
	o := options(t, s)
	l := &heard{}
	o.Emit = l.emit
	limits := remote.Limits{Step: 8 << 10, Node: 16 << 10, Tails: 48 << 10}
	o.Shared = remote.NewShared(limits)
	step := 0
	o.Step = func(context.Context) string { return strconv.Itoa(step) }
	h := dial(t, target(s), o)
	const commands, each = 40, 1000
	for step = range commands {
		run(t, h, "seq 1000; seq 1000 >&2")
	}
	cost, ends := 0, 0
	for _, line := range l.lines() {
		cost += len(line) - len("stdout: ") + 192
		if line == "stderr: 1000" {
			ends++
		}
	}
	if most := int(limits.Node + limits.Tails); cost > most {
		t.Errorf("%d bytes of output in the log of a node, of %d", cost, most)
	}
	if cut, _ := l.cut(); cut+len(l.lines()) != commands*each*2 {
		t.Errorf("%d lines logged and %d said to be missing, of %d", len(l.lines()), cut, commands*each*2)
	}
	if ends < 8 {
		t.Errorf("the end of %d commands is there", ends)
	}
	// Another node has its own.
	tg := target(s)
	tg.Name = "n2"
	run(t, dial(t, tg, o), "seq 1000")
	if all := l.lines(); all[len(all)-1] != "stdout: 1000" {
		t.Errorf("the end is %s", all[len(all)-1])
	}
}

// A command whose only line is too long for the limit says how much of it is missing.
func TestALineWithoutAnEndIsCounted(t *testing.T) {
	s := remotetest.New(t)
	o := options(t, s)
	l := &heard{}
	o.Emit = l.emit
	o.Shared = remote.NewShared(remote.Limits{Step: 1 << 10, Tails: 1 << 10})
	run(t, dial(t, target(s), o), "head -c 3000000 /dev/zero | tr '\\0' x")
	if lines, bytes := l.cut(); lines == 0 || bytes < 2_900_000 {
		t.Errorf("%d lines, %d bytes missing; logged %d", lines, bytes, len(l.lines()))
	}
}
