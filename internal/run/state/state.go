// Package state reduces the events of a run to everything that a front end shows. It is pure: the same records give
// the same state, live or read back from events.jsonl, in any front end. It has no clock; ages are asked for with a
// time.
//
// Its memory is bounded by the plan, whatever the nodes print.
package state

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Bounds of what is kept; of lines, changes and notices up to twice as many.
const (
	KeepLines   = 100  // lines of output per host
	KeepLine    = 1024 // bytes of a line
	FailLines   = 15   // lines kept with a failure
	KeepChanges = 2000
	StepChanges = 20 // changes kept with a step, the first
	KeepNotices = 500
)

// State of a run. The slices are in the order in which things were planned or happened. Read it, do not change it.
type State struct {
	Run     event.RunStarted
	Started time.Time
	Now     time.Time // of the last record
	Seq     uint64
	Ended   *event.RunEnded

	Phases   []*Phase
	Hosts    []*Host // the jump host, "", comes last if anything runs there
	Counts   map[event.Outcome]int
	Total    int // steps of the plan
	Active   []*Step
	Failures []*Failure
	Open     []*Question // of those that somebody is to answer, the oldest first
	Findings []event.Finding
	Notices  []Notice
	Changes  []event.Change // the newest
	Changed  int            // changes announced in all

	Transfers []*Transfer // running

	set       time.Duration // by how much the clock was set since the run began
	alone     bool          // what fails is decided by --on-failure: nobody is asked
	steps     map[string]*Step
	order     []*Step
	barriers  []event.Barrier
	phases    map[string]*Phase
	hosts     map[string]*Host
	transfers map[transferKey]*Transfer
}

// Phase of the plan.
type Phase struct {
	ID      string
	Title   event.Msg
	Total   int
	Ended   int // steps
	Counts  map[event.Outcome]int
	Start   time.Time // zero before it started
	End     time.Time // zero before it ended
	Outcome event.Outcome
	Fault   *event.Fault
}

// Host and what goes on there.
type Host struct {
	event.Host
	Connection string // connecting, connected, lost, closed; "" before the first try
	Fault      *event.Fault
	Total      int
	Ended      int // steps
	Counts     map[event.Outcome]int
	Active     []*Step
	Steps      []*Step // all, in the order of the plan
	Done       []*Step // that have ended, in the order in which they did
	Last       *Step   // that ended last
	Lines      []Line
	Changed    int       // changes announced
	Heard      time.Time // when one of its steps last began, ended, printed, made progress or gave notice
}

// Outcome of a host so far is the gravest of its steps'; "" before the first has ended.
func (h *Host) Outcome() event.Outcome {
	for _, o := range []event.Outcome{event.Failed, event.Unknown, event.Blocked, event.Interrupted, event.Changed,
		event.Ignored, event.OK, event.Skipped} {
		if h.Counts[o] > 0 {
			return o
		}
	}
	return ""
}

// Since is when the step began what it does now: its first try, or the one that a person asked for.
func (st *Step) Since() time.Time {
	if st.Again.After(st.Start) {
		return st.Again
	}
	return st.Start
}

// Step of the plan.
type Step struct {
	event.Step
	Try     int // 0 before it started
	Start   time.Time
	End     time.Time
	Took    time.Duration
	Outcome event.Outcome // "" while it waits or runs
	Why     *event.Msg
	Fault   *event.Fault  // of the last failed try
	Pause   time.Time     // while it waits for its next try: until when
	Delay   time.Duration // of that pause
	Undone  bool
	Asked   bool           // it failed, and somebody is to decide what becomes of it
	Again   time.Time      // when a person last had it tried again
	Waits   *event.Waiting // what its command waits for, if it has been silent since that was told
	Said    *event.Msg     // its newest notice while it runs: how far it is, where nothing else says that
	Changes []event.Msg    // announced by it, the first of them
	Changed int            // changes announced in all
	Sent    int64          // bytes of the transfers of it that are over
	told    int            // findings of the run when its newest try began
}

// Running says whether the step has started and not ended.
func (s *Step) Running() bool { return s.Try > 0 && s.Outcome == "" }

// Line that a node printed.
type Line struct {
	Time   time.Time
	Step   string
	Stream string
	Text   string
}

// Notice with its time.
type Notice struct {
	event.Notice
	Time time.Time
}

// Question is a step that failed for good and waits for somebody to decide what becomes of it, with the last lines that
// it printed.
type Question struct {
	Step  *Step
	Try   int
	Fault event.Fault
	Since time.Time
	Lines []Line
}

// Failure is a step that failed for good (or was allowed to), with the last lines that it printed.
type Failure struct {
	Step  *Step
	Fault event.Fault
	Lines []Line
}

// New makes the state of a run of which nothing is known yet.
func New() *State {
	return &State{
		Counts: map[event.Outcome]int{}, steps: map[string]*Step{}, phases: map[string]*Phase{},
		hosts:     map[string]*Host{},
		transfers: map[transferKey]*Transfer{},
	}
}

// Step gives the step with that ID, nil if the plan has none.
func (s *State) Step(id string) *Step { return s.steps[id] }

// Alone says whether nobody is asked what becomes of a step that failed, for the command line has said it.
func (s *State) Alone() bool { return s.alone }

// Steps gives all steps, in the order of the plan.
func (s *State) Steps() []*Step { return s.order }

// Host gives the host with that name, nil if there is none.
func (s *State) Host(name string) *Host { return s.hosts[name] }

// Phase gives the phase with that ID, nil if there is none.
func (s *State) Phase(id string) *Phase { return s.phases[id] }

// Elapsed is the run's time so far, or in all when it has ended.
func (s *State) Elapsed() time.Duration { return s.Now.Sub(s.Started) }

// At is the time of day as the log of the run counts it: as if nobody had set the clock since the run began.
func (s *State) At(now time.Time) time.Time { return now.Round(0).Add(-s.set) }

// Apply takes the next record.
func (s *State) Apply(r event.Record) {
	s.Seq, s.Now = r.Seq, r.Time
	if s.Started.IsZero() {
		s.Started = r.Time
	}
	switch e := r.Event.(type) {
	case event.RunStarted:
		s.Run, s.alone = e, false
		for i := 0; i+1 < len(e.Flags); i += 2 {
			s.alone = s.alone || e.Flags[i] == "--on-failure" && e.Flags[i+1] != "ask"
		}
	case event.PlanMade:
		s.plan(e)
	case event.HostState:
		h := s.host(e.Host)
		h.Connection, h.Fault = e.State, e.Fault
	case event.Finding:
		s.Findings = append(s.Findings, e)
	case event.PhaseStarted:
		s.phase(e.Phase).Start = r.Time
	case event.PhaseEnded:
		p := s.phase(e.Phase)
		p.End, p.Outcome, p.Fault = r.Time, e.Outcome, e.Fault
	case event.StepStarted, event.StepRetry, event.StepAsked, event.StepDecided, event.StepEnded, event.StepUndone:
		s.stepEvent(r)
	case event.Change:
		s.Changed++
		s.host(e.Host).Changed++
		if st := s.steps[e.Step]; st != nil {
			st.Changed++
			if len(st.Changes) < StepChanges {
				st.Changes = append(st.Changes, e.Desc)
			}
		}
		s.Changes = push(s.Changes, e, KeepChanges)
	case event.Notice:
		s.Notices = push(s.Notices, Notice{e, r.Time}, KeepNotices)
		if st := s.steps[e.Step]; st != nil && st.Running() {
			st.Said, s.host(st.Host).Heard = &e.Text, r.Time
		}
		if by, err := time.ParseDuration(e.Text.Args["by"]); err == nil && e.Text.Key == event.ClockSet {
			s.set += by
		}
	case event.Waiting:
		if st := s.steps[e.Step]; st != nil && st.Running() {
			st.Waits = &e
		}
	case event.Output:
		h := s.host(e.Host)
		h.Lines, h.Heard = push(h.Lines, Line{r.Time, e.Step, e.Stream, cut(e.Line)}, KeepLines), r.Time
		if st := s.steps[e.Step]; st != nil {
			st.Waits = nil
		}
	case event.Progress:
		s.progress(r.Time, e)
		if h := s.hosts[e.Host]; h != nil {
			h.Heard = r.Time
		}
	case event.RunEnded:
		s.Ended, s.Open = &e, nil
	}
}

func (s *State) plan(e event.PlanMade) {
	for _, p := range e.Phases {
		s.phase(p.ID).Title = p.Title
	}
	for _, h := range e.Hosts {
		s.host(h.Name).Host = h
	}
	for _, st := range e.Steps {
		s.step(st.ID, st)
	}
	s.barriers = append(s.barriers, e.Barriers...) // a run that takes itself back has a second plan
}

func (s *State) phase(id string) *Phase {
	p := s.phases[id]
	if p == nil {
		p = &Phase{ID: id, Title: event.M(id), Counts: map[event.Outcome]int{}}
		s.phases[id] = p
		s.Phases = append(s.Phases, p)
	}
	return p
}

func (s *State) host(name string) *Host {
	h := s.hosts[name]
	if h == nil {
		h = &Host{Host: event.Host{Name: name}, Counts: map[event.Outcome]int{}}
		s.hosts[name] = h
		s.Hosts = append(s.Hosts, h)
	}
	return h
}

// step gives the step, which it makes from def if it is new: a log may lack the plan, and is shown all the same.
func (s *State) step(id string, def event.Step) *Step {
	st := s.steps[id]
	if st == nil {
		st = &Step{Step: def}
		s.steps[id] = st
		s.order = append(s.order, st)
		s.Total++
		s.phase(def.Phase).Total++
		h := s.host(def.Host)
		h.Total++
		h.Steps = append(h.Steps, st)
	}
	return st
}

func (s *State) stepEvent(r event.Record) {
	get := func(id string) *Step { return s.step(id, event.Step{ID: id, Title: event.M(id)}) }
	switch e := r.Event.(type) {
	case event.StepStarted:
		st := get(e.Step)
		if st.Try == 0 || st.Outcome != "" {
			st.Start, s.host(st.Host).Heard = r.Time, r.Time
			s.activate(st)
		}
		st.Try, st.Pause, st.Delay, st.Outcome, st.Waits, st.Said = e.Try, time.Time{}, 0, "", nil, nil
		st.told = len(s.Findings)
		s.answered(st)
	case event.StepRetry:
		st := get(e.Step)
		st.Pause, st.Delay, st.Fault, st.Waits = r.Time.Add(e.Delay), e.Delay, &e.Fault, nil
		s.dropTransfers(st)
	case event.StepAsked:
		st := get(e.Step)
		s.answered(st)
		st.Fault, st.Waits = &e.Fault, nil
		s.dropTransfers(st)
		if s.alone {
			return
		}
		st.Asked = true
		s.Open = append(s.Open, &Question{Step: st, Try: e.Try, Fault: e.Fault, Since: r.Time,
			Lines: s.host(st.Host).LinesOf(st.ID, FailLines)})
	case event.StepDecided:
		st := get(e.Step)
		s.answered(st)
		if e.Decision == event.TryAgain { // how long a person thought is no time of the step's
			st.Again, s.host(st.Host).Heard = r.Time, r.Time
		}
	case event.StepEnded:
		st := get(e.Step)
		s.answered(st)
		if st.Start.IsZero() {
			st.Start = r.Time
		}
		s.deactivate(st)
		st.End, st.Took, st.Outcome, st.Why, st.Pause, st.Waits = r.Time, e.Took, e.Outcome, e.Why, time.Time{}, nil
		if e.Fault != nil {
			st.Fault = e.Fault
		}
		h := s.host(st.Host)
		h.Last, h.Heard, h.Done = st, r.Time, append(h.Done, st)
		for _, c := range []map[event.Outcome]int{s.Counts, s.phase(st.Phase).Counts, h.Counts} {
			c[e.Outcome]++
		}
		s.phase(st.Phase).Ended++
		h.Ended++
		s.dropTransfers(st)
		if e.Fault != nil && e.Outcome != event.Interrupted {
			s.Failures = append(s.Failures, &Failure{Step: st, Fault: *e.Fault, Lines: h.LinesOf(st.ID, FailLines)})
		}
	case event.StepUndone:
		get(e.Step).Undone = e.Outcome.Done()
	}
}

// answered closes the question about the step.
func (s *State) answered(st *Step) {
	if !st.Asked {
		return
	}
	st.Asked = false
	for i, q := range s.Open {
		if q.Step == st {
			s.Open = append(s.Open[:i:i], s.Open[i+1:]...)
			return
		}
	}
}

func (s *State) activate(st *Step) {
	s.Active = append(s.Active, st)
	h := s.host(st.Host)
	h.Active, h.Done = append(h.Active, st), without(h.Done, st) // it may have ended before, and run again
}

func (s *State) deactivate(st *Step) {
	s.Active = without(s.Active, st)
	h := s.host(st.Host)
	h.Active = without(h.Active, st)
}

// Doing is the step that says most about the host now: of those that run the newest, and what the host does itself
// before what is sent to it; else the one that ended last. It is nil before the first.
func (h *Host) Doing() *Step {
	if len(h.Active) == 0 {
		return h.Last
	}
	doing := h.Active[0]
	for _, st := range h.Active {
		if st.Lane == "" {
			doing = st
		}
	}
	return doing
}

// LinesOf gives the last n lines that the step printed on the host, of those that are kept.
func (h *Host) LinesOf(step string, n int) []Line {
	var out []Line
	for i := len(h.Lines) - 1; i >= 0 && len(out) < n; i-- {
		if h.Lines[i].Step == step {
			out = append(out, h.Lines[i])
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// push appends to a list of bounded length: the newest keep at least, twice as many at most, so that it is moved only
// now and then.
func push[T any](list []T, x T, keep int) []T {
	if len(list) == 2*keep {
		n := copy(list, list[keep:])
		clear(list[n:])
		list = list[:n]
	}
	return append(list, x)
}

func without(list []*Step, st *Step) []*Step {
	for i, x := range list {
		if x == st {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

func cut(s string) string {
	if len(s) <= KeepLine {
		return s
	}
	n := KeepLine
	for n > 0 && s[n]&0xc0 == 0x80 { // in the middle of a character
		n--
	}
	return string(append([]byte(nil), s[:n]...)) + "…" // a copy: s[:n] would keep all of s
}
