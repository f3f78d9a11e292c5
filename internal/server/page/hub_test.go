package page

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// told is the log of a run that goes on: records, and then an error.
type told struct {
	list []event.Record
	end  error
}

func (l *told) Next() (event.Record, error) {
	if len(l.list) == 0 {
		return event.Record{}, l.end
	}
	r := l.list[0]
	l.list = l.list[1:]
	return r, nil
}

func (l *told) Alive() bool { return true }
func (l *told) Close()      {}

// failing is a run on so many nodes, on each of which a step fails: it waits for a decision, or has failed for good.
func failing(nodes int, waits bool) []event.Record {
	plan := event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("p")}}}
	list := []event.Event{event.RunStarted{Cluster: "rack", Verb: "deploy"}, nil}
	for i := range nodes {
		name := "n" + strconv.Itoa(i)
		step := event.Step{ID: "s/" + name, Phase: "p", Host: name, Title: event.M("s")}
		plan.Hosts, plan.Steps = append(plan.Hosts, event.Host{Name: name}), append(plan.Steps, step)
		f := event.NewFault(event.ClassFailed, "internal", nil)
		list = append(list, event.StepStarted{Step: step.ID, Try: 1})
		if waits {
			list = append(list, event.StepAsked{Step: step.ID, Try: 1, Fault: *f})
		} else {
			list = append(list, event.StepEnded{Step: step.ID, Outcome: event.Failed, Fault: f})
		}
	}
	if list[1] = plan; !waits {
		list = append(list, event.RunEnded{Outcome: event.Failed})
	}
	var out []event.Record
	for i, e := range list {
		out = append(out, event.Record{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Event: e})
	}
	return out
}

func pageOf(t *testing.T, open func() (Log, error)) *Page {
	t.Helper()
	p, err := New(Options{Open: func(context.Context, string, string) (Log, error) { return open() }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawn is the board of the run, with a node.
func drawn(t *testing.T, p *Page, node string) parts {
	t.Helper()
	h, err := p.hubs.enter(t.Context(), "rack", "r")
	if err != nil {
		t.Fatal(err)
	}
	defer p.hubs.leave(h)
	out, err := h.board(p, boardOf{cluster: "rack", run: "r", lang: i18n.English,
		p: i18n.NewPrinter(i18n.English), look: &node})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (now parts) of(id string) string {
	for _, x := range now.list {
		if x.ID == id {
			return x.HTML
		}
	}
	return ""
}

// A log that cannot be opened is opened again by the next who asks.
func TestAnErrorIsNotKept(t *testing.T) {
	broken := true
	p := pageOf(t, func() (Log, error) {
		if broken {
			return nil, errors.New("disk")
		}
		return &told{failing(1, true), io.EOF}, nil
	})
	if _, err := p.hubs.enter(t.Context(), "rack", "r"); err == nil {
		t.Fatal("it was opened")
	}
	broken = false
	if head := drawn(t, p, "").of("head"); !strings.Contains(head, `data-open="1"`) {
		t.Error(head)
	}
}

// A log that is damaged says so: the run may go on.
func TestADamagedLog(t *testing.T) {
	p := pageOf(t, func() (Log, error) {
		return &told{failing(1, true), event.NewFault(event.ClassFailed, "state.read", errors.New("torn"))}, nil
	})
	out := drawn(t, p, "")
	if head := out.of("head"); !strings.Contains(head, "log damaged") || !strings.Contains(head, "torn") ||
		strings.Contains(head, "interrupted") {
		t.Error(head)
	}
	if !out.over {
		t.Error("more is waited for")
	}
}

// Of many failures some are drawn in full. The others have links, and can be decided at their nodes.
func TestManyFailures(t *testing.T) {
	for _, waits := range []bool{true, false} {
		p := pageOf(t, func() (Log, error) { return &told{failing(7, waits), io.EOF}, nil })
		out := drawn(t, p, "n6")
		if got := strings.Join(out.order["asks"], " "); got != "f-s/n0 f-s/n1 f-s/n2 f-s/n3 f-s/n4 f-more" {
			t.Error(waits, got)
		}
		if more := out.of("f-more"); !strings.Contains(more, "2 more failures") || !strings.Contains(more, "node=n5") ||
			!strings.Contains(more, "node=n6") {
			t.Error(waits, more)
		}
		if got := strings.Contains(out.of("node"), `data-decide="retry" data-step="s/n6"`); got != waits {
			t.Errorf("n6 can be decided: %t\n%s", got, out.of("node"))
		}
	}
}

// clocked records when it may be written to.
type clocked struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (c *clocked) SetWriteDeadline(at time.Time) error { c.until = append(c.until, at); return nil }

// Every message of a stream has its own time, the sign of life of a quiet one, too.
func TestAQuietStream(t *testing.T) {
	p := pageOf(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	w := &clocked{ResponseRecorder: httptest.NewRecorder()}
	v := &visit{w: w, r: httptest.NewRequestWithContext(ctx, "GET", "/", nil)}
	asked := 0
	viewer := &viewer{sent: map[string]string{}, beat: time.Millisecond, still: func() bool {
		if asked++; asked == 3 {
			stop()
		}
		return true
	}}
	err := p.streamTo(v, viewer, time.Hour, func() (parts, error) { return parts{}, nil })
	if !errors.Is(err, errAnswered) || strings.Count(w.Body.String(), "event: beat") < 2 ||
		len(w.until) != strings.Count(w.Body.String(), "\n\n") {
		t.Errorf("%v, %d deadlines\n%s", err, len(w.until), w.Body.String())
	}
}

// unreached is a run that preflight refused: n1 was not reached.
func unreached() []event.Record {
	failed := event.NewFault(event.ClassPreflight, "preflight.failed", nil, "count", "1")
	var out []event.Record
	for i, e := range []event.Event{event.RunStarted{Cluster: "rack", Verb: "join"},
		event.PlanMade{Phases: []event.Phase{{ID: "p", Title: event.M("p")}}, Hosts: []event.Host{{Name: "n1"}},
			Steps: []event.Step{{ID: "facts/n1", Phase: "p", Host: "n1", Title: event.M("facts")},
				{ID: "check", Phase: "p", Title: event.M("check")}}},
		event.StepStarted{Step: "facts/n1", Try: 1},
		event.StepEnded{Step: "facts/n1", Outcome: event.Ignored, Fault: &event.Fault{Code: "ssh.unreachable",
			Node: "n1", Args: map[string]string{"addr": "192.0.2.3"}, Cause: "no route to host"}},
		event.StepStarted{Step: "check", Try: 1},
		event.Finding{Host: "n1", Severity: event.Error, Fault: event.Fault{Code: "ssh.unreachable", Node: "n1",
			Args: map[string]string{"addr": "192.0.2.3"}, Cause: "no route to host"}},
		event.StepEnded{Step: "check", Outcome: event.Failed, Fault: failed},
		event.RunEnded{Outcome: event.Failed, Fault: failed, Next: []event.Msg{event.M("next.resume", "command", "x")}},
	} {
		out = append(out, event.Record{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Event: e})
	}
	return out
}

// The board of a run that preflight refused says why: in the panel of the failed check, at the node, and in its log.
func TestABoardSaysWhatPreflightFound(t *testing.T) {
	const why = "no route to host"
	p := pageOf(t, func() (Log, error) { return &told{unreached(), io.EOF}, nil })
	out := drawn(t, p, "n1")
	for _, id := range []string{"f-check", "n-0", "node"} {
		if html := out.of(id); !strings.Contains(html, why) {
			t.Errorf("%s: %s", id, html)
		}
	}
	var log strings.Builder
	for x, err := range saidBy(&told{unreached(), io.EOF}, "n1") {
		if err != nil {
			t.Fatal(err)
		}
		text, _ := i18n.NewPrinter(i18n.English).Fault(x.fault)
		log.WriteString(x.step + " " + text + "\n")
	}
	if strings.Count(log.String(), why) != 2 || !strings.HasPrefix(log.String(), "facts/n1 ") {
		t.Error(log.String())
	}
}

// What to do next is what the API says: there is nothing to continue where nothing was changed.
func TestABoardOffersNoContinueWhereThereIsNone(t *testing.T) {
	const fix, resume = "Nothing was changed.", "To resume, select Continue"
	p := pageOf(t, func() (Log, error) { return &told{unreached(), io.EOF}, nil })
	h, err := p.hubs.enter(t.Context(), "rack", "r")
	if err != nil {
		t.Fatal(err)
	}
	defer p.hubs.leave(h)
	if !h.ended(time.Now()) {
		t.Error("it has not ended")
	}
	for _, end := range []ending{{known: true, code: "preflight.failed", next: fix},
		{known: true, code: "preflight.failed", next: "Fix the errors.", resumes: true}} {
		out, err := h.board(p, boardOf{cluster: "rack", run: "r", lang: i18n.English, p: i18n.NewPrinter(i18n.English),
			end: end})
		if err != nil {
			t.Fatal(err)
		}
		sum := out.of("sum")
		if !strings.Contains(sum, end.next) || strings.Contains(sum, resume) != end.resumes ||
			strings.Contains(sum+out.of("f-check")+out.of("n-0")+out.of("n-1"), "same command") {
			t.Errorf("%+v: %s", end, sum)
		}
	}
}
