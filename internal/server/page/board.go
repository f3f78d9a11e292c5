package page

import (
	"cmp"
	"net/http"
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

// boardOf is what a board is drawn of, besides the state of the run.
type boardOf struct {
	cluster, run string
	lang         i18n.Lang
	p            *i18n.Printer
	usual        state.History
	now          time.Time
	look         *string // the node that is looked at; nil: none
	live         bool    // the run goes on, or its replay
	replay       bool
	bad          *event.Fault // why the log cannot be read on
	end          ending
}

// clock is the time of the run's events.
func (b boardOf) clock(s *state.State) time.Time {
	switch {
	case b.replay:
		return b.now
	case s.Ended != nil || !b.live:
		return s.Now
	}
	return s.At(b.now)
}

// Sizes of a board, by the number of nodes: panes have steps and output, cards two lines, rows one.
const (
	panesMost = 8
	cardsMost = 40
)

// whole is the head of the board.
type whole struct {
	Cluster, Run string
	Verb         string
	State        string // waiting, running, asked, done, failed, stopped, dead
	Word         string
	Ended, Total int
	Percent      int
	Since        int64 // when the run began, in milliseconds; 0: it has ended, or not begun
	Took         string
	Failed, Open int
	Phases       []phase
	News         string
	Bad, BadNext string // why the log cannot be read on
	Live, Replay bool
	Size         string
}

// phase on the rail.
type phase struct {
	Title, State string
	Now          bool
	Count        string
}

// node on the board.
type node struct {
	ID, Name, Host string
	Base           string // the address of the board
	Roles          string
	RoleIDs        []string // as filters have them
	State, Word    string
	Warn           bool
	Ended, Total   int
	Steps          []step
	Lines          []string
	Doing          string
	Why, Fix       string // of a failure
	Flow           string
	Size           string
	On             bool
}

// step of a node.
type step struct {
	ID, Title   string
	State, Took string
	Since       int64
	Flow        string
	Sent, Whole int64 // of a transfer
	Note        string
	// Of the list of all steps.
	Begins  string
	X, W    string // of its bar, in percent of the time of the run
	Changes []string
	More    int
	Fault   string
	Fix     string
}

// drawBoard draws all but the node that is looked at.
func (p *Page) drawBoard(s *state.State, b boardOf) (parts, error) {
	out := parts{seq: s.Seq, order: map[string][]string{"nodes": {}}}
	hosts := slices.DeleteFunc(slices.Clone(s.Hosts), func(h *state.Host) bool { return !h.Shown() })
	size := "panes"
	if len(hosts) > cardsMost {
		size = "rows"
	} else if len(hosts) > panesMost {
		size = "cards"
	}
	w := b.whole(s)
	w.Size = size
	if err := p.add(b.lang, &out, "head", "", "board-head", w); err != nil {
		return out, err
	}
	if err := p.drawFailures(s, b, &out); err != nil {
		return out, err
	}
	type placed struct {
		rank state.Rank
		id   string
	}
	var places []placed
	for _, h := range hosts {
		n, rank := b.node(s, h, size)
		n.ID = "n-" + strconv.Itoa(slices.Index(s.Hosts, h))
		if err := p.add(b.lang, &out, n.ID, "nodes", "node", n); err != nil {
			return out, err
		}
		places = append(places, placed{rank, n.ID})
	}
	slices.SortStableFunc(places, func(x, y placed) int { return cmp.Compare(x.rank, y.rank) })
	for _, x := range places {
		out.order["nodes"] = append(out.order["nodes"], x.id)
	}
	return out, nil
}

// whole is the head.
func (b boardOf) whole(s *state.State) whole {
	w := whole{Cluster: b.cluster, Run: b.run, Verb: worded(b.p, "ui.verb.", s.Run.Verb), Total: s.Total,
		Failed: s.Counts[event.Failed] + s.Counts[event.Unknown], Open: len(s.Open), Live: b.live, Replay: b.replay,
		State: "waiting"}
	for _, n := range s.Counts {
		w.Ended += n
	}
	if w.Total > 0 {
		w.Percent = 100 * w.Ended / w.Total
	}
	if b.bad != nil {
		w.Bad, w.BadNext = b.p.Fault(b.bad)
	}
	switch {
	case s.Ended != nil:
		w.State, w.Took = string(s.Ended.Outcome), report.Short(s.Elapsed())
		w.Word = worded(b.p, "ui.ended.", w.State)
	case b.bad != nil:
		w.State, w.Word, w.Took = "unknown", b.p.T("page.run.damaged"), report.Short(s.Elapsed())
	case !b.live && !b.replay:
		w.State, w.Word, w.Took = "dead", b.p.T("page.run.dead"), report.Short(s.Elapsed())
	case len(s.Open) > 0:
		w.State, w.Word, w.Since = "asked", b.p.T("ui.state.asked"), s.Started.UnixMilli()
	case !s.Started.IsZero():
		w.State, w.Word, w.Since = "running", b.p.T("ui.state.running"), s.Started.UnixMilli()
	default:
		w.Word = b.p.T("ui.state.waiting")
	}
	for _, ph := range s.Phases {
		x := phase{Title: b.p.Msg(ph.Title), State: "waiting"}
		switch {
		case !ph.End.IsZero():
			x.State = string(ph.Outcome)
		case !ph.Start.IsZero():
			x.State, x.Now, x.Count = "running", true, strconv.Itoa(ph.Ended)+"/"+strconv.Itoa(ph.Total)
		}
		w.Phases = append(w.Phases, x)
	}
	if len(s.Notices) > 0 {
		n := s.Notices[len(s.Notices)-1]
		text := report.Sized(n.Text)
		if st := s.Step(n.Step); st != nil && st.Running() {
			text = report.AsOf(n.Text, b.clock(s))
		}
		if w.News = b.p.Msg(text); n.Host != "" {
			w.News = event.Clean(n.Host) + ": " + w.News
		}
	}
	return w
}

// hostName is the name of a host for people.
func (b boardOf) hostName(name string) string {
	if name == "" {
		return b.p.T("report.jump-host")
	}
	return event.Clean(name)
}

// node is one on the board.
func (b boardOf) node(s *state.State, h *state.Host, size string) (node, state.Rank) {
	at := s.HostStatus(h)
	n := node{Name: b.hostName(h.Name), Host: h.Name, State: at.State, Word: b.p.T("ui.state." + at.State),
		Ended: h.Ended, Total: h.Total, Size: size, Base: runPath(b.cluster, b.run)}
	var roles []string
	for _, r := range h.Roles {
		roles = append(roles, worded(b.p, "ui.role.", r))
	}
	n.Roles, n.RoleIDs = b.p.List(roles), h.Roles
	if at.Rank <= state.RankFailed && at.Step != nil && at.Step.Fault != nil {
		n.Why, n.Fix = b.why(at.Step.Fault, h.LinesOf(at.Step.ID, state.FailLines))
	}
	if x := b.foundOn(s, h.Name); len(x) > 0 && n.Why == "" {
		n.Why, n.Fix = x[0].Text, x[0].Fix
	}
	n.Doing = b.p.T("ui.nothing-yet")
	if at.Step != nil {
		n.Doing = b.p.Msg(at.Step.Title)
	}
	if x, silent := b.usual.Silent(h, b.clock(s)); silent && b.live && at.Rank == state.RankFine {
		n.Warn, n.Doing = true, b.stall(x)
	}
	if size != "panes" {
		for _, t := range s.Transfers {
			if t.Host == h.Name {
				n.Flow = b.flow(t)
			}
		}
		return n, at.Rank
	}
	n.Steps = b.lastSteps(s, h, at)
	if st := at.Step; st != nil && st.Running() && n.Why == "" {
		if st.Said != nil {
			n.Lines = append(n.Lines, b.p.Msg(report.AsOf(*st.Said, b.clock(s))))
		}
		for _, l := range h.LinesOf(st.ID, 4) {
			n.Lines = append(n.Lines, event.Clean(l.Text))
		}
	}
	return n, at.Rank
}

// stall says what a silent node waits for.
func (b boardOf) stall(x state.Stall) string {
	title := b.p.Msg(x.Step.Title)
	out := b.p.T("ui.stall", "step", title, "since", report.Short(x.Quiet.Truncate(time.Second)))
	if x.Usual > 0 {
		out = b.p.T("ui.stall.usual", "step", title, "since", report.Short(x.Since.Truncate(time.Second)), "usual",
			report.Short(x.Usual))
	}
	if x.Step.Waits != nil {
		out += "; " + report.Awaits(b.p, x.Step.Waits)
	}
	return out
}

// paneSteps is how many steps a pane has.
const paneSteps = 7

// lastSteps are those that ended last, those that run, and the next one while nothing runs.
func (b boardOf) lastSteps(s *state.State, h *state.Host, at state.HostStatus) []step {
	var out []step
	for _, st := range h.Active {
		if st != at.Step {
			out = append(out, b.step(s, st))
		}
	}
	if at.Step != nil && (at.Step.Running() || at.Rank <= state.RankFailed) {
		out = append(out, b.step(s, at.Step))
	}
	if len(h.Active) == 0 && s.Ended == nil {
		for _, st := range h.Steps {
			if st.Try == 0 && st.Outcome == "" {
				out = append(out, b.step(s, st))
				break
			}
		}
	}
	for i := len(h.Done) - 1; i >= 0 && len(out) < paneSteps; i-- {
		if st := h.Done[i]; st.Try > 0 && (st != at.Step || !st.Running() && at.Rank > state.RankFailed) {
			out = slices.Insert(out, 0, b.step(s, st))
		}
	}
	return out
}

// step is one, as it is now.
func (b boardOf) step(s *state.State, st *state.Step) step {
	x := step{ID: st.ID, Title: report.StepTitle(b.p, st, st.Try), State: "waiting"}
	switch {
	case st.Outcome != "":
		if x.State = string(st.Outcome); st.Try > 0 {
			x.Took = report.Short(st.Took)
		}
	case st.Asked:
		x.State = "asked"
	case st.Try > 0 && st.Delay >= state.RetryLong && st.Pause.After(b.clock(s)):
		x.State = "retry"
		x.Took = b.p.T("ui.step.again", "time", report.Short(st.Pause.Sub(b.clock(s)).Truncate(time.Second)))
	case st.Try > 0:
		x.State, x.Since = "running", st.Since().UnixMilli()
	}
	for _, t := range s.Transfers {
		if t.Step == st.ID {
			x.Flow, x.Sent, x.Whole = b.flow(t), t.Done, t.Total
		}
	}
	return x
}

// flow says how far a transfer is, at what rate, and how long the rest takes.
func (b boardOf) flow(t *state.Transfer) string {
	out := []string{report.Size(t.Done)}
	if t.Total > 0 {
		out[0] = report.AmountOf(t.Done, t.Total)
	}
	if rate := t.Rate(); rate > 0 {
		out = append(out, report.Amount(int64(rate))+"/s")
	}
	if left, known := t.Left(); known {
		out = append(out, b.p.T("ui.left", "time", report.Short(left)))
	}
	return strings.Join(out, " · ")
}

// why says what is wrong, and what helps.
func (b boardOf) why(f *event.Fault, printed []state.Line) (text, fix string) {
	text, fix = b.p.Fault(f)
	if cause, do, known := report.Likely(f, printed); known {
		return b.p.Msg(cause), b.p.Msg(do)
	}
	return text, b.advice(f.Code, fix)
}

// boardPage is the board when it is opened.
type boardPage struct {
	Cluster, Run string
	Node         *string
	Parts        map[string]parts // head, asks, nodes, node
	Operate      bool
	Live         string // the address of the stream
	Replay       bool
	Speed        float64
	Over         bool
	Now          int64
	Seq          uint64
	Size         string
}

// boardRequest reads what is asked for, and refuses who may not see it.
func (p *Page) boardRequest(v *visit) (boardOf, error) {
	b := boardOf{cluster: v.r.PathValue("cluster"), run: v.r.PathValue("run"), lang: v.lang, p: v.p}
	if q := v.r.URL.Query(); q.Has("node") {
		name := q.Get("node")
		b.look = &name
	}
	_, err := p.run(v, b)
	return b, err
}

// board is the page of a run.
func (p *Page) board(v *visit) error {
	b, err := p.boardRequest(v)
	if err != nil {
		return err
	}
	body := boardPage{Cluster: b.cluster, Run: b.run, Node: b.look, Operate: v.may(access.Operate, b.cluster),
		Live: runPath(b.cluster, b.run) + "/live"}
	speed, replay := speedOf(v)
	body.Replay, body.Speed = replay, speed
	draw, leave, err := p.drawer(v, b)
	if err != nil {
		return err
	}
	defer leave()
	now, err := draw()
	if err != nil {
		return err
	}
	body.Over, body.Now, body.Seq = now.over && !replay, now.now, now.seq
	body.Parts = now.placed()
	p.render(v, http.StatusOK, "board", b.cluster, body)
	return nil
}

// boardLive sends the board as it changes.
func (p *Page) boardLive(v *visit) error {
	b, err := p.boardRequest(v)
	if err != nil {
		return err
	}
	draw, leave, err := p.drawer(v, b)
	if err != nil {
		return err
	}
	defer leave()
	w := &viewer{sent: map[string]string{}, speed: 1}
	if speed, replay := speedOf(v); replay {
		w.speed = speed
	}
	w.may = func() bool { return v.allow(access.View) == nil }
	w.still = func() bool { _, err := p.oneCluster(v, b.cluster); return err == nil }
	return p.streamTo(v, w, fast, draw)
}

// drawer draws the run as it is, or plays it again.
func (p *Page) drawer(v *visit, b boardOf) (draw func() (parts, error), leave func(), err error) {
	speed, replay := speedOf(v)
	if !replay {
		h, err := p.hubs.enter(v.r.Context(), b.cluster, b.run)
		if err != nil {
			return nil, nil, err
		}
		return func() (parts, error) {
			if !b.end.known && h.ended(p.Now()) {
				b.end = p.ending(v, b)
			}
			return h.board(p, b)
		}, func() { p.hubs.leave(h) }, nil
	}
	log, err := p.Open(v.r.Context(), b.cluster, b.run)
	if err != nil {
		return nil, nil, err
	}
	from, _ := strconv.ParseUint(v.r.URL.Query().Get("from"), 10, 64) // 0: from the beginning
	if last, err := strconv.ParseUint(v.r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		from = max(from, last) // the browser opens the same address again
	}
	b.end = p.ending(v, b)
	r := newReplay(log, from, speed, p.Now)
	return func() (parts, error) { return r.board(p, b) }, log.Close, nil
}

// speedOf says whether a run is played again, and how fast.
func speedOf(v *visit) (float64, bool) {
	speed, err := strconv.ParseFloat(v.r.URL.Query().Get("replay"), 64)
	return speed, err == nil && speed > 0 && speed <= 64
}
