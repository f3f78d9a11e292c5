package lines

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// command does what a line says that was typed while a run is told of.
func (r *runView) command(ctx context.Context, h heard) error {
	switch {
	case h.long:
		r.say("plain.too-long")
		return nil
	case errors.Is(h.err, io.EOF) && r.opt.Replay != nil: // a replay needs nobody
		r.opt.Replay.Speed(64)
		r.deaf = true
		return nil
	case h.err != nil:
		return r.detach()
	}
	word, of, _ := strings.Cut(narrow(typed(h.text)), " ")
	of = strings.TrimSpace(of)
	switch word {
	case "":
		r.standing()
	case "n":
		r.nodes()
	case "l":
		r.log(of, 30)
	case "x":
		if r.opt.Shell == nil || of == "" {
			r.say("plain.no-such", "text", word)
			break
		}
		r.shell(of)
	case "f":
		r.failures()
	case "d":
		r.calm = !r.calm
		r.plain.Calmly(r.calm)
		r.say(map[bool]string{true: "plain.run.calm", false: "plain.run.details"}[r.calm])
	case "b":
		r.support()
	case "+", "-":
		if r.opt.Replay != nil {
			r.opt.Replay.Speed(map[string]float64{"+": 2, "-": 0.5}[word])
			r.say("plain.run.speed", "factor", strconv.FormatFloat(r.opt.Replay.Factor(), 'g', 3, 64))
		}
	case "q":
		return r.leave(ctx)
	case "?":
		r.how()
	default:
		r.say("plain.no-such", "text", word)
		r.how()
	}
	return nil
}

// standing says how far the run is: its steps, its phase, what runs longest.
func (r *runView) standing() {
	s, done := r.state, 0
	for _, n := range s.Counts {
		done += n
	}
	r.say("report.far", "done", strconv.Itoa(done), "total", strconv.Itoa(s.Total))
	for _, ph := range s.Phases {
		if !ph.Start.IsZero() && ph.End.IsZero() {
			r.say("plain.run.phase", "phase", r.p.Msg(ph.Title), "done", strconv.Itoa(ph.Ended), "total",
				strconv.Itoa(ph.Total))
		}
	}
	for i, st := range s.Active {
		if i == 5 {
			r.say("report.more", "count", strconv.Itoa(len(s.Active)-i))
			break
		}
		r.print("  " + r.name(st.Host) + ": " + r.atWork(st))
	}
	if n := len(s.Open); n > 0 {
		r.say("plain.run.open", "count", strconv.Itoa(n))
	}
}

// atWork is a step that runs, in words.
func (r *runView) atWork(st *state.Step) string {
	text := r.t("report.still", "time", report.Short(r.now().Sub(st.Start)), "step", r.p.Msg(st.Title))
	if st.Asked {
		text += "; " + r.t("ui.state.asked")
	}
	for _, t := range r.state.Transfers {
		if t.Step == st.ID && t.Host == st.Host && t.Total > 0 {
			text += "; " + event.Clean(t.What) + " " + strconv.FormatInt(100*t.Done/t.Total, 10) + "%"
		}
	}
	if st.Said != nil {
		text += "; " + r.p.Msg(report.AsOf(*st.Said, r.now()))
	}
	if st.Waits != nil {
		text += "; " + report.Awaits(r.p, st.Waits)
	}
	if h := r.state.Host(st.Host); h != nil {
		if x, ok := r.plain.Usual.Silent(h, r.now()); ok {
			text += "; " + r.t("plain.run.quiet", "time", report.Short(x.Quiet))
			if usual, ok := r.plain.Usual.Usual(st); ok {
				text += "; " + r.t("report.usual", "time", report.Short(usual))
			}
		}
	}
	return text
}

// nodes has a line for each machine, those that need somebody first.
func (r *runView) nodes() {
	for _, first := range []bool{true, false} {
		for _, h := range r.state.Hosts {
			trouble := h.Outcome() == event.Failed || h.Outcome() == event.Unknown
			for _, st := range h.Active {
				trouble = trouble || st.Asked
			}
			if h.Total == 0 || trouble != first {
				continue
			}
			line := "  " + r.name(h.Name)
			if h.Addr != "" {
				line += "  " + event.Clean(h.Addr)
			}
			if len(h.Roles) > 0 {
				line += "  " + event.Clean(strings.Join(h.Roles, ", "))
			}
			line += ": " + r.t("plain.run.steps", "done", strconv.Itoa(h.Ended), "total", strconv.Itoa(h.Total))
			if o := h.Outcome(); trouble && o != "" {
				line += "; " + r.t("report.outcome."+string(o))
			}
			if len(h.Active) > 0 {
				line += "; " + r.atWork(h.Doing())
			}
			r.print(line)
		}
	}
}

// log shows the last lines of a machine, and where all of them are.
func (r *runView) log(host string, most int) {
	s := r.state
	h := s.Host(host)
	if h == nil || host == "" {
		r.say("plain.no-such", "text", host)
		return
	}
	lines := h.Lines[max(0, len(h.Lines)-most):]
	if len(lines) == 0 {
		r.say("plain.run.silent", "node", r.name(host))
	}
	for i, l := range lines {
		if st := s.Step(l.Step); st != nil && (i == 0 || lines[i-1].Step != l.Step) {
			r.print("  " + r.p.Msg(st.Title) + ":")
		}
		r.print("    " + event.Clean(l.Text))
	}
	if r.opt.LogPath != nil {
		r.say("plain.run.log", "node", r.name(host), "path", r.opt.LogPath(host))
	}
}

// failures asks again about what was put off, or tells of what has failed.
func (r *runView) failures() {
	if len(r.state.Open) > 0 {
		clear(r.told)
		return
	}
	for _, f := range r.state.Failures {
		if !f.Step.Outcome.Done() {
			r.failure("ui.fail.past", f.Step, f.Fault, f.Lines, f.Step.Try)
		}
	}
	if len(r.state.Failures) == 0 {
		r.say("plain.run.fine")
	}
}

func (r *runView) support() {
	if r.opt.Support == nil {
		r.say("plain.no-such", "text", "b")
		return
	}
	path, err := r.opt.Support()
	if err != nil {
		r.fault(err)
		return
	}
	r.say("ui.support.written", "path", path)
}
