package state

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// teller tells a state a story, at the second that is said.
type teller struct {
	s   *State
	seq uint64
	log []event.Record
}

func (l *teller) at(sec float64, e event.Event) {
	l.seq++
	r := event.Record{Seq: l.seq, Time: t0.Add(time.Duration(sec * float64(time.Second))), Event: e}
	l.log = append(l.log, r)
	l.s.Apply(r)
}

func newTeller() *teller {
	l := &teller{s: New()}
	l.at(0, event.RunStarted{Run: "r", Cluster: "c", Verb: "deploy"})
	step := func(id, phase, title string, needs ...string) event.Step {
		_, host, _ := strings.Cut(id, "/")
		return event.Step{ID: id, Phase: phase, Host: host, Title: event.M(title), Needs: needs}
	}
	l.at(0, event.PlanMade{
		Phases: []event.Phase{{ID: "infra", Title: event.M("Infra")}, {ID: "etcd", Title: event.M("Etcd")}},
		Hosts: []event.Host{{Name: "n1", Addr: "10.0.0.1", Roles: []string{"master", "etcd"}},
			{Name: "n2", Addr: "10.0.0.2"}},
		Steps: []event.Step{
			step("up/n1", "infra", "upload"), step("up/n2", "infra", "upload"), step("pki", "infra", "pki"),
			step("etcd/n1", "etcd", "start", "up/n1", "pki"), step("join/n2", "etcd", "join", "etcd/n1"),
		},
	})
	return l
}

// tell is a run with a retry, a failure and what it blocks.
func tell() *teller {
	l := newTeller()
	l.at(0, event.HostState{Host: "n1", State: "connected"})
	l.at(0, event.PhaseStarted{Phase: "infra"})
	l.at(0, event.StepStarted{Step: "pki", Try: 1})
	l.at(0, event.StepStarted{Step: "up/n1", Try: 1})
	l.at(0, event.StepStarted{Step: "up/n2", Try: 1})
	l.at(1, event.StepEnded{Step: "pki", Outcome: event.OK, Took: time.Second})
	l.at(1, event.Change{Host: "n1", Step: "up/n1", Desc: event.M("write", "path", "/x")})
	l.at(1, event.Progress{Host: "n1", Step: "up/n1", What: "img", Done: 100, Total: 1000})
	l.at(2, event.StepRetry{Step: "up/n2", Try: 1, Delay: 2 * time.Second, Fault: event.Fault{Code: "busy"}})
	l.at(3, event.Progress{Host: "n1", Step: "up/n1", What: "img", Done: 300, Total: 1000})
	return l
}

func TestInTheMiddleOfARun(t *testing.T) {
	l := tell()
	s := l.s
	tr := s.Transfer("n1", "up/n1", "img")
	if left, ok := tr.Left(); tr.Rate() != 100 || !ok || left != 7*time.Second || len(s.Transfers) != 1 {
		t.Error(tr.Rate(), left, ok)
	}
	if st := s.Step("up/n2"); !st.Running() || !st.Pause.Equal(t0.Add(4*time.Second)) || st.Fault.Code != "busy" {
		t.Errorf("%+v", st)
	}
	if len(s.Active) != 2 || s.Host("n1").Connection != "connected" || s.Phase("infra").Ended != 1 ||
		s.Phase("infra").Total != 3 || s.Changed != 1 || s.Total != 5 {
		t.Errorf("%+v", s)
	}
	if s.Elapsed() != 3*time.Second {
		t.Error(s.Elapsed())
	}
	var names []string
	for _, h := range s.Hosts {
		names = append(names, h.Name)
	}
	if d := cmp.Diff([]string{"n1", "n2", ""}, names); d != "" {
		t.Error(d)
	}
}

func TestToTheEnd(t *testing.T) {
	l := tell()
	l.at(4, event.StepStarted{Step: "up/n2", Try: 2})
	l.at(5, event.StepEnded{Step: "up/n2", Outcome: event.Changed, Took: 5 * time.Second})
	l.at(9, event.StepEnded{Step: "up/n1", Outcome: event.Changed, Took: 9 * time.Second})
	l.at(9, event.PhaseEnded{Phase: "infra", Outcome: event.Changed})
	l.at(9, event.StepStarted{Step: "etcd/n1", Try: 1})
	for i := range 20 {
		l.at(10, event.Output{Host: "n1", Step: "etcd/n1", Stream: "stderr", Line: fmt.Sprint(i)})
		l.at(10, event.Output{Host: "n1", Step: "other", Stream: "stderr", Line: "noise"})
	}
	l.at(12, event.StepEnded{Step: "etcd/n1", Outcome: event.Failed, Took: 3 * time.Second,
		Fault: &event.Fault{Code: "etcd", Node: "n1"}})
	why := event.M("engine.blocked", "step", "etcd/n1")
	l.at(12, event.StepEnded{Step: "join/n2", Outcome: event.Blocked, Why: &why})
	l.at(12, event.StepUndone{Step: "up/n1", Outcome: event.Changed})
	l.at(12, event.RunEnded{Outcome: event.Failed, Exit: 1})
	s := l.s
	if d := cmp.Diff(map[event.Outcome]int{event.OK: 1, event.Changed: 2, event.Failed: 1, event.Blocked: 1},
		s.Counts); d != "" {
		t.Error(d)
	}
	f := s.Failures[0]
	if len(s.Failures) != 1 || f.Step.ID != "etcd/n1" || len(f.Lines) != FailLines || f.Lines[0].Text != "5" ||
		f.Lines[14].Text != "19" {
		t.Errorf("%+v", f)
	}
	if len(s.Active) != 0 || len(s.Transfers) != 0 || s.Host("n1").Outcome() != event.Failed ||
		s.Host("n2").Outcome() != event.Blocked || s.Ended.Exit != 1 || !s.Step("up/n1").Undone {
		t.Errorf("%+v", s)
	}
	var path, chain []string
	for _, x := range s.CriticalPath() {
		path = append(path, x.Step)
	}
	for _, x := range s.LongestChain() {
		chain = append(chain, x.Step)
	}
	if d := cmp.Diff([][]string{{"up/n1", "etcd/n1"}, {"up/n1", "etcd/n1"}}, [][]string{path, chain}); d != "" {
		t.Error(d)
	}
	rows := s.ByTitle()
	if d := cmp.Diff(Row{Title: event.M("upload"), Phase: "infra", Steps: 2, Sum: 14 * time.Second,
		Max: 9 * time.Second, Host: "n1", Wall: 9 * time.Second}, rows[0]); d != "" || len(rows) != 3 {
		t.Error(d, rows)
	}
	phases := s.ByPhase()
	if len(phases) != 2 || phases[0].Title.Key != "Infra" || phases[0].Wall != 9*time.Second ||
		phases[1].Wall != 3*time.Second {
		t.Errorf("%+v", phases)
	}
}

func TestReplayingTheLogGivesTheSameState(t *testing.T) {
	live, again := tell(), New()
	for _, r := range live.log {
		line, err := event.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := event.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		again.Apply(back)
	}
	if !reflect.DeepEqual(live.s, again) {
		t.Error("the states differ")
	}
	again.Apply(event.Record{Seq: 99, Time: t0, Event: event.StepStarted{Step: "etcd/n1", Try: 1}})
	if reflect.DeepEqual(live.s, again) {
		t.Error("the comparison sees nothing")
	}
}

func TestALogWithoutAPlanIsStillShown(t *testing.T) {
	s := New()
	s.Apply(event.Record{Seq: 1, Time: t0, Event: event.StepStarted{Step: "a", Try: 1}})
	s.Apply(event.Record{Seq: 2, Time: t0, Event: event.StepEnded{Step: "b", Outcome: event.OK}})
	s.Apply(event.Record{Seq: 3, Time: t0, Event: event.Other{Type: "new"}})
	s.Apply(event.Record{Seq: 4, Time: t0, Event: event.PhaseEnded{Phase: "p"}})
	if s.Total != 2 || len(s.Active) != 1 || len(s.Timings()) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestWhenATransferHasNoRate(t *testing.T) {
	l := newTeller()
	say := func(sec float64, done, total int64) *Transfer {
		l.at(sec, event.Progress{Host: "n1", Step: "up/n1", What: "f", Done: done, Total: total})
		return l.s.Transfer("n1", "up/n1", "f")
	}
	if tr := say(0, 500, 1000); tr.Rate() != 0 {
		t.Error("one sample is no rate")
	}
	if tr := say(1, 100, 1000); tr.Rate() != 0 {
		t.Error("started again")
	}
	for i := range 300 {
		say(1+float64(i)/10, 100+int64(i), 1000)
	}
	if tr := say(31, 400, 1000); tr.Rate() < 9 || tr.Rate() > 11 || len(tr.samples) > 65 {
		t.Error(tr.Rate(), len(tr.samples))
	}
	if tr := say(32, 1000, 0); tr == nil {
		t.Error("of unknown length")
	} else if _, ok := tr.Left(); ok {
		t.Error("nobody can tell")
	}
	if say(33, 1000, 1000) != nil || len(l.s.Transfers) != 0 {
		t.Error("done is done")
	}
}

func TestMemoryIsBoundedByThePlan(t *testing.T) {
	s := New()
	var seq uint64
	apply := func(e event.Event) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: t0.Add(time.Duration(seq) * time.Millisecond), Event: e})
	}
	made := event.PlanMade{Phases: []event.Phase{{ID: "p"}}}
	for h := range 100 {
		made.Hosts = append(made.Hosts, event.Host{Name: fmt.Sprintf("n%d", h)})
		for i := range 200 {
			made.Steps = append(made.Steps, event.Step{ID: fmt.Sprintf("s%d/n%d", i, h), Phase: "p",
				Host: fmt.Sprintf("n%d", h), Title: event.M(fmt.Sprintf("s%d", i))})
		}
	}
	apply(made)
	long := strings.Repeat("值", 20<<10)
	start := time.Now()
	for _, st := range made.Steps {
		apply(event.StepStarted{Step: st.ID, Try: 1})
		for range 10 {
			apply(event.Output{Host: st.Host, Step: st.ID, Line: strings.Clone(long[:4000])})
		}
		apply(event.Change{Host: st.Host, Step: st.ID})
		apply(event.Notice{Host: st.Host})
		apply(event.StepEnded{Step: st.ID, Outcome: event.Changed})
	}
	t.Logf("%d records in %v", seq, time.Since(start))
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB", m.HeapAlloc>>20)
	}
	lines := s.Host("n7").Lines
	if len(lines) < KeepLines || len(lines) > 2*KeepLines || len(lines[0].Text) > KeepLine+3 ||
		!utf8.ValidString(lines[0].Text) {
		t.Error(len(lines), len(lines[0].Text))
	}
	if s.Changed != 20000 || len(s.Changes) > 2*KeepChanges || len(s.Notices) > 2*KeepNotices ||
		s.Counts[event.Changed] != 20000 {
		t.Error(s.Changed, len(s.Changes), len(s.Notices))
	}
	if rows := s.ByTitle(); len(rows) != 200 || rows[0].Steps != 100 {
		t.Error(len(rows))
	}
	runtime.KeepAlive(s)
}
