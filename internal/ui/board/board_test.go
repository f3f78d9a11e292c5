package board

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

var _ = flag.Bool("update", false, "write the goldens")

var start = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// story is a run of n machines, cut off in the middle: transfers, a failure, a retry, output in two languages.
func story(n int) (*state.State, time.Time) {
	s := state.New()
	seq := uint64(0)
	at := func(sec float64, e event.Event) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: start.Add(time.Duration(sec * float64(time.Second))), Event: e})
	}
	at(0, event.RunStarted{Run: "20261121T020000Z-deploy", Cluster: "rack-7", Verb: "deploy", Version: "v1"})
	plan := event.PlanMade{}
	for _, p := range []string{"preflight", "infrastructure", "etcd", "control-plane", "bootstrap", "addons", "check"} {
		plan.Phases = append(plan.Phases, event.Phase{ID: p, Title: event.M("phase." + p)})
	}
	name := func(i int) string { return fmt.Sprintf("node-%d", i+1) }
	steps := []struct{ phase, what string }{{"preflight", "facts"}, {"infrastructure", "claim"},
		{"infrastructure", "send-packages"}, {"infrastructure", "packages"},
		{"infrastructure", "send-images"}, {"infrastructure", "load-images"}, {"bootstrap", "kubelet"},
		{"bootstrap", "join"}, {"bootstrap", "proxy"}}
	for i := range n {
		roles := []string{"worker"}
		if i < 3 {
			roles = []string{"control-plane", "etcd"}
		}
		plan.Hosts = append(plan.Hosts, event.Host{Name: name(i), Addr: fmt.Sprintf("192.0.2.%d", i+11), Roles: roles})
		for _, st := range steps {
			plan.Steps = append(plan.Steps, event.Step{ID: st.phase + "." + st.what + "/" + name(i), Phase: st.phase,
				Host: name(i), Title: event.M("step."+st.phase+"."+st.what, "node", name(i))})
		}
	}
	plan.Steps = append(plan.Steps, event.Step{ID: "preflight.verdict", Phase: "preflight",
		Title: event.M("step.preflight.verdict")})
	at(0, plan)
	at(0, event.PhaseStarted{Phase: "preflight"})
	for i := range n {
		at(0.1, event.HostState{Host: name(i), State: "connected"})
		at(0.2, event.StepStarted{Step: "preflight.facts/" + name(i), Try: 1})
		at(1, event.StepEnded{Step: "preflight.facts/" + name(i), Outcome: event.OK, Took: time.Second})
	}
	at(1, event.StepStarted{Step: "preflight.verdict", Try: 1})
	at(1.1, event.StepEnded{Step: "preflight.verdict", Outcome: event.OK, Took: time.Second / 10})
	at(1.1, event.PhaseEnded{Phase: "preflight", Outcome: event.OK})
	at(1.1, event.PhaseStarted{Phase: "infrastructure"})
	for i := range n {
		h := name(i)
		at(1.2, event.StepStarted{Step: "infrastructure.claim/" + h, Try: 1})
		at(1.4, event.StepEnded{Step: "infrastructure.claim/" + h, Outcome: event.Changed, Took: time.Second / 5})
		at(1.5, event.StepStarted{Step: "infrastructure.send-packages/" + h, Try: 1})
		switch i % 5 {
		case 0:
			at(2, event.Progress{Host: h, Step: "infrastructure.send-packages/" + h, What: "images.tar", Done: 40 << 20,
				Total: 310 << 20})
			at(8, event.Progress{Host: h, Step: "infrastructure.send-packages/" + h, What: "images.tar",
				Done: 217 << 20, Total: 310 << 20})
		case 1:
			at(5, event.StepEnded{Step: "infrastructure.send-packages/" + h, Outcome: event.Changed,
				Took: 3 * time.Second})
			at(5, event.StepStarted{Step: "infrastructure.packages/" + h, Try: 1})
			for _, l := range []string{"Selecting previously unselected package containerd.",
				"正在解压 containerd (1.6.20~ds1-1+deb12u3) …", "Setting up runc (1.1.5+ds1-1+deb12u1) …"} {
				at(6, event.Output{Host: h, Step: "infrastructure.packages/" + h, Stream: "stdout", Line: l})
			}
		case 2:
			at(5, event.StepEnded{Step: "infrastructure.send-packages/" + h, Outcome: event.Changed,
				Took: 3 * time.Second})
			if i == 2 {
				at(6, event.StepStarted{Step: "infrastructure.packages/" + h, Try: 1})
				f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "100").On(h)
				f.Cause = "dpkg: error processing archive /var/lib/eggo-node/repo/containerd.deb: cannot copy " +
					"extracted data for './usr/bin/containerd': No space left on device"
				at(8, event.StepEnded{Step: "infrastructure.packages/" + h, Outcome: event.Failed,
					Took: 2 * time.Second, Fault: f})
				at(8, event.StepEnded{Step: "bootstrap.kubelet/" + h, Outcome: event.Blocked})
			}
		case 3:
			f := event.NewFault(event.ClassFailed, "ssh.lost", nil)
			at(7, event.StepRetry{Step: "infrastructure.send-packages/" + h, Try: 1, Delay: 20 * time.Second,
				Fault: *f})
			at(7, event.HostState{Host: h, State: "lost"})
		}
	}
	at(8, event.Notice{Host: name(0), Text: event.M("notice.no-sysresource")})
	return s, start.Add(8400 * time.Millisecond)
}

// Every shape of the board fills its screen to the cell, in both languages, with and without Unicode.
func TestGoldens(t *testing.T) {
	for _, n := range []int{3, 30, 100} {
		for _, shape := range uitest.Shapes() {
			name := fmt.Sprintf("%d-%s", n, shape)
			t.Run(name, func(t *testing.T) {
				s, now := story(n)
				b := &Board{P: i18n.NewPrinter(shape.Lang),
					Theme: theme.New(theme.Options{Dark: true, ASCII: shape.ASCII}), Cursor: 1}
				lines := b.Render(s, now, shape.W, shape.H)
				fills(t, lines, shape.W, shape.H)
				uitest.GoldenText(t, ansi.Strip(strings.Join(lines, "\n"))+"\n", name)
			})
		}
	}
}

// fills wants exactly h lines of exactly w cells.
func fills(t *testing.T, lines []string, w, h int) {
	t.Helper()
	if len(lines) != h {
		t.Errorf("%d lines, want %d", len(lines), h)
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Errorf("line %d has %d cells, want %d: %q", i, got, w, ansi.Strip(l))
		}
	}
}

// However narrow a pane is, what is said of a transfer is whole: the end of it, when it will be done, says most.
func TestATransferInLittleRoom(t *testing.T) {
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
	s := state.New()
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	for i := range 6 {
		s.Apply(event.Record{Seq: uint64(i + 1), Time: at.Add(time.Duration(i) * time.Second),
			Event: event.Progress{Host: "n1", Step: "up/n1", What: "x", Done: int64(i) * 40 << 20, Total: 300 << 20}})
	}
	for _, c := range []struct {
		w    int
		want string
	}{{60, "200.0 MiB of 300.0 MiB  40.0 MiB/s  2.5s left"}, {32, "200/300 MiB 40 MiB/s 2.5s left"},
		{28, "67 % 40 MiB/s 2.5s left"}, {10, "67 %"}, {3, ""}} {
		if got := b.flow(s.Transfers[0], c.w); got != c.want {
			t.Errorf("%d cells: %q, want %q", c.w, got, c.want)
		}
	}
}

// The smallest screen, whose last line is the footer, has a board.
func TestTheSmallestScreenHasABoard(t *testing.T) {
	s, now := story(3)
	b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
	lines := b.Render(s, now, frame.MinWidth, frame.MinHeight-1)
	fills(t, lines, frame.MinWidth, frame.MinHeight-1)
	if got := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(got, "node-1") {
		t.Errorf("no machine is on it:\n%s", got)
	}
}
