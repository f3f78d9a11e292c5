package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// namedSteps is how many steps of a run that died are named.
const namedSteps = 5

// shown is the command line's view of a run that it launched.
type shown struct {
	*follower // when the run is known
	run       *operation.Handle
	asked     int // how often a user wanted the run to end
}

// show shows a run that was launched until it ends, hands interruptions on to it, and gives its end. From the moment
// when its process was started the signals are the run's: the first ends it after the running steps, the second aborts.
func (env *environment) show(h *operation.Handle, o runOptions, signals <-chan os.Signal) error {
	s := &shown{run: h}
	var known <-chan started = whenStarted(h)
	var over <-chan struct{} // nil until the run is known, which comes first
	for {
		select {
		case x := <-known:
			if x.err != nil {
				return x.err
			}
			o.hasBegun()
			known, over = nil, h.Done()
			said := *env
			said.P = env.where().Printer(env.P.Lang())
			s.follower = newFollower(&said, o.output, x.run.Ref, x.run.Dir)
			s.words = true
			s.start()
		case sig := <-signals:
			if sig == syscall.SIGHUP { // the terminal is gone; the run stays
				h.Release()
				o.hasBegun()
				if s.follower != nil {
					s.say("front.left")
				}
				return errReported{event.NewFault(event.ClassInterrupted, "run.left", nil)}
			}
			s.interrupt()
		case <-over:
			s.end()
			return s.outcome()
		}
	}
}

// started is what a launched run says first.
type started struct {
	run operation.Run
	err error
}

func whenStarted(h *operation.Handle) <-chan started {
	out := make(chan started, 1)
	go func() {
		run, err := h.Started(context.Background())
		out <- started{run, err}
	}()
	return out
}

// interrupt is the first, second or third time that a user wants the run to end. A process that is gone hears nothing.
func (s *shown) interrupt() {
	s.asked++
	switch s.asked {
	case 1:
		_ = s.run.Stop()
	case 2:
		_ = s.run.Abort()
		if s.follower != nil {
			go s.say("front.aborting")
		}
	default:
		_ = s.run.Kill()
	}
}

// outcome is how the run ended.
func (s *shown) outcome() error {
	res, err := s.run.Wait(context.Background())
	if errors.Is(err, operation.ErrDied) {
		return s.died(res)
	}
	return loggedEnd(res, err)
}

// died is the fault of a run whose process ended without a word.
func (s *shown) died(res operation.Result) error {
	p := s.env.P
	var steps []string
	for i, st := range res.Active {
		if i == namedSteps {
			steps = append(steps, "…")
			break
		}
		name := p.Msg(st.Title)
		if st.Host != "" {
			name += " (" + event.Clean(st.Host) + ")"
		}
		steps = append(steps, name)
	}
	if len(steps) == 0 {
		steps = []string{p.T("front.no-step")}
	}
	args := []string{"run", s.ref.Run, "count", strconv.Itoa(len(res.Active)), "steps", strings.Join(steps, "; "),
		"dir", s.dir, "command", s.env.typed()}
	if s.asked > 2 {
		return event.NewFault(event.ClassInterrupted, "run.killed", nil, args...)
	}
	return event.NewFault(event.ClassFailed, "run.died", nil, append(args, "how", res.How)...)
}
