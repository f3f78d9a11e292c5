package lines

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// ask tells of a failure and asks what becomes of it. What the other machines do meanwhile is told afterwards.
func (r *runView) ask(ctx context.Context, q *state.Question) error {
	r.out.back = true
	defer func() { r.out.back = false; r.out.flush() }()
	k := asked{q.Step.ID, q.Try}
	still := func() bool { return slices.Contains(r.state.Open, q) }
	for {
		r.failure("ui.fail.title", q.Step, q.Fault, q.Lines, q.Try)
		do, err := r.fate(ctx, q, still)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return r.detach()
			}
			return err
		}
		switch do {
		case "":
			if !r.over && r.state.Ended == nil {
				r.say("plain.run.decided")
			}
			return nil
		case "q":
			if err := r.leave(ctx); err != nil {
				return err
			}
			continue
		case "ui.fail.log":
			r.log(q.Step.Host, 100)
			continue
		case "ui.fail.shell":
			r.shell(q.Step.Host)
			continue
		case "ui.fail.edit":
			r.fault(r.edit())
			if !r.again {
				continue
			}
		case "ui.fail.abort":
			r.say("ui.fail.abort-text")
			yes, err := r.pick(ctx, r.choices("ui.fail.abort", "plain.back"), "plain.back", still)
			if err != nil {
				return err
			}
			if yes != "ui.fail.abort" {
				continue
			}
			err = r.opt.Control.Decide(k.step, event.Abort)
			r.fault(err)
		case "ui.fail.later":
			r.say("plain.run.later")
		default:
			err := r.opt.Control.Decide(k.step, map[string]event.Decision{"ui.fail.retry": event.TryAgain,
				"ui.fail.skip": event.LeaveOut}[do])
			if err != nil {
				r.fault(err)
				continue
			}
		}
		r.told[k] = true
		if r.again {
			for _, o := range r.state.Open {
				r.told[asked{o.Step.ID, o.Try}] = true
			}
		}
		return nil
	}
}

// fate is what becomes of a failure. Of a story that nobody answers the step is retried, as it was in the run.
func (r *runView) fate(ctx context.Context, q *state.Question, still func() bool) (string, error) {
	def := "ui.fail.later"
	if r.opt.Story {
		def = "ui.fail.retry"
		r.say("demo.decide.line")
	}
	if !r.deaf {
		do, err := r.pick(ctx, r.fates(q), def, still)
		if !errors.Is(err, io.EOF) || !r.opt.Story {
			return do, err
		}
		r.deaf = true
	}
	r.say("demo.retried")
	return "ui.fail.retry", nil
}

// fates are what can become of a failure.
func (r *runView) fates(q *state.Question) []choice {
	list := r.choices("ui.fail.retry")
	if r.opt.Story {
		return append(list, r.choices("ui.fail.log", "ui.fail.later")...)
	}
	if r.opt.Edit != nil {
		list = append(list, r.choices("ui.fail.edit")...)
	}
	if host := q.Step.Host; host != "" {
		list = append(list, choice{"ui.fail.skip", r.t("ui.fail.skip", "node", event.Clean(host))})
		if r.opt.Shell != nil {
			list = append(list, choice{"ui.fail.shell", r.t("ui.fail.shell", "node", event.Clean(host))})
		}
		list = append(list, r.choices("ui.fail.log")...)
	}
	return append(list, r.choices("ui.fail.abort", "ui.fail.later")...)
}

// failure says what is known of one: machine, step, command, exit code, last lines, what is likely and what helps.
func (r *runView) failure(title string, st *state.Step, f event.Fault, lines []state.Line, try int) {
	p := r.p
	text, next := p.Fault(&f)
	out := []string{"", p.T(title, "node", r.name(st.Host))}
	field := func(key, text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, p.T(key)+": "+event.Clean(text))
		}
	}
	field("ui.fail.step", report.StepTitle(p, st, try))
	field("ui.fail.what", text)
	field("ui.fail.command", f.Args["command"])
	field("ui.fail.exit", f.Args["status"])
	if cause, do, ok := report.Likely(&f, lines); ok {
		field("ui.fail.likely", p.Msg(cause))
		next = p.Msg(do)
	}
	field("ui.fail.do", next)
	if len(lines) == 0 {
		out = append(out, p.T("ui.fail.silent"))
	} else {
		out = append(out, p.T("ui.fail.lines")+":")
	}
	for _, l := range lines {
		out = append(out, "  "+event.Clean(l.Text))
	}
	r.print(out...)
}
