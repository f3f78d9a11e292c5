// Command screen measures the run board: a process writes the event log of a run with many machines, as fast as is
// said, and the board of another process shows it meanwhile, as attach does. It reports, it asserts nothing but that no
// event is lost.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

func main() {
	nodes := flag.Int("nodes", 100, "machines")
	rate := flag.Int("rate", 2000, "events a second")
	long := flag.Duration("for", time.Minute, "how long")
	lines := flag.Int("lines", 1_000_000, "lines of the long log")
	write := flag.String("write", "", "be the process that writes a run into this state directory")
	flag.Parse()
	var err error
	if *write != "" {
		err = writer(*write, *nodes, *rate, *long)
	} else {
		err = measure(*nodes, *rate, *long, *lines)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
}

// writer is the process that does a run: it prints the run's directory first, and at the end how many events it wrote.
func writer(state string, nodes, rate int, long time.Duration) error {
	store, err := journal.Open(state, "bench")
	if err != nil {
		return err
	}
	log, err := store.NewRun("deploy", time.Now())
	if err != nil {
		return err
	}
	defer log.Close()
	n := 0
	bus := event.NewBus(nil, log)
	emit := func(e event.Event) {
		if err == nil {
			err = bus.Emit(e)
			n++
		}
	}
	emit(event.RunStarted{Run: log.ID(), Cluster: "bench", Verb: "deploy"})
	emit(plan(nodes))
	emit(event.PhaseStarted{Phase: "infrastructure"})
	fmt.Println(log.Dir())
	began := time.Now()
	for i := 0; time.Since(began) < long && err == nil; i++ {
		for due := began.Add(time.Duration(i) * time.Second / time.Duration(rate)); time.Until(
			due) > time.Millisecond; {
			time.Sleep(time.Until(due))
		}
		emit(happening(i, nodes))
	}
	emit(event.RunEnded{Outcome: event.Changed})
	fmt.Println(n)
	return err
}

// stepsEach is how many steps each machine has.
const stepsEach = 20

func step(node, k int) string { return fmt.Sprintf("infrastructure.step-%d/node-%d", k, node) }

func plan(nodes int) event.PlanMade {
	p := event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M("phase.infrastructure")}}}
	for n := range nodes {
		p.Hosts = append(p.Hosts, event.Host{Name: fmt.Sprintf("node-%d", n), Addr: fmt.Sprintf("192.0.2.%d", n),
			Roles: []string{"worker"}})
		for k := range stepsEach {
			p.Steps = append(p.Steps, event.Step{ID: step(n, k), Phase: "infrastructure",
				Host: fmt.Sprintf("node-%d", n), Title: event.M("step.infrastructure.packages", "node",
					fmt.Sprintf("node-%d", n))})
		}
	}
	return p
}

// happening is what happens next: lines mostly, transfers, and now and then a step that begins or ends.
func happening(i, nodes int) event.Event {
	n, round := i%nodes, i/nodes
	host, k := fmt.Sprintf("node-%d", n), (round/60)%stepsEach
	switch round % 60 {
	case 0:
		return event.StepStarted{Step: step(n, k), Try: 1}
	case 59:
		return event.StepEnded{Step: step(n, k), Outcome: event.Changed, Took: 3 * time.Second}
	}
	if round%10 == 5 {
		return event.Progress{Host: host, Step: step(n, k), What: "images.tar", Done: int64(round%60) << 20,
			Total: 60 << 20}
	}
	return event.Output{Host: host, Step: step(n, k), Stream: "stdout",
		Line: fmt.Sprintf("Setting up something-%d (1.%d.%d-1) ... 正在设置", i, round, n)}
}

// watch is a stopwatch: how long calls took, and how much CPU time of it was theirs. On a busy machine the first is
// longer.
type watch struct{ wall, cpu []time.Duration }

func (w *watch) over(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, used := time.Now(), own()
	do()
	w.wall, w.cpu = append(w.wall, time.Since(began)), append(w.cpu, own()-used)
}

// own is the CPU time of this thread so far.
func own() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // it cannot fail for oneself
	return time.Duration(t.Nano())
}

// timed is the model with stopwatches.
type timed struct {
	*ui.App
	update, view *watch
}

func (t timed) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	var c tea.Cmd
	t.update.over(func() { _, c = t.App.Update(m) })
	return t, c
}

func (t timed) View() tea.View {
	var v tea.View
	t.view.over(func() { v = t.App.View() })
	return v
}

// counter is a terminal that only counts.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

func measure(nodes, rate int, long time.Duration, lines int) error {
	dir, err := os.MkdirTemp("", "eggo-screen-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	child := exec.Command(os.Args[0], "-write", dir, "-nodes", strconv.Itoa(nodes), "-rate", strconv.Itoa(rate), "-for",
		long.String())
	child.Stderr = os.Stderr
	pipe, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	said := bufio.NewScanner(pipe)
	if !said.Scan() {
		return fmt.Errorf("the writer says nothing: %w", child.Wait())
	}
	log, err := os.Open(filepath.Join(said.Text(), "events.jsonl"))
	if err != nil {
		return err
	}
	defer log.Close()
	page := runview.New(backend.Board{Feed: &backend.Live{From: journal.NewReader(log, log.Name())}})
	var update, view watch
	var out counter
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	prog := tea.NewProgram(timed{ui.New(page, ui.Options{Lang: i18n.English}), &update, &view}, tea.WithContext(ctx),
		tea.WithInput(nil), tea.WithOutput(&out),
		tea.WithWindowSize(200, 60), tea.WithColorProfile(colorprofile.TrueColor), tea.WithoutSignalHandler())
	done := make(chan error, 1)
	began, cpu := time.Now(), spent()
	go func() { _, err := prog.Run(); done <- err }()
	said.Scan()
	wrote, err := strconv.Atoi(said.Text())
	if err != nil {
		return err
	}
	if err := child.Wait(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond) // five looks at the feed
	took, used := time.Since(began), spent()-cpu
	prog.Quit()
	if err := <-done; err != nil {
		return err
	}
	read := int(page.State().Seq)
	fmt.Printf("%d machines, %d events in %s (%.0f a second), a screen of 200×60, %d bytes to the terminal\n", nodes,
		wrote, took.Round(time.Second), float64(wrote)/took.Seconds(), out.n.Load())
	report("Update", update.wall)
	report("  CPU", update.cpu)
	report("View", view.wall)
	report("  CPU", view.cpu)
	fmt.Printf("  CPU       %5.1f %% of one core\n  memory    %5.1f MiB resident at most\n  lost      %5d events\n",
		100*used.Seconds()/took.Seconds(), float64(most())/1024, wrote-read)
	if wrote != read {
		return fmt.Errorf("%d events were written and %d read", wrote, read)
	}
	return longLog(filepath.Join(dir, "long.log"), lines)
}

// longLog opens a log of many lines at its end, and goes up page by page, down, and from end to end.
func longLog(path string, lines int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range lines {
		fmt.Fprintf(w,
			"2026-11-21T10:00:00.000Z infrastructure.packages/n1 stdout| Setting up something-%d (1.2.3-4) ... "+
				"正在设置，请稍候\n", i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	src := backend.LogFile{File: f}
	size, err := src.Size()
	if err != nil {
		return err
	}
	runtime.GC()
	l := logview.New(theme.New(theme.Options{Dark: true}))
	l.Wrap = true
	l.Render(200, 60, "")
	began := time.Now()
	l.Take(logview.Load(src, -1)())
	l.Render(200, 60, "")
	fmt.Printf("a log of %d lines, %.0f MiB\n  opened at its end in %s\n", lines, float64(size)/(1<<20),
		time.Since(began).Round(10*time.Microsecond))
	var pages watch
	for i := range 4000 {
		n := -58
		if i >= 3000 {
			n = 58
		}
		pages.over(func() {
			if at := l.Move(n); at >= 0 {
				l.Take(logview.Load(src, at)())
			}
			l.Render(200, 60, "")
		})
	}
	report("a page", pages.wall)
	report("  CPU", pages.cpu)
	began = time.Now()
	l.Follow = false
	c := logview.Find(src, -1, false, func(b []byte) bool { return false })()
	fmt.Printf("  searched  from end to end in vain in %s (beside the screen)\n",
		time.Since(began).Round(time.Millisecond))
	if c.Err != nil && c.Err != io.EOF {
		return c.Err
	}
	return nil
}

func report(what string, list []time.Duration) {
	if len(list) == 0 {
		return
	}
	list = slices.Sorted(slices.Values(list))
	at := func(p float64) time.Duration {
		return list[min(len(list)-1, int(p*float64(len(list))))].Round(time.Microsecond)
	}
	fmt.Printf("  %-8s  %6d times, median %s, 99 %% within %s, at most %s\n", what, len(list), at(0.5), at(0.99), at(1))
}

// spent is the CPU time of this process so far.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// most is the most memory that this process had resident, in KiB.
func most() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Maxrss
}
