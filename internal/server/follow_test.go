package server

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/eggo-k8s/eggo/internal/run/control"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// working is a run of the cluster one that is at work, as its process would be.
type working struct {
	id   string
	bus  *event.Bus
	log  *journal.Writer
	lock *journal.Lock
}

func (s *site) works() *working {
	s.t.Helper()
	j, err := journal.Open(s.root, "one")
	if err != nil {
		s.t.Fatal(err)
	}
	lock, err := j.Lock(journal.Holder{PID: 1, User: "ann", Verb: "deploy"})
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := j.NewRun("deploy", time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := lock.Writes(log.ID()); err != nil {
		s.t.Fatal(err)
	}
	return &working{log.ID(), event.NewBus(time.Now, log), log, lock}
}

func (s *site) emit(w *working, e event.Event) {
	s.t.Helper()
	if err := w.bus.Emit(e); err != nil {
		s.t.Fatal(err)
	}
}

// ends has the process of the run end.
func (s *site) ends(w *working) {
	s.t.Helper()
	if err := w.log.Close(); err != nil {
		s.t.Fatal(err)
	}
	if err := w.lock.Unlock(); err != nil {
		s.t.Fatal(err)
	}
}

// follows opens a stream, and gives its lines but for those that are empty or a comment; "" is its end.
func (s *site) follows(path string, headers ...string) func() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer vera")
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return func() string {
		for lines.Scan() {
			if text := lines.Text(); text != "" && !strings.HasPrefix(text, ":") {
				return text
			}
		}
		return ""
	}
}

// next wants lines that have these texts.
func (s *site) next(who string, next func() string, texts ...string) {
	s.t.Helper()
	for _, want := range texts {
		if got := next(); want == "" && got != "" || !strings.Contains(got, want) {
			s.t.Errorf("%s: %q, want %q", who, got, want)
		}
	}
}

// Several follow one run at once, each in his own way and from the event that he wants: what is there comes, then what
// happens, and the end of the run is the end of the stream.
func TestARunIsFollowed(t *testing.T) {
	s := begin(t)
	s.running()
	w := s.works()
	s.emit(w, event.RunStarted{Cluster: "one", Verb: "deploy"})
	s.emit(w, event.Change{Host: "m1"})
	path := "/api/v1/clusters/one/runs/" + w.id + "/events"
	const events = "text/event-stream"
	all, last := s.follows(path, "Accept", events), s.follows(path, "Accept", events, "Last-Event-ID", "1")
	lines := s.follows(path + "?from=2")
	socket, _, err := websocket.Dial(t.Context(), s.url+path+"?from=2", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer vera"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	message := func() string {
		_, text, err := socket.Read(t.Context())
		if err != nil && websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Error(err)
		}
		return string(text)
	}
	s.next("all", all, "id: 1", `"seq":1`, "id: 2", `"seq":2`)
	s.next("last", last, "id: 2", `"seq":2`)
	s.next("lines", lines, `"seq":2`)
	s.next("socket", message, `"seq":2`)
	s.emit(w, event.Change{Host: "w1"})
	s.next("all", all, "id: 3", `"w1"`)
	s.next("last", last, "id: 3", `"w1"`)
	s.next("lines", lines, `"w1"`)
	s.next("socket", message, `"w1"`)
	s.emit(w, event.RunEnded{Outcome: event.OK})
	s.ends(w)
	s.next("all", all, "id: 4", `"seq":4`, "event: end", "data: {}", "")
	s.next("last", last, "id: 4", `"seq":4`, "event: end", "data: {}", "")
	s.next("lines", lines, `"seq":4`, "")
	s.next("socket", message, `"seq":4`, "")
}

// Who may not see a cluster any more sees nothing that happens from then on, also in a stream that he has.
func TestAStreamEndsWithTheRight(t *testing.T) {
	s := begin(t)
	s.running()
	w := s.works()
	s.emit(w, event.RunStarted{Cluster: "one", Verb: "deploy"})
	next := s.follows("/api/v1/clusters/one/runs/" + w.id + "/events")
	s.next("vera", next, `"seq":1`)
	s.rights.mu.Lock()
	s.rights.roles["vera"] = access.None
	s.rights.mu.Unlock()
	s.emit(w, event.Change{Host: "m1"})
	s.next("vera", next, "")
	s.ends(w)
}

// A list comes in parts; the next one begins after the last name, also if that is gone by then.
func TestAListComesInParts(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	name := func(s string) string { return s }
	for _, c := range []struct {
		after string
		limit int
		want  []string
		next  string
	}{
		{"", 2, []string{"a", "b"}, "b"}, {"b", 2, []string{"c", "d"}, "d"}, {"d", 2, []string{"e"}, ""},
		{"", 5, all, ""}, {"bb", 2, []string{"c", "d"}, "d"}, {"z", 2, []string{}, ""},
	} {
		got, next := paged(all, problem.Page{After: c.after, Limit: c.limit}, name, strings.Compare)
		if !slices.Equal(got, c.want) || next != c.next {
			t.Errorf("after %q: %v, next %q", c.after, got, next)
		}
	}
	newest := func(a, b string) int { return strings.Compare(b, a) }
	one := problem.Page{After: "c", Limit: 1}
	if got, next := paged([]string{"e", "d", "b", "a"}, one, name, newest); !slices.Equal(got, []string{"b"}) ||
		next != "b" {
		t.Errorf("of the newest first, after one that is gone: %v, next %q", got, next)
	}
	if got, _ := paged([]string{"e"}, one, name, newest); len(got) > 0 {
		t.Errorf("what came before is given again: %v", got)
	}
}

// asked is a run that asks about a step. It implements control.Handler.
type asked struct {
	step string
	got  chan event.Decision
}

func (a asked) Decide(step string, d event.Decision) error {
	if step != a.step {
		return event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", step)
	}
	a.got <- d
	return nil
}

func (asked) Stop()  {}
func (asked) Abort() {}

// A decision reaches the process of the run; one about another step, and one of a viewer, does not.
func TestADecisionReachesTheRun(t *testing.T) {
	s := begin(t)
	s.running()
	w := s.works()
	a := asked{"s/m1", make(chan event.Decision, 1)}
	srv, err := control.Serve(w.log.Dir(), a)
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/clusters/one/runs/" + w.id + "/decisions"
	s.want(s.call("vera", "POST", path, `{"step":"s/m1","decision":"retry"}`), 403, "access.denied")
	s.want(s.call("otto", "POST", path, `{"step":"s/m2","decision":"retry"}`), 409, "control.not-asked")
	s.want(s.call("otto", "POST", path, `{"step":"s/m1","decision":"sing"}`), 422, "api.request")
	s.want(s.call("otto", "POST", path, `{"step":"s/m1","decision":"retry"}`), 204, "")
	if d := <-a.got; d != event.TryAgain {
		t.Errorf("the run was told %q", d)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	s.ends(w)
	s.want(s.call("otto", "POST", path, `{"step":"s/m1","decision":"retry"}`), 409, "control.not-asked")
}
