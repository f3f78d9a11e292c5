package report

import (
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// topSteps is how many rows the table of times has.
const topSteps = 12

// summary prints the end of a run.
func (pl *Plain) summary(e event.RunEnded) {
	s, p := pl.state, pl.p
	b := &pl.out
	b.WriteString("\n" + p.T("report.run-ended", "verb", pl.verb(), "cluster", s.Run.Cluster, "outcome",
		pl.outcome(e.Outcome), "time", Short(s.Elapsed())) + "\n")
	b.WriteString("  " + pl.counts(s.Counts) + "\n")
	if s.Total > 0 && e.Outcome.Done() && s.Counts[event.Changed] == 0 {
		b.WriteString("  " + p.T("report.nothing-changed") + "\n")
	}
	pl.where(e.Outcome)
	// A run that failed before it did anything took its time for nothing: its findings are to stay in sight.
	if done := e.Outcome.Done() || s.Counts[event.Changed] > 0; done && pl.Calm {
		pl.phaseTimes()
	} else if table := TimingTable(s, p); done && table != "" {
		b.WriteString("\n" + table)
	}
	pl.failures(e)
	if len(e.Next) > 0 {
		b.WriteString("\n" + p.T("report.next-steps") + "\n")
		for _, m := range e.Next {
			b.WriteString("  " + p.Msg(m) + "\n")
		}
	}
}

// phaseTimes says how long each phase took: a line each, for tables are nothing to listen to.
func (pl *Plain) phaseTimes() {
	pl.out.WriteString("\n" + pl.p.T("report.times", "time", seconds(pl.state.Elapsed())) + "\n")
	for _, ph := range pl.state.Phases {
		if !ph.Start.IsZero() && !ph.End.IsZero() {
			pl.out.WriteString("  " + pl.p.Msg(ph.Title) + ": " + Short(ph.End.Sub(ph.Start)) + "\n")
		}
	}
}

func (pl *Plain) counts(c map[event.Outcome]int) string {
	var parts []string
	for _, o := range outcomes() {
		if c[o] > 0 {
			parts = append(parts, pl.outcome(o)+" "+itoa(c[o]))
		}
	}
	sum := 0
	for _, n := range c {
		sum += n
	}
	if left := pl.state.Total - sum; left > 0 {
		parts = append(parts, pl.p.T("report.not-started")+" "+itoa(left))
	}
	return strings.Join(parts, pl.p.T("report.list-comma"))
}

// where says which node has which roles, and how each came out.
func (pl *Plain) where(outcome event.Outcome) {
	key := "report.what-runs-where"
	if !outcome.Done() {
		key = "report.nodes"
	}
	var rows [][]string
	for _, h := range pl.state.Hosts {
		if h.Name == "" {
			continue
		}
		word := ""
		if o := h.Outcome(); o != "" {
			word = pl.outcome(o)
		}
		rows = append(rows, []string{event.Clean(h.Name), event.Clean(h.Addr), event.Clean(strings.Join(h.Roles, ", ")),
			word})
	}
	if len(rows) == 0 {
		return
	}
	pl.out.WriteString("\n" + pl.p.T(key) + "\n")
	for _, l := range document.Columns(rows) {
		pl.out.WriteString("  " + l + "\n")
	}
}

func (pl *Plain) failures(e event.RunEnded) {
	s, p := pl.state, pl.p
	head := false
	told := map[string]bool{}
	var listed []event.Fault
	for _, f := range s.Failures {
		if f.Step.Outcome == event.Ignored {
			continue
		}
		if !head {
			head = true
			pl.out.WriteString("\n" + p.T("report.failures") + "\n")
		}
		listed = append(listed, f.Fault)
		text, next := p.Fault(&f.Fault)
		pl.out.WriteString("  " + pl.host(f.Step.Host) + "  " + p.Msg(f.Step.Title) + "\n    " + text + " [" +
			event.Clean(f.Fault.Code) + "]\n")
		if f.Fault.Code == state.CheckFailed {
			pl.found(s.FoundBy(f.Step))
		}
		if next != "" && !told[next] {
			told[next] = true
			pl.out.WriteString("    " + p.T("report.next", "next", next) + "\n")
		}
	}
	if n := s.Counts[event.Blocked]; n > 0 {
		pl.out.WriteString("  " + p.T("report.blocked", "count", itoa(n)) + "\n")
	}
	if e.Fault == nil || len(listed) == 1 && listed[0].Code == e.Fault.Code {
		return
	}
	text, next := p.Fault(e.Fault)
	pl.out.WriteString("\n" + p.T("report.run-failed", "fault", text) + " [" + event.Clean(e.Fault.Code) + "]\n")
	if e.Fault.Code == state.CheckFailed && !head {
		pl.found(s.FoundBy(nil))
	}
	if next != "" {
		pl.out.WriteString("  " + p.T("report.next", "next", next) + "\n")
	}
}

// found lists what a check found, by cause: the log has it far above.
func (pl *Plain) found(reasons []state.Reason) {
	p := pl.p
	for _, c := range Found(reasons) {
		text, next := p.Fault(&c.Findings[0].Fault)
		names := c.Hosts()
		if len(names) > 1 {
			text = p.T("wizard.cause", "count", itoa(len(names)), "text", text)
		}
		pl.out.WriteString("    - " + text + " [" + event.Clean(c.Findings[0].Fault.Code) + "]\n")
		if len(names) > 1 {
			pl.out.WriteString("      " + strings.Join(Ranges(names), p.T("report.list-comma")) + "\n")
		}
		if next != "" {
			pl.out.WriteString("      " + p.T("report.next", "next", next) + "\n")
		}
	}
}

// TimingTable says where the time of a run went: its steps by the time during which any node was at them, and the chain
// of steps that the end waited for. It is Markdown, "" when no step ran.
func TimingTable(s *state.State, p *i18n.Printer) string {
	titles := s.ByTitle()
	if len(titles) == 0 {
		return ""
	}
	host := func(name string) string {
		if name == "" {
			return p.T("report.jump-host")
		}
		return event.Clean(name)
	}
	var rows [][]string
	for i, r := range titles {
		if i == topSteps {
			break
		}
		phase := r.Phase
		if ph := s.Phase(r.Phase); ph != nil {
			phase = p.Msg(ph.Title)
		}
		rows = append(rows, []string{p.Msg(r.Title), phase, itoa(r.Steps), seconds(r.Wall), seconds(r.Max),
			host(r.Host)})
	}
	var b strings.Builder
	b.WriteString(p.T("report.times", "time", seconds(s.Elapsed())) + "\n\n")
	b.WriteString(table([]string{p.T("report.col.step"), p.T("report.col.phase"), p.T("report.col.times"),
		p.T("report.col.wall"), p.T("report.col.slowest"), p.T("report.col.node")}, "llrrrl", rows))
	if more := len(titles) - topSteps; more > 0 {
		b.WriteString("\n" + p.T("report.more-steps", "count", itoa(more)) + "\n")
	}

	path := s.CriticalPath()
	busy := path[len(path)-1].Took()
	rows = nil
	least := max(50*time.Millisecond, s.Elapsed()/200)
	short := 0
	for i, t := range path {
		wait := ""
		if i > 0 {
			busy += path[i-1].Took()
			if gap := t.Start.Sub(path[i-1].End); gap >= least {
				wait = seconds(gap)
			}
		}
		if t.Took() < least && wait == "" {
			short++
			continue
		}
		rows = append(rows, []string{seconds(t.Start.Sub(s.Started)), seconds(t.Took()), wait, host(t.Host),
			p.Msg(t.Title)})
	}
	if len(rows) > 0 {
		b.WriteString("\n" + p.T("report.chain", "steps", itoa(len(path)), "time", seconds(busy), "all",
			seconds(s.Elapsed())) + "\n\n")
		b.WriteString(table([]string{p.T("report.col.at"), p.T("report.col.took"), p.T("report.col.waited"),
			p.T("report.col.node"), p.T("report.col.step")}, "rrrll", rows))
		if short > 0 {
			b.WriteString("\n" + p.T("report.chain-short", "count", itoa(short)) + "\n")
		}
	}
	return b.String()
}
