package main

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/runstate"
)

// namedSteps is how many steps of a run that died are named.
const namedSteps = 5

// attached is the command line's view of a run of its own process.
type attached struct {
	*follower
	run *detached
}

// show shows the run until it ends, hands interruptions on to it, and gives its end.
func (p *detached) show(env *environment, o runOptions) error {
	a := &attached{follower: newFollower(env, o.output, o.state, p.ref, p.dir), run: p}
	a.words = true
	a.start()
	defer p.giveBack()
	for over := false; !over; {
		select {
		case sig := <-p.signals:
			if sig == syscall.SIGHUP { // the terminal is gone; the run stays
				p.said.Close()
				a.say("front.left")
				return errReported{event.NewFault(event.ClassInterrupted, "run.left", nil)}
			}
			if p.interrupt(); p.asked == 2 {
				go a.say("front.aborting")
			}
		case <-p.over:
			over = true
		}
	}
	a.end()
	return a.outcome()
}

// outcome is how the run ended: as its log says, for what the front end has shown may not be all.
func (a *attached) outcome() error {
	if a.run.last != nil {
		return a.run.last
	}
	rec, err := journal.Last(a.dir)
	if end, ok := rec.Event.(event.RunEnded); err == nil && ok {
		if end.Fault != nil {
			return errReported{end.Fault}
		}
		return nil
	}
	return a.died()
}

// died is the fault of a run whose process ended without a word.
func (a *attached) died() error {
	p, state := a.env.P, runstate.New()
	for rec, err := range journal.Read(a.dir) {
		if err == nil {
			state.Apply(rec)
		}
	}
	var steps []string
	for i, st := range state.Active {
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
	args := []string{"run", a.ref.Run, "count", strconv.Itoa(len(state.Active)), "steps", strings.Join(steps, "; "),
		"dir", a.dir, "command", a.typed()}
	if a.run.killed {
		return event.NewFault(event.ClassInterrupted, "run.killed", nil, args...)
	}
	how := ""
	if s := a.run.cmd.ProcessState; s != nil {
		how = s.String()
	}
	return event.NewFault(event.ClassFailed, "run.died", nil, append(args, "how", how)...)
}

// typed is the command line that this process was started with.
func (w *follower) typed() string {
	words := []string{programName(w.env.Args)}
	for _, arg := range w.env.Args[1:] {
		words = append(words, shellWord(arg))
	}
	return strings.Join(words, " ")
}
