package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// work makes one try of a step, in a goroutine of its own, and journals how it went before anybody else hears of it.
func (r *runner) work(n *node) {
	m := message{node: n}
	s := n.step
	defer func() {
		if m.outcome == "" && m.failed == "" && !m.retry && m.journal == nil {
			// Goexit, as of a test's FailNow, ran only the deferred calls
			n.end = r.opts.Now()
			m.finish(r, n, event.StepEnded{Step: s.ID, Outcome: n.failedAs(), Took: n.end.Sub(n.start),
				Fault: n.blame(panicFault("runtime.Goexit", nil))})
		}
		r.messages <- m
	}()
	if s.Check == nil && r.opts.Done[s.ID] {
		n.end = n.start
		why := event.M("engine.done-before")
		m.finish(r, n, event.StepEnded{Step: s.ID, Outcome: event.OK, Why: &why})
		return
	}
	if m.journal = r.opts.Emit(event.StepStarted{Step: s.ID, Try: n.try}); m.journal != nil {
		return
	}
	outcome, why, fault := r.attempt(n)
	n.end = r.opts.Now()
	if outcome == event.Failed || outcome == event.Unknown {
		if delay, yes := n.next(fault); yes && r.pauses.Err() == nil {
			m.retry, m.pause, m.fault = true, delay, fault
			m.journal = r.opts.Emit(event.StepRetry{Step: s.ID, Try: n.try, Delay: delay, Fault: *fault})
			return
		}
		switch {
		case s.Optional:
			outcome = event.Ignored
		case r.opts.Decide != nil && r.pauses.Err() == nil:
			m.failed, m.fault = outcome, fault
			m.journal = r.opts.Emit(event.StepAsked{Step: s.ID, Try: n.try, Fault: *fault})
			return
		}
	}
	m.finish(r, n, event.StepEnded{Step: s.ID, Outcome: outcome, Took: n.end.Sub(n.start), Why: why, Fault: fault})
}

func (m *message) finish(r *runner, n *node, e event.StepEnded) {
	if m.journal = r.opts.Emit(e); m.journal == nil {
		m.outcome, m.fault = e.Outcome, e.Fault
	}
}

// attempt runs the functions of a step under one timeout.
func (r *runner) attempt(n *node) (event.Outcome, *event.Msg, *event.Fault) {
	timeout := n.step.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	n.slowness = r.slowness(n.step)
	timeout = times(timeout, n.slowness)
	until := r.ctx
	if n.step.Waits {
		until = r.pauses
	}
	step := WithSlowness(WithStep(until, n.step.ID), n.slowness)
	ctx, cancel := context.WithTimeout(context.WithValue(step, stopKey{}, r.pauses), timeout)
	defer cancel()
	var outcome event.Outcome
	var why *event.Msg
	fault := safely(func() (err error) {
		outcome, why, err = n.functions(ctx)
		return err
	})
	if fault == nil {
		return outcome, why, nil
	}
	switch {
	case until.Err() != nil, errors.Is(fault, ErrStopped):
		return event.Interrupted, nil, n.blame(fault)
	case fault.Code == CodeUnknown:
		return event.Unknown, nil, n.blame(fault)
	case ctx.Err() != nil && (errors.Is(fault, context.DeadlineExceeded) || fault.Code == "internal"):
		late := event.NewFault(event.ClassFailed, "engine.timeout", fault.Err, "timeout", timeout.String())
		if n.slowness > 1 {
			late = event.NewFault(event.ClassFailed, "engine.timeout-slow", fault.Err,
				"timeout", timeout.Round(time.Second).String(), "times", strconv.FormatFloat(n.slowness, 'f', 1, 64))
		}
		late.Node, late.Retry = fault.Node, true
		return event.Failed, nil, n.blame(late)
	}
	return event.Failed, nil, n.blame(fault)
}

func (n *node) functions(ctx context.Context) (event.Outcome, *event.Msg, error) {
	s := n.step
	done := event.OK
	if n.applied { // by an earlier try, whose end is not known
		done = event.Changed
	}
	if s.When != nil {
		switch yes, why, err := s.When(ctx); {
		case err != nil:
			return "", nil, err
		case !yes:
			return event.Skipped, &why, nil
		}
	}
	if s.Check != nil {
		if already, err := s.Check(ctx); err != nil || already {
			return done, nil, err
		}
	}
	if s.Apply != nil {
		before := n.applied
		n.applied = true
		switch err := s.Apply(ctx); {
		case errors.Is(err, ErrUnchanged):
			n.applied = before
		case err != nil:
			return "", nil, err
		default:
			done = event.Changed
		}
	}
	if s.Verify != nil {
		if err := s.Verify(ctx); err != nil {
			return "", nil, err
		}
	}
	return done, nil, nil
}

// next says whether another try is worth it, and after what pause.
func (n *node) next(f *event.Fault) (time.Duration, bool) {
	tries := max(1, n.step.Retry.Tries)
	if n.step.Retry.Polls {
		tries = int(float64(tries) * max(1, n.slowness))
	}
	if f.Code == CodeUnknown {
		tries = max(2, tries)
	}
	if n.try-n.round >= tries || !f.Retry && f.Code != CodeUnknown {
		return 0, false
	}
	delay, top := n.step.Retry.Delay, n.step.Retry.MaxDelay
	if delay <= 0 {
		delay = time.Second
	}
	if top <= 0 {
		top = max(time.Minute, delay)
	}
	for range n.try - n.round - 1 {
		if delay > math.MaxInt64/2 || delay >= top {
			break
		}
		delay *= 2
	}
	return min(delay, top), true
}

func (n *node) failedAs() event.Outcome {
	if n.step.Optional {
		return event.Ignored
	}
	return event.Failed
}

// blame says in a copy of the fault which step it was, and on which host unless the fault names another.
func (n *node) blame(f *event.Fault) *event.Fault {
	c := *f
	c.Step = n.step.ID
	return c.On(n.step.Host)
}

func (l *lane) drop(n *node) {
	if i := slices.Index(l.ready, n); i >= 0 {
		l.ready = slices.Delete(l.ready, i, i+1)
	}
}

// safely calls f and makes a fault of its error or its panic.
func safely(f func() error) (fault *event.Fault) {
	defer func() {
		if v := recover(); v != nil {
			fault = panicFault(v, debug.Stack())
		}
	}()
	return event.AsFault(f())
}

// panicFault keeps of the stack the frames next to the panic, as function names with the line: enough to find it.
func panicFault(v any, stack []byte) *event.Fault {
	f := event.NewFault(event.ClassFailed, "engine.panic", nil, "value", event.Clean(fmt.Sprint(v)))
	if err, ok := v.(error); ok {
		f.Err = err
	}
	var frames []string
	seen := false
	for line := range strings.Lines(string(stack)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic(") {
			seen = true
			frames = nil
			continue
		}
		if at := strings.LastIndexByte(line, '/'); seen && len(frames) < 8 && line != "" {
			line, _, _ = strings.Cut(line[at+1:], " +0x")
			frames = append(frames, line)
		}
	}
	f.Cause = event.Clean(strings.Join(frames, " "))
	return f
}
