package page

import (
	"fmt"
	"html/template"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

func escaped(s string) string { return url.PathEscape(s) }

// runPath is the address of a board.
func runPath(cluster, run string) string {
	return "/clusters/" + escaped(cluster) + "/runs/" + escaped(run)
}

// failure is a step that failed, as a board shows it.
type failure struct {
	ID            string
	Cluster, Run  string
	Node, Step    string
	Host, StepID  string
	Likely, Fix   string
	Error         string
	Found         []found // by a check
	Exit, Command string
	Lines         []line
	Open          bool
	Since         int64
}

// line that a node printed.
type line struct {
	Text string
	Err  bool
	Head string // of the step, where it changes
	At   string
}

const (
	// asksMost is how many failures are drawn in full.
	asksMost = 5
	// moreMost is how many of the others have a link.
	moreMost = 40
)

// rest are the failures that are not drawn in full: who looks at the node sees them.
type rest struct {
	Count        int
	Cluster, Run string
	Nodes        []failure
	Others       int // that have no link either
}

// drawFailures draws the steps that wait for a decision, and at the end those that failed, with the summary.
func (p *Page) drawFailures(s *state.State, b boardOf, out *parts) error {
	out.order["asks"] = []string{}
	more := rest{Cluster: b.cluster, Run: b.run}
	put := func(f failure) error {
		if len(out.order["asks"]) == asksMost {
			if more.Count++; len(more.Nodes) < moreMost {
				more.Nodes = append(more.Nodes, f)
			} else {
				more.Others++
			}
			return nil
		}
		out.order["asks"] = append(out.order["asks"], f.ID)
		return p.add(b.lang, out, f.ID, "asks", "failure", f)
	}
	for _, q := range s.Open {
		if err := put(b.question(s, q)); err != nil {
			return err
		}
	}
	if s.Ended != nil {
		for _, x := range s.Failures {
			if x.Step.Outcome != event.Failed && x.Step.Outcome != event.Unknown {
				continue
			}
			if err := put(b.failure(s, x.Step, &x.Fault, x.Lines)); err != nil {
				return err
			}
		}
	}
	if more.Count > 0 {
		out.order["asks"] = append(out.order["asks"], "f-more")
		if err := p.add(b.lang, out, "f-more", "asks", "failures-more", more); err != nil {
			return err
		}
	}
	if s.Ended == nil {
		return nil
	}
	return p.add(b.lang, out, "sum", "summary", "summary", b.summary(s))
}

// question is a step that waits for a decision.
func (b boardOf) question(s *state.State, q *state.Question) failure {
	f := b.failure(s, q.Step, &q.Fault, q.Lines)
	f.Open, f.Since = !b.replay && b.live, q.Since.UnixMilli()
	return f
}

func (b boardOf) failure(s *state.State, st *state.Step, f *event.Fault, printed []state.Line) failure {
	text, next := b.p.Fault(f)
	x := failure{ID: "f-" + st.ID, Cluster: b.cluster, Run: b.run,
		Node: b.hostName(st.Host), Host: st.Host, StepID: st.ID, Step: report.StepTitle(b.p, st, st.Try),
		Error: text, Fix: b.advice(f.Code, next), Exit: event.Clean(f.Args["status"]),
		Command: cleaned(f.Args["command"])}
	if cause, do, known := report.Likely(f, printed); known {
		x.Likely, x.Fix = b.p.Msg(cause), b.p.Msg(do)
	}
	if f.Code == state.CheckFailed {
		x.Found = b.found(s.FoundBy(st))
	}
	for _, l := range printed {
		x.Lines = append(x.Lines, line{Text: event.Clean(l.Text), Err: l.Stream == "stderr"})
	}
	return x
}

// cleaned is a text of several lines without control characters.
func cleaned(text string) string {
	list := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range list {
		list[i] = event.Clean(l)
	}
	return strings.Join(list, "\n")
}

// summary of a run that has ended.
type summary struct {
	State, Title, Took string
	Cluster, Run       string
	Fault, Fix         string
	Found              []found // by a check that is no step
	Phases             []timing
	Next               []string
}

// timing is how long a phase took.
type timing struct {
	Title, Took string
	Part        int // of the longest, in percent
}

func (b boardOf) summary(s *state.State) summary {
	o := s.Ended.Outcome
	key := string(o)
	if s.Run.Verb == "cleanup" && o.Done() {
		key = "cleaned"
	}
	x := summary{State: key, Cluster: b.cluster, Run: b.run,
		Title: b.p.T("ui.sum.title."+key, "cluster", s.Run.Cluster),
		Took: b.p.T("ui.sum.took", "time", report.Short(s.Elapsed()), "steps", strconv.Itoa(s.Total), "changes",
			strconv.Itoa(s.Changed))}
	if !b.p.Has("ui.sum.title." + key) {
		x.Title = worded(b.p, "ui.ended.", key)
	}
	if s.Ended.Fault != nil {
		x.Fault, x.Fix = b.p.Fault(s.Ended.Fault)
		x.Fix = b.advice(s.Ended.Fault.Code, x.Fix)
		if s.Ended.Fault.Code == state.CheckFailed && len(s.Failures) == 0 {
			x.Found = b.found(s.FoundBy(nil))
		}
	}
	rows := s.ByPhase()
	longest := time.Duration(1)
	for _, r := range rows {
		longest = max(longest, r.Wall)
	}
	for _, r := range rows {
		x.Phases = append(x.Phases, timing{b.p.Msg(r.Title), report.Short(r.Wall), int(100 * r.Wall / longest)})
	}
	for _, m := range s.Ended.Next {
		switch m.Key {
		case "next.resume", "next.upgrade-rest", "next.upgrade-back-rest": // they name a command
			if b.end.resumes || !b.end.known {
				x.Next = append(x.Next, b.p.T("page.next.continue"))
			}
		default:
			x.Next = append(x.Next, b.p.Msg(m))
		}
	}
	return x
}

// advice is what to do about a fault, in the words of the page: it has a button where a terminal has a command.
func advice(p *i18n.Printer, code, next string) string {
	switch code {
	case "run.failed", "engine.steps-failed":
		return p.T("page.fix.continue")
	case "run.interrupted", "engine.interrupted", "interrupted", "control.gone", "run.killed", "run.died", "lock.lost":
		return p.T("page.next.continue")
	case "usage.secret":
		return p.T("page.secrets.next")
	}
	return next
}

// detail is a node with all its steps and its last output.
type detail struct {
	node
	Cluster, Run string
	Groups       []group
	Last         []line
	Asks         []failure // of this node, that wait for a decision
	Log          string    // where the whole log is
	Found        []found   // of this node
}

// group is the steps of a phase.
type group struct {
	Title string
	Steps []step
}

// withNode adds the node that is looked at.
func (p *Page) withNode(s *state.State, b boardOf, out parts) (parts, error) {
	if b.look == nil {
		return out, nil
	}
	h := s.Host(*b.look)
	if h == nil {
		return out, nil
	}
	n, _ := b.node(s, h, "rows")
	d := detail{node: n, Cluster: b.cluster, Run: b.run,
		Log: runPath(b.cluster, b.run) + "/log?node=" + url.QueryEscape(h.Name), Found: b.foundOn(s, h.Name)}
	for _, q := range s.Open {
		if f := b.question(s, q); q.Step.Host == h.Name && f.Open {
			d.Asks = append(d.Asks, f)
		}
	}
	length := max(b.clock(s).Sub(s.Started), time.Second)
	for _, ph := range s.Phases {
		g := group{Title: b.p.Msg(ph.Title)}
		for _, st := range h.Steps {
			if st.Phase == ph.ID {
				g.Steps = append(g.Steps, b.longStep(s, st, length))
			}
		}
		if len(g.Steps) > 0 {
			d.Groups = append(d.Groups, g)
		}
	}
	for i, l := range h.Lines[max(0, len(h.Lines)-state.KeepLines):] {
		x := line{Text: event.Clean(l.Text), Err: l.Stream == "stderr", At: report.Clock(l.Time.Sub(s.Started))}
		if st := s.Step(l.Step); st != nil && (i == 0 || len(d.Last) > 0 && h.Lines[max(0,
			len(h.Lines)-state.KeepLines)+i-1].Step != l.Step) {
			x.Head = b.p.Msg(st.Title)
		}
		d.Last = append(d.Last, x)
	}
	out.list = slices.Clone(out.list) // it is shared
	return out, p.add(b.lang, &out, "node", "side", "detail", d)
}

// longStep is a step in the list of all: with when it began, its part of the time of the run, and what it changed.
func (b boardOf) longStep(s *state.State, st *state.Step, length time.Duration) step {
	x := b.step(s, st)
	if st.Try > 0 && !st.Start.IsZero() {
		x.Begins = report.Clock(st.Start.Sub(s.Started))
		took := st.Took
		if st.Running() { // in steps, so that it is not sent again each second
			took = b.clock(s).Sub(st.Start).Truncate(length / 50)
		}
		x.X = percent(st.Start.Sub(s.Started), length)
		x.W = percent(max(took, length/100), length)
	}
	for _, m := range st.Changes {
		x.Changes = append(x.Changes, b.p.Msg(m))
	}
	x.More = st.Changed - len(st.Changes)
	if st.Why != nil {
		x.Note = b.p.Msg(*st.Why)
	}
	if st.Fault != nil && (x.State == "failed" || x.State == "unknown" || x.State == "asked" || x.State == "retry") {
		x.Fault, x.Fix = b.why(st.Fault, s.Host(st.Host).LinesOf(st.ID, state.FailLines))
	}
	return x
}

func percent(d, of time.Duration) string { return fmt.Sprintf("%.1f%%", 100*float64(d)/float64(of)) }

// placed are the parts by their containers, in order, for the first drawing of a page.
func (now parts) placed() map[string]parts {
	at := map[string]part{}
	out := map[string]parts{}
	put := func(name string, x part) {
		g := out[name]
		g.list = append(g.list, x)
		out[name] = g
	}
	for _, x := range now.list {
		at[x.ID] = x
		if _, ordered := now.order[x.In]; !ordered {
			put(x.In+x.ID, x)
		}
	}
	for name, ids := range now.order {
		for _, id := range ids {
			put(name, at[id])
		}
	}
	return out
}

// HTML is that of the parts, which templates have made.
func (now parts) HTML() template.HTML {
	var b strings.Builder
	for _, x := range now.list {
		b.WriteString(x.HTML)
	}
	return template.HTML(b.String())
}

// nodeLog gives all that a node has printed, and why its steps failed, as text.
func (p *Page) nodeLog(v *visit) error {
	b, err := p.boardRequest(v)
	if err != nil {
		return err
	}
	host := ""
	if b.look != nil {
		host = *b.look
	}
	log, err := p.Open(v.r.Context(), b.cluster, b.run)
	if err != nil {
		return err
	}
	defer log.Close()
	next, stop := iter.Pull2(saidBy(log, host))
	defer stop()
	r, err, more := next()
	if err != nil { // of the first alone: a page can say it
		return err
	}
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(http.StatusOK)
	var text strings.Builder
	for ; more; r, err, more = next() {
		if err != nil {
			said, _ := v.p.Fault(event.AsFault(err))
			fmt.Fprintf(&text, "! %s\n", said)
			break
		}
		mark, line := "|", event.Clean(r.line)
		if r.fault != nil {
			mark = "!"
			line, _ = v.p.Fault(r.fault)
		}
		fmt.Fprintf(&text, "%s %s%s %s\n", r.at.UTC().Format("2006-01-02T15:04:05.000Z"), event.Clean(r.step), mark,
			line)
		if text.Len() > 64<<10 {
			if v.allow(access.View) != nil || v.write(text.String()) != nil {
				return errAnswered
			}
			text.Reset()
		}
	}
	if v.allow(access.View) == nil {
		_ = v.write(text.String()) // an error says that the reader is gone
	}
	return errAnswered
}
