package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Bounds of a status.
const (
	mostFailures = 5
	mostNotDone  = 20
	mostAsked    = 20
	mostChanges  = 200
	mostPhases   = 50
	mostText     = 1024
	mostChange   = 512
	mostName     = 253
)

// board is how far the run is: the records of the run reduced, and what is known besides. It is the Sink of the run.
type board struct {
	out io.Writer
	// woken has room for one: something has changed. urgent likewise: at once.
	woken, urgent chan struct{}
	asked         chan struct{} // has room for one: a question was asked

	mu     sync.Mutex
	is     v1.OperationStatus // what is not reduced from records
	run    *state.State
	others []v1.OperationFailure // of a deploy.yaml, of an inspection
	ended  bool
	stops  bool // spec.stop of the Operation is set
}

// newBoard returns the board of an attempt to do an Operation, whose status is that of the last attempt.
func newBoard(op *v1.Operation, name string, now time.Time, out io.Writer) *board {
	last := op.Status
	one := func() chan struct{} { return make(chan struct{}, 1) }
	b := &board{out: out, run: state.New(), woken: one(), urgent: one(), asked: one(), stops: op.Spec.Stop != ""}
	b.is = v1.OperationStatus{Phase: v1.PhasePending, PodName: name, Attempts: last.Attempts + 1,
		StartTime: last.StartTime}
	if b.is.StartTime == nil {
		b.is.StartTime = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	signal(b.urgent)
	return b
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Emit implements event.Sink. That stdout is gone is no reason to end a run.
func (b *board) Emit(r event.Record) error {
	if line, err := event.Encode(r); err == nil {
		_, _ = b.out.Write(append(line, '\n'))
	}
	b.mu.Lock()
	b.run.Apply(r)
	b.mu.Unlock()
	switch r.Event.(type) {
	case event.StepAsked:
		signal(b.asked)
		signal(b.urgent)
	case event.PhaseStarted, event.PhaseEnded, event.StepDecided, event.RunStarted, event.RunEnded:
		signal(b.urgent)
	default:
		signal(b.woken)
	}
	return nil
}

// set changes what is not reduced from records.
func (b *board) set(change func(*v1.OperationStatus)) {
	b.mu.Lock()
	change(&b.is)
	b.mu.Unlock()
	signal(b.urgent)
}

// waits reports who has the lock that the run waits for.
func (b *board) waits(holder journal.Holder) {
	f := failureOf("", "", holder.Held())
	b.set(func(st *v1.OperationStatus) { st.Failure = &f })
}

// stopped notes that spec.stop of the Operation is set.
func (b *board) stopped() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = true
}

// problems adds those of a deploy.yaml.
func (b *board) problems(_ string, list config.Problems) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range list {
		if p.Severity == event.Error {
			f := failureOf("", "", p.Fault())
			if p.Key != "" {
				f.Message = cut(p.Key+": "+f.Message, mostText)
			}
			b.others = append(b.others, f)
		}
	}
}

// found adds what an inspection has found.
func (b *board) found(findings []event.Finding, failed []event.Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range findings {
		if f.Severity == event.Error {
			b.others = append(b.others, failureOf("", f.Host, &f.Fault))
		}
	}
	for _, f := range failed {
		b.others = append(b.others, failureOf("", f.Node, &f))
	}
}

// open returns the IDs of the steps that a decision is wanted about.
func (b *board) open() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.run.Open {
		out = append(out, q.Step.ID)
	}
	return out
}

// end sets how the run has ended. The Operation of a run that failed has not: the Job may make another attempt. What
// failed is in the status until that begins, and the controller ends the Operation when the Job has failed.
func (b *board) end(err error) {
	code, class := exit(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.is.FinishTime = &metav1.Time{Time: time.Now().Truncate(time.Second)}
	b.is.ExitCode, b.is.ExitClass, b.is.Failure, b.is.Step = &code, class, nil, ""
	if err != nil {
		b.is.Failure = b.failure(event.AsFault(err))
	}
	switch {
	case err == nil:
		b.is.Phase = v1.PhaseSucceeded
	case b.stops:
		b.is.Phase = v1.PhaseStopped
	default:
		b.is.Phase = v1.PhaseRunning
	}
}

// failure returns what ended the run: the first step that failed, where the fault of the run only counts them.
func (b *board) failure(f *event.Fault) *v1.OperationFailure {
	out := failureOf("", f.Node, f)
	switch f.Code {
	case "run.failed", "run.reverted", "preflight.failed", "config.invalid":
		if list := b.failures(); len(list) > 0 {
			out = list[0]
		}
	}
	return &out
}

// failures are those of the run so far: steps, findings of preflight, problems of deploy.yaml.
func (b *board) failures() (out []v1.OperationFailure) {
	for _, f := range b.run.Failures {
		if f.Step.Outcome != event.Ignored {
			out = append(out, failureOf(f.Step.ID, f.Step.Host, &f.Fault))
		}
	}
	findings := slices.DeleteFunc(slices.Clone(b.run.Findings), func(f event.Finding) bool {
		return f.Severity != event.Error
	})
	if len(findings) > 0 { // say more than the step that failed for them
		out = slices.DeleteFunc(out, func(f v1.OperationFailure) bool { return f.Code == "preflight.failed" })
	}
	for _, f := range findings {
		out = append(out, failureOf("", f.Host, &f.Fault))
	}
	return append(out, b.others...)
}

// status returns the status as it is to be written.
func (b *board) status() *v1.OperationStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.is.DeepCopy()
	if b.run.Total > 0 || len(b.others) > 0 {
		out.Progress = b.progress()
	}
	if len(b.run.Active) > 0 {
		out.Step = cut(b.run.Active[0].ID, mostName)
	}
	if b.ended {
		out.Step = ""
		if out.Failure != nil {
			out.Step = out.Failure.Step
		}
		return out
	}
	for _, q := range b.run.Open[:min(len(b.run.Open), mostAsked)] {
		out.Asked = append(out.Asked, failureOf(q.Step.ID, q.Step.Host, &q.Fault))
	}
	if len(out.Asked) > 0 {
		out.Phase = v1.PhaseAsking
	}
	return out
}

// progress returns the counts of the phases, and who is not done.
func (b *board) progress() *v1.OperationProgress {
	p := &v1.OperationProgress{Total: int32(b.run.Total)}
	for _, ph := range b.run.Phases {
		p.Done += int32(ph.Ended)
		if ph.Total > 0 && len(p.Phases) < mostPhases {
			p.Phases = append(p.Phases, v1.PhaseProgress{Name: cut(ph.ID, mostName), Done: int32(ph.Ended),
				Total: int32(ph.Total), Failed: int32(ph.Counts[event.Failed])})
		}
	}
	for _, h := range b.run.Hosts {
		if h.Name != "" && !isDone(h) && len(p.NotDone) < mostNotDone {
			p.NotDone = append(p.NotDone, cut(h.Name, mostName))
		}
	}
	list := b.failures()
	p.Failures = list[:min(len(list), mostFailures)]
	return p
}

// isDone reports whether all steps of a machine have ended well.
func isDone(h *state.Host) bool {
	switch h.Outcome() {
	case event.Failed, event.Unknown, event.Blocked, event.Interrupted:
		return false
	case event.OK, event.Changed, event.Skipped, event.Ignored:
	}
	return h.Ended >= h.Total
}

// failureOf returns a fault as a status has it.
func failureOf(step, machine string, f *event.Fault) v1.OperationFailure {
	text, next := english(f)
	return v1.OperationFailure{Step: cut(step, mostText), Machine: cut(machine, mostName), Code: cut(f.Code, mostName),
		Message: cut(text, mostText), Next: cut(next, mostText)}
}

// cut bounds a text from elsewhere, in characters.
func cut(text string, most int) string {
	text = event.Clean(text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// planned sets the changes of a plan: the first of them, how many there are, and the digest of all.
func (b *board) planned(nodes []request.PlannedNode) {
	en, all, digest := i18n.NewPrinter(i18n.English), []v1.PlannedChange(nil), sha256.New()
	for _, n := range nodes {
		for _, c := range n.Changes {
			change := v1.PlannedChange{Machine: cut(n.Node, mostName), Change: cut(en.Msg(c.Desc), mostChange)}
			fmt.Fprintf(digest, "%q %q %q\n", n.Node, c.Step, en.Msg(c.Desc))
			all = append(all, change)
		}
	}
	b.set(func(st *v1.OperationStatus) {
		st.Changes, st.ChangesTotal = all[:min(len(all), mostChanges)], int32(len(all))
		st.PlanDigest = hex.EncodeToString(digest.Sum(nil))
	})
}
