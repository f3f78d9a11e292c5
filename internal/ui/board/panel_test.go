package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// asked is the story in which two machines wait for a decision.
func asked(n int) (*state.State, time.Time) {
	s, now := story(n)
	seq := s.Seq
	at := func(e event.Event) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: now, Event: e})
	}
	for i, l := range []string{
		"Reading package lists...", "Selecting previously unselected package containerd.",
		"(Reading database ... 11482 files and directories currently installed.)",
		"Preparing to unpack .../containerd_1.6.20~ds1-1+deb12u3_amd64.deb ...",
		"正在解压 containerd (1.6.20~ds1-1+deb12u3) …",
		"dpkg: error processing archive /var/lib/eggo-node/repo/containerd.deb (--unpack):",
		" cannot copy extracted data for './usr/bin/containerd': No space left on device",
		"Errors were encountered while processing:", "E: Sub-process /usr/bin/dpkg returned an error code (1)",
	} {
		stream := "stdout"
		if i > 4 {
			stream = "stderr"
		}
		at(event.Output{Host: "node-2", Step: "infrastructure.packages/node-2", Stream: stream, Line: l})
	}
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "100", "command",
		"apt-get install -y --no-install-recommends \\\n  containerd runc conntrack\nstamp packages 5c1f").On("node-2")
	f.Cause = "E: Sub-process /usr/bin/dpkg returned an error code (1)"
	at(event.StepAsked{Step: "infrastructure.packages/node-2", Try: 3, Fault: *f})
	at(event.StepAsked{Step: "infrastructure.send-packages/node-1", Try: 1,
		Fault: *event.NewFault(event.ClassFailed, "ssh.lost", nil).On("node-1")})
	return s, now
}

// finished is the story at its end.
func finished(n int, outcome event.Outcome) *state.State {
	s, now := story(n)
	seq, last := s.Seq, 0
	at := func(sec int, e event.Event) {
		seq++
		last = max(last, sec)
		s.Apply(event.Record{Seq: seq, Time: now.Add(time.Duration(last) * time.Second), Event: e})
	}
	if outcome.Done() {
		s = state.New()
		full, _ := story(n)
		seq = 0
		plan := event.PlanMade{}
		for _, p := range full.Phases {
			plan.Phases = append(plan.Phases, event.Phase{ID: p.ID, Title: p.Title})
		}
		for _, h := range full.Hosts {
			if h.Name != "" {
				plan.Hosts = append(plan.Hosts, h.Host)
			}
		}
		for _, st := range full.Steps() {
			plan.Steps = append(plan.Steps, st.Step)
		}
		at(0, full.Run)
		at(0, plan)
		for i, p := range plan.Phases {
			at(10*i, event.PhaseStarted{Phase: p.ID})
			for _, st := range plan.Steps {
				if st.Phase == p.ID {
					at(10*i, event.StepStarted{Step: st.ID, Try: 1})
					at(10*i, event.Change{Host: st.Host, Step: st.ID, Desc: event.M("change.file", "path", "/x")})
					at(10*i+14, event.StepEnded{Step: st.ID, Outcome: event.Changed, Took: 14 * time.Second})
				}
			}
			at(10*i+14, event.PhaseEnded{Phase: p.ID, Outcome: event.Changed})
		}
		at(90, event.RunEnded{Outcome: outcome, Next: []event.Msg{event.M("next.kubeconfig", "path",
			"/var/lib/eggo/rack-7/admin.conf", "endpoint", "192.0.2.11:6443"),
			event.M("next.kubectl", "path", "/var/lib/eggo/rack-7/admin.conf", "node", "node-1"),
			event.M("next.cleanup", "command", "eggo-tui cleanup --id rack-7")}})
		return s
	}
	at(40, event.RunEnded{Outcome: outcome, Fault: event.NewFault(event.ClassFailed, "run.failed", nil, "count", "1"),
		Next: []event.Msg{event.M("next.log", "path", "/var/lib/eggo/rack-7/runs/20261121T020000Z-deploy/events.jsonl"),
			event.M("next.resume", "command", "eggo-tui deploy --id rack-7")}})
	return s
}

func choices() []Choice {
	return []Choice{
		{"r", event.M("ui.fail.retry")}, {"e", event.M("ui.fail.edit")},
		{"s", event.M("ui.fail.skip", "node", "node-2")}, {"h", event.M("ui.fail.shell", "node", "node-2")},
		{"a", event.M("ui.fail.abort")}, {"l", event.M("ui.fail.log")}, {"Esc", event.M("ui.fail.later")},
	}
}

// everyScreen draws at all sizes, in both languages, with and without Unicode, and holds what comes against its golden.
func everyScreen(t *testing.T, name string, n int, draw func(p *i18n.Printer, th *theme.Theme, w, h int) []string) {
	t.Helper()
	for _, s := range uitest.For(n) {
		file := fmt.Sprintf("%s-%d-%s", name, n, s)
		t.Run(file, func(t *testing.T) {
			lines := draw(i18n.NewPrinter(s.Lang), theme.New(theme.Options{Dark: true, ASCII: s.ASCII}), s.W, s.H)
			fills(t, lines, s.W, s.H)
			uitest.GoldenText(t, ansi.Strip(strings.Join(lines, "\n"))+"\n", file)
		})
	}
}

// The panel lies over the board: the other machines are seen to go on.
func TestFailurePanel(t *testing.T) {
	for _, n := range []int{3, 30, 100} {
		everyScreen(t, "failure", n, func(p *i18n.Printer, th *theme.Theme, w, h int) []string {
			s, now := asked(n)
			b := &Board{P: p, Theme: th}
			f := Asked(s.Open[0], 1, len(s.Open))
			f.Choices = choices()
			return Over(b.Render(s, now, w, h), f.Render(p, th, PanelWidth(w), h-2), w)
		})
	}
}

// On a screen of 24 lines a long error and a long command leave room for what helps and for what the step printed last.
func TestWhatHelpsIsSeenOnALowScreen(t *testing.T) {
	s, _ := asked(3)
	q := *s.Open[0]
	q.Fault.Cause = strings.Repeat("cannot copy extracted data: No space left on device; ", 9)
	q.Fault.Args = map[string]string{"status": "100", "command": strings.Repeat("set -e\n", 9)}
	f := Asked(&q, 1, 2)
	f.Choices = choices()
	p, th := i18n.NewPrinter(i18n.English), theme.New(theme.Options{})
	at := -1
	text := ansi.Strip(strings.Join(f.Render(p, th, 80, 22), "\n"))
	for _, want := range []string{"Step  ", "Likely cause  ", "Suggested fix  ", "Error  ", "Exit code  ",
		"Last output", "E: Sub-process", "r retry"} {
		i := strings.LastIndex(text, want)
		if i <= at {
			t.Errorf("%q does not come next:\n%s", want, text)
		}
		at = i
	}
	if strings.Contains(text, "Command") || !strings.Contains(text, " …") {
		t.Errorf("a command, or an error that is not cut:\n%s", text)
	}
	if high := ansi.Strip(strings.Join(f.Render(p, th, 80, 60), "\n")); !strings.Contains(high, "Command") {
		t.Errorf("no command where there is room:\n%s", high)
	}
}

func TestSummaries(t *testing.T) {
	for name, outcome := range map[string]event.Outcome{"done": event.Changed, "failed": event.Failed} {
		for _, n := range []int{3, 30, 100} {
			everyScreen(t, "summary-"+name, n, func(p *i18n.Printer, th *theme.Theme, w, h int) []string {
				x := Summary{P: p, Theme: th, LogPath: func(h string) string {
					return "/var/lib/eggo/rack-7/runs/20261121T020000Z-deploy/nodes/" + h + ".log"
				}}
				lines := x.Screen(finished(n, outcome), w, h)
				for i, l := range lines {
					if ansi.StringWidth(l) > w {
						t.Errorf("line %d has %d cells: %q", i, ansi.StringWidth(l), ansi.Strip(l))
					}
				}
				return widget.Block(lines, w, h, "")
			})
		}
	}
}

// However small the screen and however long what a machine says, the panel keeps its choices and its edges.
func TestAPanelOfAnySizeKeepsItsChoices(t *testing.T) {
	s, _ := asked(3)
	long := *s.Open[0]
	long.Fault.Cause = strings.Repeat("很长的原因 and a long cause ", 40)
	for _, q := range []*state.Question{s.Open[0], s.Open[1], &long} {
		for w := 30; w < 200; w += 17 {
			for h := 12; h < 60; h += 11 {
				f := Asked(q, 1, 2)
				f.Choices = choices()
				lines := f.Render(i18n.NewPrinter(i18n.English), theme.New(theme.Options{}), w, h)
				if len(lines) > h {
					t.Fatalf("%dx%d: %d lines", w, h, len(lines))
				}
				for _, l := range lines {
					if ansi.StringWidth(l) != w {
						t.Fatalf("%dx%d: %d cells: %q", w, h, ansi.StringWidth(l), ansi.Strip(l))
					}
				}
				if text := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(text, "r retry") ||
					!strings.Contains(text, "later") {
					t.Fatalf("%dx%d: no choices\n%s", w, h, text)
				}
			}
		}
	}
}

func TestFilter(t *testing.T) {
	s, now := asked(30)
	for _, c := range []struct {
		lang   i18n.Lang
		filter string
		want   []string // the first of them
		n      int
	}{
		{i18n.English, "", nil, 31}, {i18n.English, "role:etcd", []string{"node-1", "node-2", "node-3"}, 3},
		{i18n.English, "role:etcd state:failed", []string{"node-3"}, 1},
		{i18n.English, "!role:worker node-1", []string{"node-1"}, 1},
		{i18n.English, "state:required", []string{"node-1", "node-2"}, 2},
		{i18n.English, "state:asked", []string{"node-1", "node-2"}, 2},
		{i18n.English, "NODE-30", []string{"node-30"}, 1}, {i18n.English, "192.0.2.12", []string{"node-2"}, 1},
		{i18n.English, "install packages !state:failed !state:asked role:worker", nil, 5},
		{i18n.Chinese, "role:控制平面", nil, 3}, {i18n.Chinese, "state:失败", []string{"node-3"}, 1},
		{i18n.Chinese, "state:failed", []string{"node-3"}, 1}, {i18n.English, "no such machine", nil, 0},
	} {
		b := &Board{P: i18n.NewPrinter(c.lang), Theme: theme.New(theme.Options{}), Filter: c.filter}
		var got []string
		for _, v := range b.views(s, now) {
			got = append(got, v.host.Name)
		}
		if len(got) != c.n || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %d machines %v, want %d %v", c.filter, len(got), got, c.n, c.want)
		}
		fills(t, b.Render(s, now, 120, 40), 120, 40)
		_, ok := b.Host(s, now)
		if ok != (c.n > 0) {
			t.Errorf("%s: a machine under the cursor: %v", c.filter, ok)
		}
	}
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}), Filter: "nothing"}
	if got := ansi.Strip(strings.Join(b.Render(s, now, 80, 24), "\n")); !strings.Contains(got,
		"No match") || !strings.Contains(got, "0 of 31 nodes") || b.Trouble(s, now) {
		t.Errorf("an empty result:\n%s", got)
	}
}

// A click finds the machine that is drawn there, and the keys go to the neighbours that are seen.
func TestWhatIsSeenIsHit(t *testing.T) {
	for _, n := range []int{1, 3, 30, 100} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			s, now := story(n)
			b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
			lines := b.Render(s, now, size[0], size[1])
			found := 0
			for i, v := range b.views(s, now) {
				for y, l := range lines {
					x := strings.Index(ansi.Strip(l), " "+b.name(v.host)+" ")
					if x < 0 || y < 4 {
						continue
					}
					x = ansi.StringWidth(ansi.Strip(l)[:x]) + 1
					if at, ok := b.At(x, y); !ok || at != i {
						t.Errorf("%d machines, %v: %s at %d,%d is hit as %d %v, want %d", n, size, v.host.Name, x, y,
							at, ok, i)
					}
					found++
					break
				}
			}
			if found < min(n, 11) { // below them are the steps of one
				t.Errorf("%d machines, %v: %d found only", n, size, found)
			}
			if _, ok := b.At(0, 0); ok {
				t.Error("the head is a machine")
			}
			b.Move(0, 1)
			b.Render(s, now, size[0], size[1])
			if n > 8 {
				at, from := b.spots[0], b.spots[0]
				for _, p := range b.spots {
					if p.at == b.Cursor {
						at = p
					}
				}
				if at.x != from.x || at.y <= from.y {
					t.Errorf("%d machines, %v: down goes from %+v to %+v", n, size, from, at)
				}
			}
		}
	}
}

func TestAStallIsTold(t *testing.T) {
	s, now := story(3)
	for name, c := range map[string]struct {
		usual state.History
		after time.Duration
		want  string
	}{
		"nobody knows what is usual": {nil, 2 * time.Minute, "no output for 2m02s: Install packages"},
		"longer than usual": {state.History{"infrastructure.packages": 40 * time.Second}, 2 * time.Minute,
			"Install packages: running 2m03s (usually 40s)"},
		"not yet":  {state.History{"infrastructure.packages": 10 * time.Minute}, 2 * time.Minute, ""},
		"just now": {nil, 10 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}), Usual: c.usual}
			got := ansi.Strip(strings.Join(b.Render(s, now.Add(c.after), 130, 40), "\n"))
			if c.want == "" && (strings.Contains(got, ": Install packages") ||
				strings.Contains(got, "for “Install packages")) || !strings.Contains(got, c.want) {
				t.Errorf("want %q:\n%s", c.want, got)
			}
		})
	}
}

// What is shown below a step's title was printed by that step, and how long a node is silent counts from its last line.
func TestOutputBelongsToItsStep(t *testing.T) {
	s, now := story(3)
	at := func(ev event.Event) {
		now = now.Add(time.Second)
		s.Apply(event.Record{Seq: s.Seq + 1, Time: now, Event: ev})
	}
	done := s.Host("node-2").Doing().ID
	at(event.StepEnded{Step: done, Outcome: event.Changed, Took: time.Minute})
	at(event.StepStarted{Step: "infrastructure.load-images/node-2", Try: 1})
	if st := s.Host("node-2").Doing(); st == nil || st.ID != "infrastructure.load-images/node-2" {
		t.Fatalf("node-2 is at %+v", st)
	}
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
	for name, look := range map[string]time.Duration{"at once": time.Second, "after silence": 49 * time.Second} {
		got := ansi.Strip(strings.Join(b.Render(s, now.Add(look), 130, 40), "\n"))
		if strings.Contains(got, "Setting up runc") {
			t.Errorf("%s: output of the step before is shown:\n%s", name, got)
		}
		if silent := strings.Contains(got, "no output for 49s: "); silent != (look > 30*time.Second) {
			t.Errorf("%s: silent %v:\n%s", name, silent, got)
		}
	}
}

// At 120 columns the phase line has all names, however many phases run and whatever their numbers are; at 80 it says
// how many it has not.
func TestThePhaseLineKeepsItsNames(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for running := range 7 {
			s := state.New()
			plan := event.PlanMade{}
			ids := []string{"preflight", "infrastructure", "etcd", "control-plane", "bootstrap", "addons", "check"}
			for i, id := range ids {
				plan.Phases = append(plan.Phases, event.Phase{ID: id, Title: event.M("phase." + id)})
				for k := range 700 * (i + 1) {
					plan.Steps = append(plan.Steps, event.Step{ID: fmt.Sprint(id, k), Phase: id, Host: "n1",
						Title: event.M("step.preflight.verdict")})
				}
			}
			at := func(e event.Event) { s.Apply(event.Record{Seq: s.Seq + 1, Time: start, Event: e}) }
			at(plan)
			for _, id := range ids[:running] {
				at(event.PhaseStarted{Phase: id})
			}
			b := &Board{P: i18n.NewPrinter(lang), Theme: theme.New(theme.Options{})}
			line := ansi.Strip(b.rail(s, 120))
			for _, ph := range s.Phases {
				if name := b.P.Msg(ph.Title); !strings.Contains(line, name) {
					t.Errorf("%d running: %q is not in %q", running, name, line)
				}
			}
			if ansi.StringWidth(line) > 119 {
				t.Errorf("%d cells: %q", ansi.StringWidth(line), line)
			}
		}
	}
}
