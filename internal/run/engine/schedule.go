package engine

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// runner is the state of one Run. Everything in it belongs to the goroutine of loop, except what a worker is given in
// its node while it runs; workers answer with a message.
type runner struct {
	ctx   context.Context
	plan  *Plan
	opts  Options
	nodes []*node // in the order of the plan

	phases   map[string]*phase
	lanes    []*lane
	hosts    map[string][]*node
	messages chan message
	busy     int     // goroutines that will send a message
	poked    []*lane // to be looked at by dispatch

	pauses    context.Context // ends when no new step may start, and with it the pauses before tries
	endPauses context.CancelFunc

	stopped     bool
	interrupted bool
	journal     error // of Emit
	hookFaults  []*event.Fault
	failures    []event.StepEnded
	order       []*node // as they ended
	undone      []string
	lost        map[string]bool // hosts that cannot be reached
	out         map[string]bool // hosts that are left out
	spared      map[string]bool // those of them that the others go on without
	leftOut     []string        // the same, in order
	hostOf      map[string]string
}

type state int

const (
	waiting state = iota // for needs
	ready                // for its lane, its limit or its phase's hook
	running              // a worker has it
	pausing              // between two tries
	asking               // somebody decides what becomes of its failure
	again                // the pause is over, or it is to be tried again; wants a place
	ended
)

type node struct {
	step       *Step
	at         int // place in the plan
	state      state
	waits      int // needs that are not done yet
	dependants []*node
	lane       *lane
	limit      *limit
	phase      *phase

	try        int
	slowness   float64 // of the work of the last try, 1 or more
	round      int     // tries made before it was decided to try again
	applied    bool    // Apply was called in this run
	start, end time.Time
	outcome    event.Outcome
	fault      *event.Fault // of the last try
	root       string       // the failed step that blocks this one
	barrier    bool         // no work: it has neither lane nor phase, and nobody hears of it
	undoFailed bool
}

type lane struct {
	at    int
	busy  *node
	ready []*node // in the order of the plan
	poked bool
}

type limit struct {
	free    int
	waiting map[*lane]bool
}

type phase struct {
	def    Phase
	nodes  []*node
	left   int
	state  phaseState
	result event.Outcome
}

type phaseState int

const (
	idle    phaseState = iota
	opening            // Before runs
	open
	closing // After runs
	closed
)

// message is what a goroutine of the run has to say: about a step, or about a phase's hook.
type message struct {
	node    *node
	phase   *phase
	woke    bool // the pause before the next try is over
	retry   bool
	pause   time.Duration
	failed  event.Outcome // it failed for good, and somebody is to decide
	answer  Decision      // of whom was asked
	outcome event.Outcome
	fault   *event.Fault
	journal error
}

func newRunner(ctx context.Context, plan *Plan, opts Options) *runner {
	r := &runner{ctx: ctx, plan: plan, opts: opts, phases: map[string]*phase{}, hosts: map[string][]*node{},
		messages: make(chan message), lost: map[string]bool{},
		out: map[string]bool{}, spared: map[string]bool{}, hostOf: map[string]string{}}
	r.pauses, r.endPauses = context.WithCancel(ctx)
	for _, ph := range plan.Phases {
		r.phases[ph.ID] = &phase{def: ph}
	}
	type laneKey struct{ host, lane string }
	lanes, limits, byID := map[laneKey]*lane{}, map[string]*limit{}, map[string]*node{}
	for i, s := range plan.Steps {
		k := laneKey{s.Host, s.Lane}
		if lanes[k] == nil {
			lanes[k] = &lane{at: len(r.lanes)}
			r.lanes = append(r.lanes, lanes[k])
		}
		n := &node{step: s, at: i, lane: lanes[k], phase: r.phases[s.Phase]}
		if s.Limit != "" {
			if limits[s.Limit] == nil {
				limits[s.Limit] = &limit{free: max(1, opts.Limits[s.Limit]), waiting: map[*lane]bool{}}
			}
			n.limit = limits[s.Limit]
		}
		n.phase.nodes = append(n.phase.nodes, n)
		n.phase.left++
		r.hosts[s.Host] = append(r.hosts[s.Host], n)
		r.nodes = append(r.nodes, n)
		byID[s.ID], r.hostOf[s.ID] = n, s.Host
	}
	all := slices.Clone(r.nodes)
	for _, s := range plan.barrierSteps() {
		byID[s.ID] = &node{step: s, barrier: true}
		all = append(all, byID[s.ID])
	}
	r.wire(all, byID)
	return r
}

// wire counts what each node waits for, and makes ready what waits for nothing.
func (r *runner) wire(all []*node, byID map[string]*node) {
	for _, n := range all {
		needs := slices.Clone(n.step.Needs)
		slices.Sort(needs)
		for _, id := range slices.Compact(needs) {
			n.waits++
			byID[id].dependants = append(byID[id].dependants, n)
		}
	}
	for _, n := range all {
		if n.waits == 0 && n.state == waiting {
			r.makeReady(n)
		}
	}
}

func (r *runner) loop() {
	cancelled, stop := r.ctx.Done(), r.opts.Stop
	if r.ctx.Err() != nil { // select would choose at random
		r.interrupt()
	}
	for {
		r.dispatch()
		if r.busy == 0 {
			return
		}
		select {
		case m := <-r.messages:
			r.busy--
			r.handle(m)
		case <-cancelled:
			cancelled = nil
			r.interrupt()
		case <-stop:
			stop = nil
			r.interrupt()
		}
	}
}

func (r *runner) interrupt() {
	r.interrupted = true
	r.halt()
}

// halt starts no new steps.
func (r *runner) halt() {
	r.stopped = true
	r.endPauses()
	for _, l := range r.lanes {
		if l.busy != nil && l.busy.state == again { // waits for a place that may never come
			r.poke(l)
		}
	}
}

func (r *runner) emit(e event.Event) {
	if r.journal != nil {
		return
	}
	if err := r.opts.Emit(e); err != nil {
		r.journalBroke(err)
	}
}

func (r *runner) journalBroke(err error) {
	if r.journal == nil {
		r.journal = err
	}
	r.halt()
}

// hook runs f in a goroutine and reports its fault as the phase's.
func (r *runner) hook(ph *phase, f func() *event.Fault) {
	r.busy++
	go func() {
		// unless f returns: a test's function may call FailNow
		m := message{phase: ph, fault: panicFault("runtime.Goexit", nil)}
		defer func() { r.messages <- m }()
		m.fault = f()
	}()
}

func (r *runner) pauseThenWake(n *node, d time.Duration) {
	r.busy++
	go func() {
		_ = r.opts.Sleep(r.pauses, d) // cut short by a halt; look finds out
		r.messages <- message{node: n, woke: true}
	}()
}

func (r *runner) handle(m message) {
	if m.journal != nil {
		r.journalBroke(m.journal)
	}
	switch n := m.node; {
	case n == nil && m.phase.state == opening:
		r.opened(m.phase, m.fault)
	case n == nil:
		r.closed(m.phase, m.fault)
	case m.woke:
		n.state = again
		r.poke(n.lane)
	case m.retry:
		r.release(n)
		n.state, n.fault = pausing, m.fault
		r.pauseThenWake(n, m.pause)
	case m.answer != "":
		r.answered(n, m)
	case m.failed != "":
		r.release(n)
		n.fault = m.fault
		r.ask(n, m.failed)
	default:
		r.release(n)
		n.fault = m.fault
		r.conclude(n, m.outcome, r.opts.OnFailure)
	}
}

func (r *runner) poke(l *lane) {
	if !l.poked {
		l.poked = true
		r.poked = append(r.poked, l)
	}
}

func (r *runner) makeReady(n *node) {
	if n.barrier {
		r.settle(n, event.OK)
		return
	}
	n.state = ready
	i, _ := slices.BinarySearchFunc(n.lane.ready, n, func(a, b *node) int { return a.at - b.at })
	n.lane.ready = slices.Insert(n.lane.ready, i, n)
	r.poke(n.lane)
}

func (r *runner) release(n *node) {
	if n.limit == nil {
		return
	}
	n.limit.free++
	from := len(r.poked)
	for l := range n.limit.waiting {
		r.poke(l)
	}
	clear(n.limit.waiting)
	slices.SortFunc(r.poked[from:], func(a, b *lane) int { return a.at - b.at }) // no chance in who is next
}

// dispatch starts what can start.
func (r *runner) dispatch() {
	for len(r.poked) > 0 {
		l := r.poked[0]
		r.poked = r.poked[1:]
		l.poked = false
		r.look(l)
	}
}

func (r *runner) look(l *lane) {
	if l.busy != nil {
		if n := l.busy; n.state == again {
			if r.out[n.step.Host] {
				r.endFailed(n, event.Failed, LeaveOut)
			} else if r.stopped {
				r.giveUp(n)
			} else if r.place(n) {
				r.start(n)
			}
		}
		return
	}
	if r.stopped {
		return
	}
	for i, n := range l.ready {
		if r.enter(n.phase) && r.place(n) {
			l.ready = slices.Delete(l.ready, i, i+1)
			l.busy = n
			r.start(n)
			return
		}
		if r.stopped { // opening the phase could not be journalled
			return
		}
	}
}

// place takes a place of the step's limit, if it has one.
func (r *runner) place(n *node) bool {
	switch {
	case n.limit == nil:
		return true
	case n.limit.free == 0:
		n.limit.waiting[n.lane] = true
		return false
	}
	n.limit.free--
	return true
}

func (r *runner) start(n *node) {
	n.state = running
	n.try++
	if n.try == 1 {
		n.start = r.opts.Now()
	}
	r.busy++
	go r.work(n)
}

// giveUp ends a step whose next try is not made because the run stops.
func (r *runner) giveUp(n *node) {
	n.end = r.opts.Now()
	r.emit(event.StepEnded{Step: n.step.ID, Outcome: event.Interrupted, Took: n.end.Sub(n.start), Fault: n.fault})
	if r.journal == nil {
		r.settle(n, event.Interrupted)
	} else {
		n.lane.busy = nil
	}
}

// settle books the end of a step that is in the journal, and frees its lane and those that need it.
func (r *runner) settle(n *node, o event.Outcome) {
	if !n.barrier && n.lane.busy == n {
		n.lane.busy = nil
		r.poke(n.lane)
	}
	if o == "" { // it could not be journalled, so it did not happen
		return
	}
	n.state, n.outcome = ended, o
	r.order = append(r.order, n)
	if o == event.Failed || o == event.Unknown {
		r.failures = append(r.failures, event.StepEnded{Step: n.step.ID, Outcome: o, Took: n.end.Sub(n.start),
			Fault: n.fault})
		n.root = n.step.ID
	}
	for _, d := range n.dependants {
		switch {
		case d.state != waiting:
		case o.Done() || o != event.Interrupted && d.step.Host != n.step.Host && r.spared[n.step.Host]:
			if d.waits--; d.waits == 0 {
				r.makeReady(d)
			}
		case o != event.Interrupted: // what an interrupted step holds up is left, not blocked
			r.block(d, n.root, event.M("engine.blocked", "step", n.root))
		}
	}
	if n.barrier {
		return
	}
	n.phase.left--
	if n.phase.left == 0 {
		r.leave(n.phase)
	}
}

// block ends a step that will not be tried, and by way of settle those that need it.
func (r *runner) block(n *node, root string, why event.Msg) {
	if n.state != waiting && n.state != ready || r.journal != nil {
		return
	}
	if n.state == ready {
		n.lane.drop(n)
	}
	n.root = root
	if !n.barrier {
		n.end = r.opts.Now()
		r.emit(event.StepEnded{Step: n.step.ID, Outcome: event.Blocked, Why: &why})
	}
	if r.journal == nil {
		r.settle(n, event.Blocked)
	}
}
