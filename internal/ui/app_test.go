package ui

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

func watch(t testing.TB, n int) *App {
	t.Helper()
	l := uitest.Log(uitest.Records(n))
	a := New(runview.New(backend.Board{Feed: &backend.Live{From: &l, Over: true},
		NodeLog: func(host string) (backend.NodeLog, error) {
			if host == "n1" {
				return nil, errors.New("no such log")
			}
			return backend.LogText(strings.Repeat("2026-11-21T10:00:00.000Z s stdout| all is well\n", 200) +
				"2026-11-21T10:00:00.000Z s stderr| error: no space\n"), nil
		}}).Still(), Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 30})
	uitest.Run(t, a, a.Init())
	return a
}

// A person looks at a run that is over: the board, a machine's log, a search, the keys, the other language.
func TestUserLooksAround(t *testing.T) {
	a := watch(t, 3)
	uitest.Has(t, a, "n0", "n2", "done", "100 %", "Infrastructure", "second 59", "q quit")
	uitest.Drive(t, a, uitest.Press("L"))
	uitest.Has(t, a, "完成", "基础设施", "退出")
	uitest.Drive(t, a, uitest.Press("L"))
	uitest.Drive(t, a, uitest.Press("down"))
	uitest.Drive(t, a, uitest.Press("o"))
	uitest.Has(t, a, "no such log", "n0")
	uitest.Drive(t, a, uitest.Press("up"))
	uitest.Drive(t, a, uitest.Press("enter"))
	uitest.Has(t, a, "Steps of n0", "Infrastructure", "1 of 1 steps")
	uitest.Drive(t, a, uitest.Press("enter"))
	uitest.Has(t, a, "Log of n0", "follow: on", "error: no space")
	for _, k := range []string{"/", "s", "p", "x", "backspace", "a", "enter"} {
		uitest.Keys(t, a, k)
	}
	uitest.Has(t, a, "follow: off", "error: no space")
	for _, k := range []string{"/", "节", "enter"} {
		uitest.Keys(t, a, k)
	}
	uitest.Has(t, a, "not found: 节")
	uitest.Drive(t, a, uitest.Press("g"))
	uitest.Lacks(t, a, "error: no space")
	uitest.Drive(t, a, uitest.Press("e"))
	uitest.Has(t, a, "error: no space")
	uitest.Drive(t, a, uitest.Press("?"))
	uitest.Has(t, a, "Keys", "next error", "any key closes this")
	uitest.Drive(t, a, uitest.Press("x"))
	uitest.Keys(t, a, "esc", "esc")
	uitest.Has(t, a, "n1", "100 %")
}

// Whatever keys come, at whatever size, the screen is full to the cell and nothing breaks.
func FuzzKeysAndSizes(f *testing.F) {
	f.Add(uint64(1), uint16(80), uint16(24))
	f.Add(uint64(2), uint16(1), uint16(1))
	f.Add(uint64(3), uint16(400), uint16(120))
	keys := []string{"enter", "o", "esc", "up", "down", "pgup", "pgdown", "backspace", "space", "?", "L", "/", "e", "n",
		"N", "w", "t", "f", "g", "G", "+", "-", "节", "x"}
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		a := watch(t, 1+rnd.IntN(60))
		for range 40 {
			switch rnd.IntN(6) {
			case 0:
				uitest.Drive(t, a, tea.WindowSizeMsg{Width: 1 + (int(w)+rnd.IntN(60))%400,
					Height: 1 + (int(h)+rnd.IntN(30))%120})
			case 1:
				uitest.Drive(t, a, tea.MouseWheelMsg{Button: tea.MouseWheelDown})
			default:
				uitest.Drive(t, a, uitest.Press(keys[rnd.IntN(len(keys))]))
			}
			uitest.Fills(t, a, a.w, a.h)
		}
	})
}

func BenchmarkHundredMachines(b *testing.B) {
	l := uitest.Log(uitest.Records(100))
	page := runview.New(backend.Board{Feed: &backend.Live{From: &l, Over: true}}).Still()
	a := New(page, Options{Lang: i18n.English})
	a.w, a.h = 200, 60
	uitest.Run(b, a, a.Init())
	b.Run("View", func(b *testing.B) {
		for b.Loop() {
			a.View()
		}
	})
	b.Run("Update", func(b *testing.B) {
		for b.Loop() { // a tenth of a second of 2,000 a second
			for _, r := range uitest.Records(100)[200:400] {
				page.State().Apply(r)
			}
		}
	})
}

// A terminal of 16 or of 256 colours gets the colours that were chosen for it; NO_COLOR counts whatever the terminal
// has.
func TestColoursAreThoseOfTheTerminal(t *testing.T) {
	for _, c := range []struct {
		profile    colorprofile.Profile
		mono       bool
		has, lacks string
	}{
		{colorprofile.TrueColor, false, "38;2;", "38;5;"},
		{colorprofile.ANSI256, false, "38;5;", "38;2;"},
		{colorprofile.ANSI, false, "\x1b[93m", "38;"},
		{colorprofile.ASCII, false, "\x1b[1m", "38;"},
		{colorprofile.TrueColor, true, "\x1b[1m", "38;"},
	} {
		a := New(watch(t, 3).stack[0], Options{Lang: i18n.English, Mono: c.mono})
		uitest.Drive(t, a, tea.ColorProfileMsg{Profile: c.profile})
		got := a.View().Content
		if !strings.Contains(got, c.has) || strings.Contains(got, c.lacks) {
			t.Errorf("%s, mono %v: want %q and no %q", c.profile, c.mono, c.has, c.lacks)
		}
	}
}

// Ctrl+L draws the screen again and Ctrl+Z gives the terminal to the shell, whatever is open and whatever is typed; the
// help says so.
func TestRedrawAndSuspend(t *testing.T) {
	for name, open := range map[string][]string{"the board": nil, "the help": {"?"}, "a log's search": {"o", "/"},
		"a question": {"q"}} {
		a := watch(t, 3)
		uitest.Keys(t, a, open...)
		before := uitest.Screen(a)
		for key, want := range map[string]tea.Msg{"ctrl+l": tea.ClearScreen(), "ctrl+z": tea.SuspendMsg{}} {
			_, c := a.Update(uitest.Press(key))
			if c == nil {
				t.Errorf("%s: %s does nothing", name, key)
				continue
			}
			_, no := c().(pageMsg) // a test has no shell that would continue it
			if got := c(); reflect.TypeOf(got) != reflect.TypeOf(want) && !(key == "ctrl+z" && no) {
				t.Errorf("%s: %s gives %T", name, key, got)
			}
			if after := uitest.Screen(a); after != before {
				t.Errorf("%s: %s changes the screen", name, key)
			}
		}
	}
	a := watch(t, 3)
	uitest.Keys(t, a, "?")
	uitest.Has(t, a, "Ctrl+L", "Ctrl+Z")
}
