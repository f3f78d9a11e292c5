package runview_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

var start = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// stand is a run that a test tells, a person who watches it, and a controller that notes what the person decides.
type stand struct {
	t       *testing.T
	app     *ui.App
	page    *runview.Page
	now     time.Time
	seq     uint64
	wait    []event.Record
	said    []string
	refuses error
	bells   int
	clip    string
	quit    bool
}

func (s *stand) Decide(step string, d event.Decision) error {
	s.said = append(s.said, step+" "+string(d))
	return s.refuses
}
func (s *stand) Stop() error  { s.said = append(s.said, "stop"); return s.refuses }
func (s *stand) Abort() error { s.said = append(s.said, "abort"); return s.refuses }

// Take implements backend.Feed.
func (s *stand) Take(int) ([]event.Record, error) {
	out := s.wait
	s.wait = nil
	return out, nil
}

// happens adds events and has the page look at its feed.
func (s *stand) happens(list ...event.Event) {
	s.t.Helper()
	for _, e := range list {
		s.seq++
		s.wait = append(s.wait, event.Record{Seq: s.seq, Time: s.now, Event: e})
	}
	s.run(s.page.Look())
}

// run does a command and all that come of it, and notes what it asks of the terminal.
func (s *stand) run(c tea.Cmd) {
	s.t.Helper()
	if c == nil {
		return
	}
	switch m := c().(type) {
	case nil:
	case tea.QuitMsg:
		s.quit = true
	case tea.BatchMsg:
		for _, c := range m {
			s.run(c)
		}
	case tea.RawMsg:
		s.bells++
	default:
		if strings.Contains(fmt.Sprintf("%T", m), "lipboard") {
			s.clip = fmt.Sprint(m)
			return
		}
		_, next := s.app.Update(m)
		s.run(next)
	}
}

func (s *stand) keys(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		_, c := s.app.Update(uitest.Press(k))
		s.run(c)
	}
}

func (s *stand) has(words ...string)   { s.t.Helper(); uitest.Has(s.t, s.app, words...) }
func (s *stand) lacks(words ...string) { s.t.Helper(); uitest.Lacks(s.t, s.app, words...) }

// begin is a run of three machines that are all at work.
func begin(t *testing.T, set func(*stand, *backend.Board)) *stand {
	t.Helper()
	s := &stand{t: t, now: start}
	o := backend.Board{Feed: s, Control: s, NodeLog: func(host string) (backend.NodeLog, error) {
		return backend.LogText("2026-11-21T02:00:00.000Z work/" + host + " stdout| first of " + host +
			"   \n2026-11-21T02:00:01.000Z other stdout| between\n2026-11-21T02:00:02.000Z work/" + host +
			" stderr| no space left\n"), nil
	}, LogPath: func(host string) string { return "/runs/x/nodes/" + host + ".log" }}
	if set != nil {
		set(s, &o)
	}
	s.page = runview.New(o).Still()
	s.app = ui.New(s.page, ui.Options{Lang: i18n.English, Now: func() time.Time { return s.now }})
	s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 110, Height: 34} })
	s.run(s.app.Init())
	plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("phase.infrastructure")}}}
	var starts []event.Event
	for i, h := range []string{"n1", "n2", "n3"} {
		plan.Hosts = append(plan.Hosts, event.Host{Name: h, Addr: fmt.Sprintf("192.0.2.%d", i+1),
			Roles: []string{"worker"}})
		for _, w := range []string{"work/", "more/"} {
			plan.Steps = append(plan.Steps, event.Step{ID: w + h, Phase: "p", Host: h,
				Title: event.M("step.infrastructure.packages", "node", h)})
		}
		starts = append(starts, event.StepStarted{Step: "work/" + h, Try: 1})
	}
	s.happens(append([]event.Event{event.RunStarted{Cluster: "rack-7", Verb: "deploy"}, plan,
		event.PhaseStarted{Phase: "p"}}, starts...)...)
	return s
}

// asks is a failure of a machine that is asked about.
func asks(host string, try int) event.Event {
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "100", "command",
		"apt-get install containerd").On(host)
	f.Cause = "No space left on device"
	return event.StepAsked{Step: "work/" + host, Try: try, Fault: *f}
}

// Two machines fail. The person is called, sees what, why and what helps, tries one again and leaves the other out; the
// third goes on.
func TestUserDecides(t *testing.T) {
	s := begin(t, nil)
	s.happens(asks("n2", 1), asks("n3", 1))
	s.has("n2: action required", "1 of 2", "apt-get install containerd", "100", "The disk is full", "df -h",
		"No output", "r retry", "s skip n2", "a stop run")
	if s.bells != 1 {
		t.Errorf("%d bells, want one for both", s.bells)
	}
	s.keys("r")
	if len(s.said) > 0 {
		t.Errorf("a key that was pressed as the panel came up decided: %v", s.said)
	}
	s.now = s.now.Add(2 * time.Second)
	s.keys("right")
	s.has("n3: action required", "2 of 2")
	s.keys("left", "r")
	s.has("n3: action required")
	s.lacks("1 of 2", "n2: action required")
	s.keys("s")
	if want := []string{"work/n2 retry", "work/n3 skip"}; !slices.Equal(s.said, want) {
		t.Errorf("decided %v, want %v", s.said, want)
	}
	s.lacks("r retry", "decide")
	s.happens(event.StepDecided{Step: "work/n2", Decision: event.TryAgain}, event.StepStarted{Step: "work/n2", Try: 2},
		event.StepDecided{Step: "work/n3", Decision: event.LeaveOut},
		event.StepEnded{Step: "work/n3", Outcome: event.Failed,
			Fault: event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "100").On("n3")})
	s.has("n3", "failed", "n2", "running")
	s.now = s.now.Add(2 * time.Second)
	s.happens(asks("n2", 2))
	s.has("n2: action required", "attempt 2")
	s.keys("esc")
	s.lacks("r retry")
	s.has("n2", "action required", "1 decision pending", "d decide")
	s.keys("d")
	s.has("n2: action required")
	s.happens(event.StepDecided{Step: "work/n2", Decision: event.GoOn},
		event.StepEnded{Step: "work/n2", Outcome: event.Changed})
	s.keys("esc", "d")
	s.has("Failed on n3", "Esc close")
	s.lacks("r retry")
}

// What is decided but does not get through is asked again; to end the run is asked twice.
func TestADecisionThatIsLostIsAskedAgain(t *testing.T) {
	s := begin(t, nil)
	s.refuses = event.NewFault(event.ClassFailed, "usage.replay", nil)
	s.happens(asks("n1", 1))
	s.now = s.now.Add(time.Minute)
	s.keys("r")
	s.has("n1: action required", "--replay must be")
	s.refuses = nil
	s.keys("a")
	s.has("Stop the run?")
	s.keys("enter")
	if slices.Contains(s.said, "work/n1 abort") {
		t.Error("Enter ended the run: what is chosen first is to go back")
	}
	s.keys("a", "a")
	if !slices.Contains(s.said, "work/n1 abort") {
		t.Errorf("not ended: %v", s.said)
	}
}

// Without a controller, as with a run of the past, there is nothing to decide and nobody is called.
func TestAPastRunIsReadOnly(t *testing.T) {
	s := begin(t, func(_ *stand, o *backend.Board) { o.Control = nil })
	s.happens(asks("n1", 1))
	s.lacks("n1: action required ")
	s.keys("d")
	s.has("n1: action required", "l log")
	s.lacks("r retry", "stop run")
	s.keys("l")
	s.has("Log of n1")
	if s.bells > 0 {
		t.Error("the bell rang")
	}
	s.keys("esc", "q")
	if !s.quit {
		t.Error("leaving asks though nothing can be done to the run")
	}
}

// A run that goes on is not left in silence.
func TestLeavingARunThatGoesOn(t *testing.T) {
	s := begin(t, nil)
	s.keys("q")
	s.has("The run on rack-7 is in progress", "d", "detach", "return with eggo-tui attach", "stop", "abort", "stay")
	s.keys("enter")
	if s.quit || len(s.said) > 0 {
		t.Error("the default is not to go on")
	}
	s.keys("q", "s")
	s.has("the run stops when the running steps finish")
	s.keys("down")
	s.has("the run stops when the running steps finish") // and it is still said when the next key was pressed
	s.keys("q")
	s.has("The run on rack-7 is stopping. Quit?")
	s.keys("a")
	s.has("aborting the run")
	if want := []string{"stop", "abort"}; !slices.Equal(s.said, want) || s.quit {
		t.Errorf("%v, left %v", s.said, s.quit)
	}
	s.keys("q", "d")
	if !s.quit || len(s.said) != 2 {
		t.Errorf("detach: left %v, %v", s.quit, s.said)
	}
}

// The end shows the summary, which stays, and is left in the terminal.
func TestTheEnd(t *testing.T) {
	s := begin(t, nil)
	s.has("n1", "running")
	s.now = s.now.Add(90 * time.Second)
	s.happens(event.StepEnded{Step: "work/n1", Outcome: event.Changed, Took: time.Second},
		event.PhaseEnded{Phase: "p", Outcome: event.Failed},
		event.StepEnded{Step: "work/n2", Outcome: event.Failed,
			Fault: event.NewFault(event.ClassFailed, "node.command-failed", errors.New("No space left on device"),
				"status", "100").On("n2")},
		event.RunEnded{Outcome: event.Failed, Exit: 1,
			Next: []event.Msg{event.M("next.resume", "command", "eggo-tui deploy --id rack-7")}})
	words := []string{"The run on cluster rack-7 failed", "1m30s", "n1", "192.0.2.1", "worker", "Failed steps",
		"No space left", "The disk is full", "/runs/x/nodes/n2.log", "Time per phase",
		"Infrastructure", "Next steps", "eggo-tui deploy --id rack-7"}
	s.has(words...)
	if s.bells != 1 {
		t.Errorf("%d bells", s.bells)
	}
	s.keys("s")
	s.lacks("Next steps")
	s.keys("s", "d")
	s.has("Failed on n2")
	s.keys("esc", "L")
	s.has("任务失败", "磁盘已满")
	s.keys("L", "q")
	if !s.quit {
		t.Error("a run that is over is left without a question")
	}
	got := strings.Join(s.page.Farewell(s.app.Env(), 100), "\n")
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not left in the terminal:\n%s", w, got)
		}
	}
}

func TestFilteringTheBoard(t *testing.T) {
	s := begin(t, nil)
	s.keys("/")
	for _, r := range "n2 q" { // letters are letters
		s.keys(string(r))
	}
	s.has("/ n2 q", "No match")
	s.keys("backspace", "backspace", "enter")
	s.has("1 of 3 nodes", "Esc show all")
	s.keys("enter")
	s.has("Steps of n2")
	s.keys("enter")
	s.has("Log of n2")
	s.keys("esc", "esc", "esc")
	s.has("n1", "n3")
	s.keys("/", "x", "esc")
	s.has("n1", "n3")
	s.keys("e")
	s.has("No failed nodes")
}

// What is copied is what the machine printed, without time, step and padding.
func TestCopying(t *testing.T) {
	saved := ""
	s := begin(t, func(_ *stand, o *backend.Board) {
		o.Save = func(host string) (string, error) { saved = host; return "/tmp/x/" + host + ".log", nil }
		o.Pager = func(string) (*exec.Cmd, error) { return nil, errors.New("no pager here") }
		o.Support = func() (string, error) { return "/tmp/x/support.tar.gz", nil }
	})
	s.keys("B")
	s.has("support bundle: /tmp/x/support.tar.gz")
	s.keys("o")
	s.has("Log of n1", "no space left")
	s.keys("y")
	if s.clip != "no space left" {
		t.Errorf("copied %q", s.clip)
	}
	s.has("copied: 1 line")
	s.keys("up", "up", "up", "y")
	if s.clip != "first of n1   " {
		t.Errorf("copied %q", s.clip)
	}
	s.keys("Y")
	if s.clip != "first of n1   \nno space left" {
		t.Errorf("the step: %q", s.clip)
	}
	s.run(func() tea.Msg { return tea.MouseClickMsg{Button: tea.MouseLeft, X: 5, Y: 5} })
	s.keys("y")
	if s.clip != "between" {
		t.Errorf("the line that was clicked: %q", s.clip)
	}
	s.keys("e", "e")
	s.has("no more errors in this direction")
	s.keys("S")
	s.has("saved: /tmp/x/n1.log")
	if saved != "n1" {
		t.Errorf("saved %q", saved)
	}
	s.keys("|")
	s.has("no pager here")
}

// A click chooses a machine, a second opens its steps; the wheel moves; one key gives the mouse back to the terminal.
func TestTheMouse(t *testing.T) {
	s := begin(t, nil)
	lines := strings.Split(uitest.Screen(s.app), "\n")
	y := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, " n3 ") })
	x := strings.Index(lines[y], " n3 ") / len("─")
	click := func() {
		s.run(func() tea.Msg { return tea.MouseClickMsg{Button: tea.MouseLeft, X: x + 8, Y: y + 2} })
	}
	click()
	s.lacks("Steps of")
	click()
	s.has("Steps of n3")
	s.run(func() tea.Msg { return tea.MouseClickMsg{Button: tea.MouseLeft, X: 9, Y: 4} }) // the second of them
	s.lacks("Log of")
	s.run(func() tea.Msg { return tea.MouseClickMsg{Button: tea.MouseLeft, X: 9, Y: 4} })
	s.has("Log of n3")
	s.keys("esc")
	s.keys("esc", "M")
	if s.app.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is not the terminal's")
	}
}

func TestThePercentIsInTheTitleAndTheTaskbar(t *testing.T) {
	s := begin(t, nil)
	s.happens(event.StepEnded{Step: "work/n1", Outcome: event.Changed}, event.StepStarted{Step: "more/n1", Try: 1},
		event.StepEnded{Step: "more/n1", Outcome: event.Changed},
		event.StepEnded{Step: "work/n3", Outcome: event.Changed})
	v := s.app.View()
	if v.WindowTitle != "eggo rack-7 50 %" || v.ProgressBar == nil || v.ProgressBar.Value != 50 ||
		v.ProgressBar.State != tea.ProgressBarDefault {
		t.Errorf("%q %+v", v.WindowTitle, v.ProgressBar)
	}
	s.happens(asks("n2", 1))
	if v = s.app.View(); v.WindowTitle != "eggo ! rack-7 50 %" || v.ProgressBar.State != tea.ProgressBarWarning {
		t.Errorf("%q %+v", v.WindowTitle, v.ProgressBar)
	}
}

func TestTheUsualIsLearntOutsideOfUpdate(t *testing.T) {
	s := begin(t, func(_ *stand, o *backend.Board) {
		o.Usual = func() state.History { return state.History{"work": 40 * time.Second} }
	})
	s.now = s.now.Add(130 * time.Second)
	s.has("Install packages: running 2m10s (usually 40s)")
}

// Enter shows all steps of a machine: what ran, when and how long, what it changed, what comes and after what; from
// there Enter shows the log where the step begins in it, and goes back step by step.
func TestTheStepsOfAMachine(t *testing.T) {
	s := begin(t, func(_ *stand, o *backend.Board) {
		o.Usual = func() state.History { return state.History{"more": 40 * time.Second} }
	})
	s.keys("enter")
	s.has("Steps of n1", "0 of 2 steps", "Infrastructure", "0:00", "usually 40s")
	s.happens(event.Progress{Host: "n1", Step: "work/n1", What: "x", Done: 3 << 20, Total: 3 << 20},
		event.Change{Host: "n1", Step: "work/n1", Desc: event.M("change.one")},
		event.Change{Host: "n1", Step: "work/n1", Desc: event.M("change.two")},
		event.Output{Host: "n1", Step: "work/n1", Stream: "stdout", Line: "what it printed"})
	s.now = s.now.Add(75 * time.Second)
	s.has("1m15s")
	s.happens(event.StepEnded{Step: "work/n1", Outcome: event.Changed, Took: 75 * time.Second})
	s.has("1 of 2 steps", "1m15s", "2 changes: change.one", "• change.two", "sent: 3.0 MiB", "what it printed")
	s.happens(event.StepStarted{Step: "more/n1", Try: 1})
	s.lacks("• change.two") // the choice goes with what runs
	s.keys("up")
	s.has("• change.two")
	s.keys("enter")
	s.has("Log of n1", "follow: off", "── Install packages ─", "first of n1", "── other ─")
	s.keys("esc")
	s.has("Steps of n1", "• change.two")
	s.happens(event.StepEnded{Step: "more/n1", Outcome: event.OK, Took: time.Second})
	s.keys("down")
	s.has("no changes")
	s.keys("enter")
	s.has("Log of n1", "No output.", "first of n1")
	s.keys("esc", "esc")
	s.has("Enter steps", "o log")
}

// A log that is open grows with the run, wherever it was opened from.
func TestALogThatIsOpenGrows(t *testing.T) {
	for name, keys := range map[string][]string{"from the board": {"o"}, "from the steps": {"enter", "enter"}} {
		text := "2026-11-21T02:00:00.000Z work/n1 stdout| one\n"
		s := begin(t, func(_ *stand, o *backend.Board) {
			o.NodeLog = func(string) (backend.NodeLog, error) { return growing{&text}, nil }
		})
		s.keys(keys...)
		s.has("Log of n1", "one")
		text += "2026-11-21T02:00:01.000Z work/n1 stdout| and two\n"
		s.happens(event.Output{Host: "n1", Step: "work/n1", Stream: "stdout", Line: "and two"})
		if got := uitest.Screen(s.app); !strings.Contains(got, "and two") {
			t.Errorf("%s: what was printed meanwhile is not there:\n%s", name, got)
		}
	}
}

// growing is a log to which something is added.
type growing struct{ text *string }

func (g growing) Size() (int64, error) { return int64(len(*g.text)), nil }
func (g growing) ReadAt(p []byte, at int64) (int, error) {
	return strings.NewReader(*g.text).ReadAt(p, at)
}
