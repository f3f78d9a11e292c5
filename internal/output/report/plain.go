// Package report has the headless front ends: plain lines for people and CI logs, JSON lines for programs. Both are
// sinks of the event bus; what they print comes from the records and from run/state alone. They assume no terminal: no
// colours, no widths, no cursor.
//
// A writer that fails (a closed pipe) silences the report and does not stop the run.
package report

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

const (
	// progressEvery is how often a transfer is told of; with many at once each is told of less often.
	progressEvery = 2 * time.Second
	// silence is how long nothing is printed before a line says what is being waited for.
	silence = 10 * time.Second
	// calmSilence is that time for whoever hears the report.
	calmSilence = 30 * time.Second
	// beatSteps is how many running steps such a line names.
	beatSteps = 3
)

// Plain prints one line for every event that means something to a person. It is safe for concurrent use.
type Plain struct {
	// Debug prints also what the nodes print. Set it before the first record.
	Debug bool
	// Calm is for ears: phases, what went wrong, what is said to a person and how far it is, but not each step and
	// change that went well. Set it with Calmly once records have come.
	Calm bool
	// Usual is how long steps took in earlier runs; nil: nobody knows.
	Usual state.History

	mu    sync.Mutex
	w     io.Writer
	p     *i18n.Printer
	state *state.State
	err   error
	out   strings.Builder
	last  time.Time // when something was printed, by the clock of the records
	told  map[string]time.Time
	// reason is why a step was tried again, as last told
	reason map[string]string
	hosts  int // width of the column of hosts
	words  int // and of outcomes
}

// NewPlain makes a plain report on w.
func NewPlain(w io.Writer, p *i18n.Printer) *Plain {
	pl := &Plain{w: w, p: p, state: state.New(), told: map[string]time.Time{}, reason: map[string]string{},
		hosts: document.Width(p.T("report.jump-host"))}
	for _, o := range outcomes() {
		pl.words = max(pl.words, document.Width(pl.outcome(o)))
	}
	return pl
}

// Calmly sets Calm.
func (pl *Plain) Calmly(calm bool) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.Calm = calm
}

// Err is the first error of the writer.
func (pl *Plain) Err() error {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.err
}

// Emit takes the next record; it never fails.
func (pl *Plain) Emit(r event.Record) error {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.last.IsZero() {
		pl.last = r.Time
	}
	pl.state.Apply(r)
	pl.tell(r)
	pl.flush(r.Time)
	return nil
}

// Tick says what is waited for when nothing has been printed for ten seconds, thirty when it is calm. Call it about
// once a second; now is the clock of the bus.
func (pl *Plain) Tick(now time.Time) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	quiet := silence
	if pl.Calm {
		quiet = calmSilence
	}
	if pl.state.Seq == 0 || pl.state.Ended != nil || now.Sub(pl.last) < quiet {
		return
	}
	if pl.Calm {
		pl.line(now, "", pl.p.T("report.waiting"), pl.p.T("report.far", "done", itoa(pl.ended()), "total",
			itoa(pl.state.Total)))
	}
	pl.beat(now)
	pl.flush(now)
}

// Beat calls Tick every second until ctx ends.
func (pl *Plain) Beat(ctx context.Context, now func() time.Time) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			pl.Tick(pl.at(now()))
		case <-ctx.Done():
			return
		}
	}
}

func (pl *Plain) at(now time.Time) time.Time {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.state.At(now)
}

func (pl *Plain) flush(now time.Time) {
	if pl.out.Len() == 0 {
		return
	}
	pl.last = now
	if pl.err == nil {
		_, pl.err = io.WriteString(pl.w, pl.out.String())
	}
	pl.out.Reset()
}

// line prints: the time since the start, the host, a word, a text.
func (pl *Plain) line(at time.Time, host, word, text string) {
	pl.out.WriteString(padLeft(seconds(at.Sub(pl.state.Started)), 9))
	pl.out.WriteString("  ")
	pl.out.WriteString(pad(pl.host(host), pl.hosts))
	pl.out.WriteString("  ")
	pl.out.WriteString(pad(word, pl.words))
	pl.out.WriteString("  ")
	pl.out.WriteString(text)
	pl.out.WriteString("\n")
}

// below prints a line that belongs to the one above.
func (pl *Plain) below(text string) {
	pl.out.WriteString(strings.Repeat(" ", 11))
	pl.out.WriteString(text)
	pl.out.WriteString("\n")
}

func (pl *Plain) host(name string) string {
	if name == "" {
		return pl.p.T("report.jump-host")
	}
	return event.Clean(name)
}

func (pl *Plain) outcome(o event.Outcome) string { return pl.p.T("report.outcome." + string(o)) }

// verb of the run as the user's language has it.
func (pl *Plain) verb() string {
	if key := "report.verb." + pl.state.Run.Verb; pl.p.Has(key) {
		return pl.p.T(key)
	}
	return pl.state.Run.Verb
}

func outcomes() []event.Outcome {
	return []event.Outcome{event.Changed, event.OK, event.Skipped, event.Ignored, event.Failed, event.Unknown,
		event.Blocked, event.Interrupted}
}

// ended are the steps that have come to an end.
func (pl *Plain) ended() int {
	n := 0
	for _, c := range pl.state.Counts {
		n += c
	}
	return n
}

// spared says whether a calm report leaves the event out.
func (pl *Plain) spared(e event.Event) bool {
	switch e := e.(type) {
	case event.Change, event.Progress, event.Output, event.Waiting, event.StepAsked:
		// whoever listens to a calm report is asked
		return true
	case event.HostState:
		return e.State == "connected"
	case event.StepEnded:
		return e.Outcome.Done() && e.Fault == nil
	}
	return false
}

func (pl *Plain) tell(r event.Record) {
	if pl.Calm && pl.spared(r.Event) {
		return
	}
	p := pl.p
	switch e := r.Event.(type) {
	case event.RunStarted:
		key := "report.run-started"
		if e.Resumed {
			key = "report.run-resumed"
		}
		pl.out.WriteString(p.T(key, "verb", pl.verb(), "cluster", e.Cluster, "run", e.Run, "version", e.Version) + "\n")
	case event.PlanMade:
		for _, h := range e.Hosts {
			pl.hosts = max(pl.hosts, min(24, document.Width(event.Clean(h.Name))))
		}
		pl.out.WriteString(p.T("report.plan", "steps", itoa(len(e.Steps)), "phases", itoa(len(e.Phases)), "hosts",
			itoa(len(e.Hosts))) + "\n")
	case event.HostState:
		pl.hostState(r.Time, e)
	case event.Finding:
		pl.line(r.Time, e.Host, p.T("report.severity."+string(e.Severity)), "")
		pl.trimmed(func() { pl.fault(&e.Fault) })
	case event.PhaseStarted:
		pl.out.WriteString(padLeft(seconds(r.Time.Sub(pl.state.Started)), 9) + "  == " + p.T("report.phase-started",
			"phase", p.Msg(pl.state.Phase(e.Phase).Title)) + "\n")
	case event.PhaseEnded:
		pl.phaseEnded(r.Time, e)
	case event.Change:
		pl.line(r.Time, e.Host, p.T("report.change"), p.Msg(Sized(e.Desc)))
	case event.Notice:
		pl.line(r.Time, pl.hostOf(e.Host, e.Step), p.T("report.notice"), p.Msg(Sized(e.Text)))
	case event.Waiting: // Tick says it
	case event.Output:
		if pl.Debug {
			pl.line(r.Time, e.Host, "|", e.Line)
		}
	case event.Progress:
		pl.progress(r.Time, e)
	case event.RunEnded:
		pl.summary(e)
	case event.Other:
		if pl.Debug { // of a newer program: what it says is shown as it came
			pl.line(r.Time, "", event.Clean(e.Type), event.Clean(string(e.Raw)))
		}
	default:
		pl.tellStep(r)
	}
}

func (pl *Plain) tellStep(r event.Record) {
	p := pl.p
	switch e := r.Event.(type) {
	case event.StepRetry:
		st := pl.state.Step(e.Step)
		text, _ := p.Fault(&e.Fault)
		// A step that waits for something tries often, and mostly for the same reason: the reason is told once, until
		// it changes.
		if pl.reason[e.Step] == text {
			return
		}
		pl.reason[e.Step] = text
		if st.Polls {
			pl.line(r.Time, st.Host, p.T("report.polls"),
				p.T("report.polls-text", "step", p.Msg(st.Title), "fault", text))
			return
		}
		pl.line(r.Time, st.Host, p.T("report.retry"),
			p.T("report.retry-text", "step", p.Msg(st.Title), "try", itoa(e.Try), "delay", Short(e.Delay), "fault",
				text))
	case event.StepAsked:
		if st := pl.state.Step(e.Step); !pl.state.Alone() {
			pl.line(r.Time, st.Host, p.T("report.asked"),
				p.T("report.asked-text", "step", p.Msg(st.Title), "cluster", pl.state.Run.Cluster))
			pl.fault(&e.Fault)
		}
	case event.StepDecided:
		switch st := pl.state.Step(e.Step); {
		case e.Decision != event.TryAgain:
		case pl.state.Alone():
			text, _ := p.Fault(st.Fault)
			pl.line(r.Time, st.Host, p.T("report.retry"),
				p.T("report.decided-retry", "step", p.Msg(st.Title), "fault", text))
		default:
			pl.line(r.Time, st.Host, p.T("report.retry"), p.T("report.decided-again", "step", p.Msg(st.Title)))
		}
	case event.StepEnded:
		pl.stepEnded(r.Time, e)
	case event.StepUndone:
		st := pl.state.Step(e.Step)
		key := "report.undone"
		if e.Fault != nil {
			key = "report.not-undone"
		}
		pl.line(r.Time, st.Host, p.T(key), p.Msg(st.Title)+took(e.Took))
		if e.Fault != nil {
			pl.fault(e.Fault)
		}
	}
}

// hostOf is the host of an event that may name only its step.
func (pl *Plain) hostOf(host, step string) string {
	if st := pl.state.Step(step); host == "" && st != nil {
		return st.Host
	}
	return host
}

func (pl *Plain) hostState(at time.Time, e event.HostState) {
	switch e.State {
	case "connected", "lost":
		pl.line(at, e.Host, pl.p.T("report.connection"), pl.p.T("report.connection."+e.State))
		if e.Fault != nil {
			pl.fault(e.Fault)
		}
	}
}

func (pl *Plain) phaseEnded(at time.Time, e event.PhaseEnded) {
	ph := pl.state.Phase(e.Phase)
	if ph.Start.IsZero() && e.Outcome == event.Blocked && e.Fault == nil {
		// it never began: the summary counts its steps
		return
	}
	var spent time.Duration
	if !ph.Start.IsZero() {
		spent = ph.End.Sub(ph.Start)
	}
	pl.out.WriteString(padLeft(seconds(at.Sub(pl.state.Started)), 9) + "  == " +
		pl.p.T("report.phase-ended", "phase", pl.p.Msg(ph.Title), "outcome", pl.outcome(e.Outcome)) + took(spent) +
		"\n")
	if e.Fault != nil {
		pl.fault(e.Fault)
	}
}

func (pl *Plain) stepEnded(at time.Time, e event.StepEnded) {
	st := pl.state.Step(e.Step)
	if e.Outcome == event.Blocked { // a failure may block a thousand: the summary counts them
		return
	}
	text := pl.p.Msg(st.Title)
	if e.Took > 0 {
		text += took(e.Took)
	}
	if e.Why != nil {
		text = pl.p.T("report.because", "step", text, "why", pl.why(e.Why))
	}
	pl.line(at, st.Host, pl.outcome(e.Outcome), text)
	if e.Fault == nil || e.Outcome == event.Interrupted { // that it was stopped says all
		return
	}
	pl.fault(e.Fault)
	if h := pl.state.Host(st.Host); h != nil {
		for _, l := range h.LinesOf(e.Step, state.FailLines) {
			pl.below("| " + event.Clean(l.Text))
		}
	}
}

// why renders the reason of an outcome; a step that it names is shown with its title.
func (pl *Plain) why(m *event.Msg) string {
	st := pl.state.Step(m.Args["step"])
	if st == nil {
		return pl.p.Msg(*m)
	}
	step := pl.p.Msg(st.Title)
	if st.Host != "" {
		step += " (" + event.Clean(st.Host) + ")"
	}
	return pl.p.Msg(m.With("step", step))
}

// fault prints what is wrong and what to do, below the line that says where.
func (pl *Plain) fault(f *event.Fault) {
	text, next := pl.p.Fault(f)
	pl.below(text + " [" + event.Clean(f.Code) + "]")
	if next != "" {
		pl.below(pl.p.T("report.next", "next", next))
	}
}

// trimmed removes the empty text of the line before, and prints f below it.
func (pl *Plain) trimmed(f func()) {
	s := strings.TrimRight(pl.out.String(), " \n")
	pl.out.Reset()
	pl.out.WriteString(s + "\n")
	f()
}

func (pl *Plain) progress(at time.Time, e event.Progress) {
	key := e.Host + "\x00" + e.Step + "\x00" + e.What
	t := pl.state.Transfer(e.Host, e.Step, e.What)
	if t == nil { // it is complete
		delete(pl.told, key)
		return
	}
	since, known := pl.told[key]
	if !known {
		pl.told[key] = at
		return
	}
	if every := max(progressEvery, time.Duration(len(pl.state.Transfers))*progressEvery/4); at.Sub(since) < every {
		return
	}
	pl.told[key] = at
	pl.line(at, e.Host, pl.p.T("report.transfer"), pl.transfer(t))
}

// transferOf is what is being sent for the step, nil if nothing is.
func (pl *Plain) transferOf(st *state.Step) *state.Transfer {
	for _, t := range pl.state.Transfers {
		if t.Step == st.ID && t.Host == st.Host {
			return t
		}
	}
	return nil
}

func (pl *Plain) transfer(t *state.Transfer) string {
	text := event.Clean(t.What) + "  " + Size(t.Done)
	if t.Total > 0 {
		text += " / " + Size(t.Total) + "  " + itoa(int(100*float64(t.Done)/float64(t.Total))) + "%"
	}
	if rate := t.Rate(); rate > 0 {
		text += "  " + Size(int64(rate)) + "/s"
	}
	if left, ok := t.Left(); ok {
		text += "  " + pl.p.T("report.left", "time", Short(left))
	}
	return text
}

// beat names the steps that have been running longest.
func (pl *Plain) beat(now time.Time) {
	active := slices.Clone(pl.state.Active)
	slices.SortStableFunc(active, func(a, b *state.Step) int { return a.Start.Compare(b.Start) })
	p := pl.p
	if len(active) == 0 {
		pl.line(now, "", p.T("report.waiting"), p.T("report.idle", "time", Short(now.Sub(pl.state.Now))))
		return
	}
	for i, st := range active {
		if i == beatSteps {
			pl.below(p.T("report.more", "count", itoa(len(active)-i)))
			break
		}
		if st.Asked {
			pl.line(now, st.Host, p.T("report.asked"), p.T("report.asked-text", "step", p.Msg(st.Title), "cluster",
				pl.state.Run.Cluster))
			continue
		}
		text := p.T("report.still", "time", Short(now.Sub(st.Start)), "step", p.Msg(st.Title))
		if st.Pause.After(now) && st.Fault != nil {
			fault, _ := p.Fault(st.Fault)
			text += "; " + p.T("report.pausing", "time", Short(st.Pause.Sub(now)), "fault", fault)
		} else if t := pl.transferOf(st); pl.Calm && t != nil {
			text += "; " + pl.transfer(t)
		} else if h := pl.state.Host(st.Host); h != nil && !pl.Calm {
			if lines := h.LinesOf(st.ID, 1); len(lines) > 0 {
				text += "; " + p.T("report.last-line", "line", lines[0].Text)
			}
		}
		if st.Said != nil {
			if _, is := state.Until(*st.Said); is {
				text += "; " + p.Msg(AsOf(*st.Said, now))
			}
		}
		if st.Waits != nil {
			text += "; " + Awaits(p, st.Waits)
		}
		if usual, ok := pl.Usual.Usual(st); ok && usual > 0 {
			text += "; " + p.T("report.usual", "time", Short(usual))
		}
		pl.line(now, st.Host, p.T("report.waiting"), text)
	}
}
