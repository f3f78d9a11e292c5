package runview_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// hostile is what a machine may print to disturb a screen.
func hostile() map[string]string {
	return map[string]string{
		"clears the screen": "\x1b[2J\x1b[H\x1b[31mred\x1b[999;999Hx", "sets the title": "\x1b]0;owned\x07",
		"copies": "\x1b]52;c;ZXZpbA==\x07", "C1": "\u009b2J\u0090q\u009c",
		"asks the terminal": "\x1b[6n\x1b[c\x05", "alternate screen": "\x1b[?1049l\x1bc",
		"invalid UTF-8": "\xff\xfe\xc3\x28\xe2\x82", "right to left": "\u202eevil\u2066x\u061c שלום مرحبا",
		"zero width": strings.Repeat("\u200b\u200d\ufeff", 50) + "a",
		"tower":      "z" + strings.Repeat("\u0336\u0301", 300), "wide": strings.Repeat("节点", 400),
		"emoji":   "👨‍👩‍👧‍👦👍🏽🇩🇪❤️",
		"returns": "10 %\r20 %\r\b\b\b30 %", "tabs": strings.Repeat("\t", 80), "newlines": strings.Repeat("a\n", 500),
		"null": "a\x00b", "Indic": "क्षि ক্ষ์ำ", "Hangul": "\u1112\u1161\u11ab", "private": "\ue000\U000F0000",
		"megabytes": strings.Repeat("x", 10<<20),
	}
}

// steady wants a screen of w×h cells, however a terminal counts, with nothing on it that steers one.
func steady(t *testing.T, m tea.Model, w, h int) {
	t.Helper()
	uitest.Fills(t, m, w, h)
	for _, l := range strings.Split(uitest.Screen(m), "\n") {
		for _, r := range l {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Hebrew, unicode.Arabic) {
				t.Fatalf("%U is on the screen: %q", r, l)
			}
		}
	}
}

// What a machine prints, is called or fails with cannot disturb a screen: neither the board in any shape, nor the
// panel, the summary or the log. It takes the way that it takes in a run, over the bus.
func TestHostileMachines(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{2, 40} {
				if n > 2 && len(text) > 1<<20 { // the same many times says no more
					continue
				}
				s := &stand{t: t, now: start}
				bus := event.NewBus(func() time.Time { return s.now },
					sinkFunc(func(r event.Record) error { s.wait = append(s.wait, r); return nil }))
				s.page = runview.New(backend.Board{Feed: s, Control: s, NodeLog: func(string) (backend.NodeLog, error) {
					return backend.LogText("2026-11-21T02:00:00.000Z s stdout| " + text + "\n" + text +
						"\n2026-11-21T02:00:00.000" + text), nil
				}}).Still()
				s.app = ui.New(s.page, ui.Options{Lang: i18n.English, Now: func() time.Time { return s.now }})
				s.run(s.app.Init())
				s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 97, Height: 31} })
				emit := func(e event.Event) {
					if err := bus.Emit(e); err != nil {
						t.Fatal(err)
					}
				}
				short := text[:min(len(text), 5000)]
				emit(event.RunStarted{Cluster: short, Verb: short})
				plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M(short)}}}
				for i := range n {
					h := fmt.Sprint(short, i)
					plan.Hosts = append(plan.Hosts, event.Host{Name: h, Addr: short, Roles: []string{short}})
					plan.Steps = append(plan.Steps, event.Step{ID: "s/" + h, Phase: "p", Host: h,
						Title: event.M("step.infrastructure.packages", "node", short)})
				}
				emit(plan)
				f := event.NewFault(event.ClassFailed, "node.command-failed", fmt.Errorf("%s", text), "status", short,
					"command", short).On(short)
				for i, st := range plan.Steps {
					emit(event.StepStarted{Step: st.ID, Try: 1})
					emit(event.Output{Host: st.Host, Step: st.ID, Stream: "stderr", Line: text})
					switch i % 3 {
					case 0:
						emit(event.StepAsked{Step: st.ID, Try: 2, Fault: *f})
					case 1:
						emit(event.Progress{Host: st.Host, Step: st.ID, What: short, Done: 1, Total: 2})
					}
				}
				emit(event.Notice{Host: short, Text: event.M("notice.no-sysresource", "x", short)})
				s.run(s.page.Look())
				steady(t, s.app, 97, 31)
				s.keys("esc")
				steady(t, s.app, 97, 31)
				s.keys("o", "w")
				steady(t, s.app, 97, 31)
				s.keys("w", "t", "up", "y")
				steady(t, s.app, 97, 31)
				s.keys("esc")
				emit(event.StepEnded{Step: plan.Steps[0].ID, Outcome: event.Failed, Fault: f})
				emit(event.RunEnded{Outcome: event.Failed, Fault: f,
					Next: []event.Msg{event.M("next.log", "path", short)}})
				s.run(s.page.Look())
				steady(t, s.app, 97, 31)
				for _, l := range s.page.Farewell(s.app.Env(), 80) {
					if strings.ContainsFunc(ansi.Strip(l), unicode.IsControl) {
						t.Fatalf("the farewell has %q", l)
					}
				}
			}
		})
	}
}

type sinkFunc func(event.Record) error

func (f sinkFunc) Emit(r event.Record) error { return f(r) }

// Whatever keys come, at whatever size, whatever happens meanwhile: the screen is full to the cell, nothing breaks, and
// what is being typed stays.
func FuzzRun(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint16(37*seed), uint16(11*seed))
	}
	f.Add(uint64(77), uint16(399), uint16(119))
	keys := []string{"enter", "esc", "up", "down", "left", "right", "pgup", "pgdown", "backspace", "space", "tab", "?",
		"L", "M", "/", "e", "E", "n", "N", "w", "t", "f", "g", "G", "+", "-",
		"节", "x", "d", "r", "s", "a", "l", "y", "Y", "S", "|", "B", "q", "!", ":"}
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint16) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		bad := hostile()
		delete(bad, "megabytes")
		names := make([]string, 0, len(bad))
		for k := range bad {
			names = append(names, k)
		}
		slices.Sort(names)
		s := begin(t, func(_ *stand, o *backend.Board) {
			o.Save = func(string) (string, error) { return "x", nil }
			o.Support = func() (string, error) { return "", fmt.Errorf("no") }
			o.Usual = func() state.History { return state.History{"work": time.Second} }
			if rnd.IntN(4) == 0 {
				o.Control = nil
			}
		})
		width, height := 110, 34
		for range 50 {
			s.now = s.now.Add(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			host := fmt.Sprint("n", 1+rnd.IntN(5))
			switch rnd.IntN(14) {
			case 0:
				width, height = 1+(int(w)+rnd.IntN(80))%400, 1+(int(h)+rnd.IntN(40))%120
				s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} })
			case 1:
				s.run(func() tea.Msg { return tea.MouseWheelMsg{Button: tea.MouseWheelDown} })
			case 2:
				s.run(func() tea.Msg {
					return tea.MouseClickMsg{Button: tea.MouseLeft, X: rnd.IntN(width), Y: rnd.IntN(height)}
				})
			case 3:
				s.run(func() tea.Msg { return tea.PasteMsg{Content: bad[names[rnd.IntN(len(names))]]} })
			case 4:
				s.happens(asks(host, 1+rnd.IntN(3)))
			case 5:
				s.happens(event.StepDecided{Step: "work/" + host, Decision: event.TryAgain},
					event.StepStarted{Step: "work/" + host, Try: 1 + rnd.IntN(4)})
			case 6:
				s.happens(event.Output{Host: host, Step: "work/" + host,
					Line: event.Clean(bad[names[rnd.IntN(len(names))]])})
			case 7:
				s.happens(event.StepEnded{Step: "work/" + host,
					Outcome: []event.Outcome{event.OK, event.Failed, event.Blocked, event.Ignored}[rnd.IntN(4)],
					Fault:   event.NewFault(event.ClassFailed, "ssh.lost", nil)})
			case 8:
				if rnd.IntN(5) == 0 {
					s.happens(event.RunEnded{Outcome: event.Failed})
				}
			default:
				s.keys(keys[rnd.IntN(len(keys))])
			}
			uitest.Fills(t, s.app, width, height)
		}
		// a filter that is being typed survives everything that is no key
		s.app = ui.New(s.page, ui.Options{Lang: i18n.English, Now: func() time.Time { return s.now }})
		s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 100, Height: 30} })
		s.keys("esc", "esc", "esc", "esc")
		if !strings.Contains(uitest.Screen(s.app), "/ filter") {
			return // the summary
		}
		s.keys("/", "ctrl+u", "n", "2")
		s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 5, Height: 5} })
		s.happens(asks("n1", 9))
		s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 120, Height: 40} })
		uitest.Has(t, s.app, "/ n2")
	})
}
