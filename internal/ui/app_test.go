package ui

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/logview"
)

var start = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// records of a run with n machines, each of which prints a line a second for a minute.
func records(n int) []event.Record {
	var out []event.Record
	add := func(sec float64, e event.Event) {
		out = append(out, event.Record{Seq: uint64(len(out) + 1), Time: start.Add(time.Duration(sec * float64(time.Second))), Event: e})
	}
	plan := event.PlanMade{Phases: []event.Phase{{ID: "infrastructure", Title: event.M("phase.infrastructure")}}}
	for i := range n {
		h := fmt.Sprintf("n%d", i)
		plan.Hosts = append(plan.Hosts, event.Host{Name: h, Roles: []string{"worker"}})
		plan.Steps = append(plan.Steps, event.Step{ID: "infrastructure.claim/" + h, Phase: "infrastructure", Host: h, Title: event.M("step.infrastructure.claim", "node", h)})
	}
	add(0, event.RunStarted{Cluster: "c", Verb: "deploy"})
	add(0, plan)
	for _, s := range plan.Steps {
		add(0, event.StepStarted{Step: s.ID, Try: 1})
	}
	for sec := range 60 {
		for _, h := range plan.Hosts {
			add(float64(sec), event.Output{Host: h.Name, Step: "infrastructure.claim/" + h.Name, Stream: "stdout", Line: fmt.Sprint("second ", sec)})
		}
	}
	for _, s := range plan.Steps {
		add(61, event.StepEnded{Step: s.ID, Outcome: event.Changed, Took: time.Minute})
	}
	add(62, event.RunEnded{Outcome: event.Changed})
	return out
}

// list is a log in memory.
type list []event.Record

func (l *list) Next() (event.Record, error) {
	if len(*l) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*l)[0]
	*l = (*l)[1:]
	return r, nil
}

// drive feeds a message, runs the commands that come of it and feeds what they say.
func drive(t testing.TB, a *App, msg tea.Msg) {
	t.Helper()
	_, c := a.Update(msg)
	run(t, a, c)
}

func run(t testing.TB, a *App, c tea.Cmd) {
	t.Helper()
	if c == nil {
		return
	}
	switch m := c().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range m {
			run(t, a, c)
		}
	default:
		drive(t, a, m)
	}
}

func press(key string) tea.KeyPressMsg {
	switch key {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "pgup":
		return tea.KeyPressMsg{Code: tea.KeyPgUp}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	r := []rune(key)[0]
	return tea.KeyPressMsg{Code: r, Text: key}
}

func screenOf(a *App) string { return ansi.Strip(strings.Join(a.lines(), "\n")) }

func has(t *testing.T, a *App, words ...string) {
	t.Helper()
	got := screenOf(a)
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not on the screen:\n%s", w, got)
		}
	}
}

func watch(t *testing.T, n int) *App {
	t.Helper()
	l := list(records(n))
	a := New(&Live{From: &l, Over: true}, Options{Lang: i18n.English, NodeLog: func(host string) (logview.Source, error) {
		if host == "n1" {
			return nil, errors.New("no such log")
		}
		return logview.Text(strings.Repeat("2026-11-21T10:00:00.000Z s stdout| all is well\n", 200) + "2026-11-21T10:00:00.000Z s stderr| error: no space\n"), nil
	}})
	a.tick = func() tea.Cmd { return nil } // the test looks at the feed when it wants to
	drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 30})
	run(t, a, a.look())
	return a
}

// A person looks at a run that is over: the board, a machine's log, a search, the keys, the other language.
func TestAPersonLooksAround(t *testing.T) {
	a := watch(t, 3)
	has(t, a, "n0", "n2", "done", "100 %", "Infrastructure", "second 59", "q leave")
	drive(t, a, press("L"))
	has(t, a, "完成", "基础设施", "离开")
	drive(t, a, press("L"))
	drive(t, a, press("down"))
	drive(t, a, press("enter"))
	has(t, a, "no such log", "n0")
	drive(t, a, press("up"))
	drive(t, a, press("enter"))
	has(t, a, "Log of n0", "follows", "error: no space")
	for _, k := range []string{"/", "s", "p", "x", "backspace", "a", "enter"} {
		drive(t, a, press(k))
	}
	has(t, a, "stands still", "error: no space")
	for _, k := range []string{"/", "节", "enter"} {
		drive(t, a, press(k))
	}
	has(t, a, "not found: 节")
	drive(t, a, press("g"))
	if strings.Contains(screenOf(a), "error: no space") {
		t.Error("g does not go to the beginning")
	}
	drive(t, a, press("e"))
	has(t, a, "error: no space")
	drive(t, a, press("?"))
	has(t, a, "Keys", "next error", "any key closes this")
	drive(t, a, press("x"))
	drive(t, a, press("esc"))
	has(t, a, "n1", "100 %")
}

// A replay keeps the run's own time, slower or faster, and does not sit out hours in which nothing happened.
func TestReplay(t *testing.T) {
	l := list(records(2))
	now := start
	r := NewReplay(&l, 1, func() time.Time { return now })
	a := New(r, Options{Lang: i18n.English, Replay: r})
	step := func(d time.Duration) {
		now = now.Add(d)
		got, err := r.Take(gulp)
		for _, x := range got {
			a.state.Apply(x)
		}
		a.over = errors.Is(err, io.EOF)
	}
	step(0)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 10*time.Second {
		t.Errorf("after ten seconds it is at %s", got)
	}
	r.Speed(2)
	step(10 * time.Second)
	if got := a.state.Elapsed(); got != 30*time.Second {
		t.Errorf("ten seconds later at twice the speed it is at %s", got)
	}
	r.Pause()
	step(time.Hour)
	if got := a.state.Elapsed(); got != 30*time.Second || !r.Paused() {
		t.Errorf("while it stands still it went to %s", got)
	}
	r.Pause()
	step(time.Minute)
	if !a.over || a.state.Ended == nil {
		t.Error("it does not end")
	}
}

// Whatever keys come, at whatever size, the screen is full to the cell and nothing breaks.
func FuzzKeysAndSizes(f *testing.F) {
	f.Add(uint64(1), uint16(80), uint16(24))
	f.Add(uint64(2), uint16(1), uint16(1))
	f.Add(uint64(3), uint16(400), uint16(120))
	keys := []string{"enter", "esc", "up", "down", "pgup", "pgdown", "backspace", "space", "?", "L", "/", "e", "n", "N", "w", "t", "f", "g", "G", "+", "-", "节", "x"}
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		a := watch(t, 1+rnd.IntN(60))
		for range 40 {
			switch rnd.IntN(6) {
			case 0:
				drive(t, a, tea.WindowSizeMsg{Width: 1 + (int(w)+rnd.IntN(60))%400, Height: 1 + (int(h)+rnd.IntN(30))%120})
			case 1:
				drive(t, a, tea.MouseWheelMsg{Button: tea.MouseWheelDown})
			default:
				drive(t, a, press(keys[rnd.IntN(len(keys))]))
			}
			got := a.lines()
			if len(got) != a.h {
				t.Fatalf("%d lines, want %d", len(got), a.h)
			}
			for i, l := range got {
				if n := ansi.StringWidth(l); n != a.w {
					t.Fatalf("%dx%d: line %d has %d cells: %q", a.w, a.h, i, n, ansi.Strip(l))
				}
			}
		}
	})
}

func BenchmarkHundredMachines(b *testing.B) {
	l := list(records(100))
	a := New(&Live{From: &l, Over: true}, Options{Lang: i18n.English})
	a.w, a.h, a.tick = 200, 60, func() tea.Cmd { return nil }
	run(b, a, a.look())
	b.Run("View", func(b *testing.B) {
		for b.Loop() {
			a.View()
		}
	})
	batch := newsMsg{list: records(100)[200:400]} // a tenth of a second of 2,000 a second
	b.Run("Update", func(b *testing.B) {
		for b.Loop() {
			a.Update(batch)
		}
	})
}
