package report

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// teller publishes events at seconds of its own clock.
type teller struct {
	now time.Time
	bus *event.Bus
}

func tell(sinks ...event.Sink) *teller {
	l := &teller{now: t0}
	l.bus = event.NewBus(func() time.Time { return l.now }, sinks...)
	return l
}

func (l *teller) at(sec float64, events ...event.Event) {
	l.now = t0.Add(time.Duration(sec * float64(time.Second)))
	for _, e := range events {
		_ = l.bus.Emit(e)
	}
}

func begin(l *teller, verb string) {
	step := func(id, phase, title string, needs ...string) event.Step {
		_, host, _ := strings.Cut(id, "/")
		return event.Step{ID: id, Phase: phase, Host: host, Title: event.M(title), Needs: needs}
	}
	l.at(0, event.RunStarted{Run: "20261121T100000Z-deploy", Cluster: "k8s-cluster", Verb: verb, Version: "0.1.0"},
		event.PlanMade{
			Phases: []event.Phase{{ID: "infra", Title: event.M("Infrastructure")},
				{ID: "etcd", Title: event.M("EtcdCluster")}},
			Hosts: []event.Host{{Name: "master-1", Addr: "192.168.0.2", Roles: []string{"master", "etcd"}},
				{Name: "节点2", Addr: "192.168.0.3", Roles: []string{"worker"}}},
			Steps: []event.Step{
				step("pki", "infra", "Making certificates"), step("up/master-1", "infra", "Uploading images"),
				step("up/节点2", "infra", "Uploading images"),
				step("etcd/master-1", "etcd", "Starting etcd", "up/master-1", "pki"),
				step("join/节点2", "etcd", "Joining", "etcd/master-1"),
			},
		})
}

// failing is a run in which most things happen that can.
func failing(l *teller) {
	begin(l, "deploy")
	why := event.M("engine.done-before")
	blocked := event.M("engine.blocked", "step", "etcd/master-1")
	fault := event.Fault{Code: "engine.timeout", Class: event.ClassFailed, Node: "master-1",
		Args: map[string]string{"timeout": "5m0s"}, Cause: "context deadline exceeded"}
	l.at(0.4, event.HostState{Host: "master-1", State: "connected"},
		event.HostState{Host: "节点2", State: "connecting"})
	l.at(0.5, event.Finding{Host: "节点2", Severity: event.Warning,
		Fault: event.Fault{Code: "event.bad-record", Cause: "x"}})
	l.at(0.5, event.PhaseStarted{Phase: "infra"}, event.StepEnded{Step: "pki", Outcome: event.OK, Why: &why})
	l.at(0.6, event.StepStarted{Step: "up/master-1", Try: 1}, event.StepStarted{Step: "up/节点2", Try: 1})
	l.at(0.7, event.Change{Host: "master-1", Step: "up/master-1", Desc: event.M("write /opt/images.tar")})
	for i := range 50 {
		l.at(0.8+float64(i)/10, event.Progress{Host: "master-1", Step: "up/master-1", What: "images.tar",
			Done: int64(i) << 20, Total: 50 << 20})
	}
	l.at(6, event.StepRetry{Step: "up/节点2", Try: 1, Delay: 2 * time.Second, Fault: fault})
	l.at(6.1, event.StepEnded{Step: "up/master-1", Outcome: event.Changed, Took: 5500 * time.Millisecond})
	l.at(8, event.StepStarted{Step: "up/节点2", Try: 2})
	l.at(9, event.StepEnded{Step: "up/节点2", Outcome: event.Changed, Took: 8400 * time.Millisecond},
		event.PhaseEnded{Phase: "infra", Outcome: event.Changed})
	l.at(9.1, event.PhaseStarted{Phase: "etcd"}, event.StepStarted{Step: "etcd/master-1", Try: 1},
		event.Notice{Step: "etcd/master-1", Text: event.M("a small note")})
	l.at(10, event.Output{Host: "master-1", Step: "etcd/master-1", Stream: "stderr",
		Line: "waiting for quorum \x1b[31m|"})
	l.at(75, event.StepEnded{Step: "etcd/master-1", Outcome: event.Failed, Took: 65900 * time.Millisecond,
		Fault: &fault},
		event.StepEnded{Step: "join/节点2", Outcome: event.Blocked, Why: &blocked},
		event.PhaseEnded{Phase: "etcd", Outcome: event.Failed},
		event.StepUndone{Step: "up/节点2", Outcome: event.Changed, Took: time.Second})
	l.at(75.2, event.RunEnded{Outcome: event.Failed, Exit: 3, Changed: 2,
		Fault: &event.Fault{Code: "engine.steps-failed", Args: map[string]string{"count": "2"}},
		Next:  []event.Msg{event.M("eggo-tui deploy -f deploy.yaml")}})
}

// idle is a second deploy: nothing to do.
func idle(l *teller) {
	begin(l, "deploy")
	l.at(0.1, event.PhaseStarted{Phase: "infra"})
	for i, s := range []string{"pki", "up/master-1", "up/节点2", "etcd/master-1", "join/节点2"} {
		l.at(0.1*float64(i+1), event.StepStarted{Step: s, Try: 1})
		l.at(0.1*float64(i+2), event.StepEnded{Step: s, Outcome: event.OK, Took: 100 * time.Millisecond})
	}
	l.at(0.7, event.RunEnded{Outcome: event.OK, Next: []event.Msg{event.M("kubectl get nodes")}})
}

func TestGolden(t *testing.T) {
	for name, story := range map[string]func(*teller){"failing": failing, "idle": idle} {
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			t.Run(name+"."+string(lang), func(t *testing.T) {
				var out bytes.Buffer
				story(tell(NewPlain(&out, i18n.NewPrinter(lang))))
				golden(t, name+"."+string(lang)+".txt", out.Bytes())
			})
		}
	}
	var out bytes.Buffer
	failing(tell(NewJSON(&out)))
	golden(t, "failing.jsonl", out.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("%s (go test -update writes it):\n%s", name, d)
	}
	if bytes.ContainsAny(got, "\x1b\r\t") {
		t.Error("control characters reached the output")
	}
}

func TestJSONIsWhatTheJournalHas(t *testing.T) {
	var out bytes.Buffer
	var want []string
	failing(tell(NewJSON(&out), sinkFunc(func(r event.Record) error {
		line, err := event.Encode(r)
		want = append(want, string(line))
		return err
	})))
	if d := cmp.Diff(strings.Join(want, "\n")+"\n", out.String()); d != "" {
		t.Error(d)
	}
}

type sinkFunc func(event.Record) error

func (f sinkFunc) Emit(r event.Record) error { return f(r) }

func TestNothingWaitsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stamped{}
		pl := NewPlain(out, i18n.NewPrinter(i18n.English))
		bus := event.NewBus(time.Now, pl)
		emit := func(e event.Event) { _ = bus.Emit(e) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { pl.Beat(ctx, time.Now); close(done) }()
		start := time.Now()
		emit(event.RunStarted{Verb: "deploy"})
		made := event.PlanMade{Phases: []event.Phase{{ID: "p"}}}
		for i := range 7 {
			made.Steps = append(made.Steps, event.Step{ID: fmt.Sprint("s", i), Phase: "p", Host: fmt.Sprint("n", i),
				Title: event.M(fmt.Sprint("Step", i))})
		}
		emit(made)
		time.Sleep(15 * time.Second) // a hook runs
		emit(event.StepStarted{Step: "s0", Try: 1})
		emit(event.Output{Host: "n0", Step: "s0", Line: "waiting for \x1b[2Jgodot"})
		time.Sleep(30 * time.Second)
		for i := 1; i < 7; i++ {
			emit(event.StepStarted{Step: fmt.Sprint("s", i), Try: 1})
		}
		emit(event.StepRetry{Step: "s1", Try: 1, Delay: time.Minute,
			Fault: event.Fault{Code: "engine.timeout", Args: map[string]string{"timeout": "9s"}}})
		time.Sleep(25 * time.Second)
		emit(event.RunEnded{Outcome: event.Failed})
		at := out.times
		time.Sleep(time.Minute)
		cancel()
		<-done
		if len(out.times) != len(at) {
			t.Error("it goes on after the end")
		}
		last := start
		for _, x := range at {
			if x.Sub(last) > silence+time.Second {
				t.Errorf("no output for %v", x.Sub(last))
			}
			last = x
		}
		for _, want := range []string{"no progress for 10s",
			"still running 15s: Step0; last line: waiting for [2Jgodot", "and 4 more steps",
			"Step1; retrying in 50s, because: The step did not finish within 9s"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
	})
}

// stamped notes when it was written to.
type stamped struct {
	bytes.Buffer
	times []time.Time
}

func (s *stamped) Write(p []byte) (int, error) {
	s.times = append(s.times, time.Now())
	return s.Buffer.Write(p)
}

func TestManyTransfersDoNotFloodTheLog(t *testing.T) {
	var out bytes.Buffer
	l := tell(NewPlain(&out, i18n.NewPrinter(i18n.English)))
	for i := range 600 { // a minute of ten reports a second, of a hundred nodes
		for h := range 100 {
			l.at(float64(i)/10, event.Progress{Host: fmt.Sprint("n", h), Step: fmt.Sprint("s", h), What: "f",
				Done: int64(i), Total: 600})
		}
	}
	if n := strings.Count(out.String(), "\n"); n < 60 || n > 180 {
		t.Errorf("%d lines in a minute", n)
	}
}

func TestAClosedPipeDoesNotStopTheRun(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	plain, lines := NewPlain(w, i18n.NewPrinter(i18n.English)), NewJSON(w)
	bus := event.NewBus(nil, plain, lines)
	for range 3 {
		if err := bus.Emit(event.RunStarted{}); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(plain.Err(), io.ErrClosedPipe) || !errors.Is(lines.Err(), io.ErrClosedPipe) {
		t.Error(plain.Err(), lines.Err())
	}
}

func TestEverySentenceIsThereInBothLanguages(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"(report\.[a-z.-]+[a-z])"`).FindAllStringSubmatch(string(text), -1) {
			keys[m[1]] = true
		}
	}
	for _, o := range outcomes() {
		keys["report.outcome."+string(o)] = true
	}
	for _, s := range []string{"verb.deploy", "verb.cleanup", "severity.error", "severity.warning",
		"connection.connected", "connection.lost"} {
		keys["report."+s] = true
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for k := range keys {
			if !p.Has(k) {
				t.Errorf("%s: no sentence %q", lang, k)
			}
		}
	}
	if len(keys) < 40 {
		t.Error("the test looks at the wrong place:", len(keys))
	}
}

func TestAStoppedRunDoesNotBlameItsSteps(t *testing.T) {
	var out bytes.Buffer
	l := tell(NewPlain(&out, i18n.NewPrinter(i18n.English)))
	begin(l, "deploy")
	l.at(1, event.StepStarted{Step: "pki", Try: 1},
		event.StepEnded{Step: "pki", Outcome: event.Interrupted, Took: time.Second,
			Fault: event.NewFault(event.ClassFailed, "internal", context.Canceled)})
	l.at(2, event.RunEnded{Outcome: event.Interrupted, Exit: 130,
		Fault: event.NewFault(event.ClassInterrupted, "engine.interrupted", nil, "left", "5")})
	text := out.String()
	if strings.Contains(text, "context canceled") || strings.Contains(text, "Failed steps") {
		t.Error(text)
	}
	for _, want := range []string{"stopped    Making certificates", "deploy of cluster k8s-cluster: stopped after 2.0s",
		"not started 4", "5 steps are left", "it resumes from here"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestShortTimesAndSizes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 9949 * time.Millisecond: "9.9s", 9950 * time.Millisecond: "10s", 59499 * time.Millisecond: "59s",
		59500 * time.Millisecond: "1m00s",
		185 * time.Second:        "3m05s", time.Hour: "1h00m", 3*time.Hour + 59*time.Minute + 40*time.Second: "4h00m",
		-time.Second: "0.0s",
	} {
		if got := Short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB",
		1<<20 - 1: "1.0 MiB", 5 << 40: "5.0 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestTheTableHoldsItsColumnsInChinese(t *testing.T) {
	s := state.New()
	failing(tell(sinkFunc(func(r event.Record) error { s.Apply(r); return nil })))
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		var first int
		for line := range strings.Lines(TimingTable(s, i18n.NewPrinter(lang))) {
			switch {
			case !strings.HasPrefix(line, "|"):
				first = 0
			case first == 0:
				first = document.Width(line)
			case document.Width(line) != first:
				t.Errorf("%q is %d wide, not %d", line, document.Width(line), first)
			}
		}
	}
	if TimingTable(state.New(), i18n.NewPrinter(i18n.English)) != "" {
		t.Error("no steps, no table")
	}
}

// A run that waits for a decision says so when it is asked, again while nothing happens, and how it is decided; one
// that --on-failure decides says what is done.
func TestADecisionThatIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		flags []string
		lang  i18n.Lang
		want  []string
		not   string
	}{
		{nil, i18n.English,
			[]string{"2.0s  master-1      action required  Uploading images: failed, waiting for a decision: " +
				"eggo-tui " +
				"attach --id k8s-cluster", "[engine.timeout]",
				"22.0s  master-1      action required  Uploading images: failed, waiting for a decision",
				"Uploading images: retrying, as decided"}, "still running"},
		{[]string{"--on-failure", "ask"}, i18n.Chinese,
			[]string{"待决定", "eggo-tui attach --id k8s-cluster", "按所作决定重试"}, "--on-failure"},
		{[]string{"--on-failure", "retry=2"}, i18n.English, []string{"failed, retrying as --on-failure specifies"},
			"action required"},
	} {
		var out bytes.Buffer
		pl := NewPlain(&out, i18n.NewPrinter(c.lang))
		l := tell(pl)
		begin(l, "deploy")
		l.at(0, event.RunStarted{Run: "r", Cluster: "k8s-cluster", Verb: "deploy", Flags: c.flags})
		l.at(1, event.StepStarted{Step: "up/master-1", Try: 1})
		l.at(2, event.StepAsked{Step: "up/master-1", Try: 1,
			Fault: event.Fault{Code: "engine.timeout", Class: event.ClassFailed,
				Args: map[string]string{"timeout": "5m0s"}}})
		pl.Tick(t0.Add(22 * time.Second))
		l.at(30, event.StepDecided{Step: "up/master-1", Decision: event.TryAgain})
		for _, w := range c.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%v: %q is not in\n%s", c.flags, w, &out)
			}
		}
		if strings.Contains(out.String(), c.not) {
			t.Errorf("%v: %q is in\n%s", c.flags, c.not, &out)
		}
	}
}

// A calm report has the phases, what goes wrong and how far it is, not each step that went well; it is calm as long as
// it is to be.
func TestACalmReport(t *testing.T) {
	var out bytes.Buffer
	pl := NewPlain(&out, i18n.NewPrinter(i18n.English))
	pl.Calm, pl.Usual = true, state.History{"up": 40 * time.Second}
	l := tell(pl)
	begin(l, "deploy")
	l.at(1, event.HostState{Host: "master-1", State: "connected"}, event.PhaseStarted{Phase: "infra"},
		event.StepStarted{Step: "up/master-1", Try: 1},
		event.Change{Host: "master-1", Step: "up/master-1", Desc: event.M("a change")})
	for i := range 40 {
		l.at(2+float64(i), event.Progress{Host: "master-1", Step: "up/master-1", What: "images.tar",
			Done: int64(i) << 20, Total: 100 << 20})
		pl.Tick(l.now)
	}
	text := out.String()
	for _, w := range []string{"0 of ", "steps are done", "images.tar", "usually 40s"} {
		if strings.Count(text, w) != 1 {
			t.Errorf("%q is there %d times:\n%s", w, strings.Count(text, w), text)
		}
	}
	if strings.Contains(text, "connected") || strings.Contains(text, "a change") {
		t.Errorf("it is not calm:\n%s", text)
	}
	l.at(50, event.StepEnded{Step: "up/master-1", Outcome: event.Changed, Took: time.Second})
	pl.Calmly(false)
	l.at(51, event.StepStarted{Step: "pki", Try: 1}, event.StepEnded{Step: "pki", Outcome: event.OK},
		event.PhaseEnded{Phase: "infra", Outcome: event.OK})
	pl.Calmly(true)
	l.at(52, event.RunEnded{Outcome: event.Changed})
	if text = out.String(); strings.Count(text, "Uploading images") != 1 ||
		!strings.Contains(text, "Making certificates") || strings.Contains(text, "|--") ||
		!strings.Contains(text, "Infrastructure: 50s") {
		t.Errorf("%s", text)
	}
}

// A step that waits for a kubelet to register tries every second; it is waiting, and has not failed six times.
func TestStepTitle_StepsThatPollHaveNoAttempts(t *testing.T) {
	fault := event.Fault{Code: "check.node-absent", Node: "n1", Args: map[string]string{"node": "n1"}}
	for _, test := range []struct {
		polls       bool
		title, line string
	}{
		{true, "Join the cluster", "Join the cluster: waiting: "},
		{false, "Join the cluster (attempt 6)", "Join the cluster: attempt 5 failed, retrying in 2.0s: "},
	} {
		var out bytes.Buffer
		p := i18n.NewPrinter(i18n.English)
		l := tell(NewPlain(&out, p))
		l.at(0, event.PlanMade{Steps: []event.Step{{ID: "join/n1", Host: "n1", Title: event.M("step.bootstrap.join"),
			Polls: test.polls}}})
		l.at(1, event.StepStarted{Step: "join/n1", Try: 5},
			event.StepRetry{Step: "join/n1", Try: 5, Delay: 2 * time.Second, Fault: fault},
			event.StepStarted{Step: "join/n1", Try: 6})
		st := state.Step{Step: event.Step{Title: event.M("step.bootstrap.join"), Polls: test.polls}}
		if got := StepTitle(p, &st, 6); got != test.title {
			t.Errorf("polls %v: title %q, not %q", test.polls, got, test.title)
		}
		if !strings.Contains(out.String(), test.line) {
			t.Errorf("polls %v: no %q in\n%s", test.polls, test.line, out.String())
		}
	}
}
