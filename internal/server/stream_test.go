package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// The events of a run come by server-sent events, by a WebSocket and as lines, from any number on and while the run
// goes on; and the end of the run is the end of the stream.
func TestTheEventsOfARun(t *testing.T) {
	s := begin(t)
	s.running()
	j, err := journal.Open(s.root, "one")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := j.Lock(journal.Holder{PID: os.Getpid(), User: "u", Host: "h", Verb: "deploy", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.NewRun("deploy", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, log)
	if err := errors.Join(lock.Writes(log.ID()), bus.Emit(event.RunStarted{Run: log.ID(), Verb: "deploy"}),
		bus.Emit(event.Notice{Text: event.M("notice.done")})); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/clusters/one/runs/" + log.ID() + "/events"
	c, _, err := websocket.Dial(t.Context(), s.url+path+"?from=2", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer vera"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	read := func(want string) {
		t.Helper()
		if _, text, err := c.Read(t.Context()); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s %v", text, err)
		}
	}
	read(`{"seq":2,`) // the run goes on
	events := make(chan answer, 1)
	go func() {
		events <- s.call("vera", "GET", path+"?from=1", "", "Accept", "text/event-stream", "Last-Event-ID", "1")
	}()
	if err := errors.Join(bus.Emit(event.RunEnded{Outcome: event.Changed}), log.Close(), lock.Unlock()); err != nil {
		t.Fatal(err)
	}
	read(`{"seq":3,`)
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	var ids []string
	a := <-events
	for l := range strings.Lines(a.text) {
		if strings.HasPrefix(l, "id: ") || strings.HasPrefix(l, "event: ") {
			ids = append(ids, strings.TrimSpace(l))
		}
	}
	if got := strings.Join(ids, ", "); got != "id: 2, id: 3, event: end" {
		t.Error(got)
	}
	if a := s.call("vera", "GET", path+"?from=3", ""); strings.Count(a.text, "\n") != 1 ||
		!strings.HasPrefix(a.text, `{"seq":3,`) {
		t.Error(a.text)
	}
	s.want(s.call("vera", "GET", strings.Replace(path, log.ID(), "20260102T030405Z-deploy", 1), ""), 404,
		"usage.no-run")
}

// A cluster, also in the list, says that its run waits for a decision, and about which step, until it has one.
func TestAClusterSaysThatItsRunWaits(t *testing.T) {
	s := begin(t)
	s.want(s.call("ann", "POST", "/api/v1/clusters", oneCluster), 202, "")
	s.reach("Creating", func() bool { return s.m.Clusters()[0].Operation.Run() != "" })
	dir := filepath.Join(s.root, "one", "runs", s.world.Newest("one").ID())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bus := event.NewBus(time.Now, logFile(filepath.Join(dir, "events.jsonl")))
	emit := func(list ...event.Event) {
		t.Helper()
		for _, e := range list {
			if err := bus.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	waits := func(want int) {
		t.Helper()
		for _, path := range []string{"/clusters", "/clusters/one"} {
			a := s.want(s.call("vera", "GET", "/api/v1"+path, ""), 200, "")
			if n := strings.Count(a.text, `"waits_for"`); n != want || want > 0 && (!strings.Contains(a.text,
				`"waits_for":[{"step":"s/m1","node":"m1"`) || !strings.Contains(a.text, `"code":"internal"`)) {
				t.Error(a.text)
			}
		}
	}
	waits(0)
	emit(event.RunStarted{Verb: "deploy"}, event.PlanMade{Hosts: []event.Host{{Name: "m1"}},
		Steps: []event.Step{{ID: "s/m1", Host: "m1", Title: event.M("notice.done")}}})
	waits(0)
	emit(event.StepStarted{Step: "s/m1", Try: 1},
		event.StepAsked{Step: "s/m1", Try: 1, Fault: *event.NewFault(event.ClassFailed, "internal", nil)})
	waits(1)
	emit(event.StepDecided{Step: "s/m1", Decision: event.TryAgain})
	waits(0)
	s.world.Newest("one").Finish(nil)
	s.reach("Running", nil)
	waits(0)
}

// logFile is an event log that is written by hand. It implements event.Sink.
type logFile string

func (l logFile) Emit(r event.Record) error {
	text, err := event.Encode(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(string(l), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// The lists of clusters and of runs come in pages. One that begins after what is gone begins with what follows it.
func TestListsComeInPages(t *testing.T) {
	s := begin(t)
	for _, name := range []string{"one", "three", "two"} {
		body := strings.Replace(oneCluster, `"one"`, `"`+name+`"`, 1)
		s.want(s.call("ann", "POST", "/api/v1/clusters", body), 202, "")
	}
	j, err := journal.Open(s.root, "one")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		log, err := j.NewRun("deploy", time.Now().Add(time.Duration(i)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ query, want string }{
		{"", "one three two"}, {"?limit=3", "one three two"}, {"?limit=2", "one three, after three"},
		{"?limit=2&after=three", "two"}, {"?limit=1&after=one", "three, after three"}, {"?after=none", "one three two"},
		{"?after=p", "three two"}, {"?after=two", ""}, {"?after=zz", ""},
	} {
		a := s.want(s.call("vera", "GET", "/api/v1/clusters"+c.query, ""), 200, "")
		var page problem.List[Cluster]
		if err := json.Unmarshal([]byte(a.text), &page); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range page.Items {
			names = append(names, x.Name)
		}
		got := strings.Join(names, " ")
		if page.Next != "" {
			got += ", after " + page.Next
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	var all []string
	for after := ""; ; {
		a := s.want(s.call("vera", "GET", "/api/v1/clusters/one/runs?limit=2&after="+after, ""), 200, "")
		var page problem.List[Run]
		if err := json.Unmarshal([]byte(a.text), &page); err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			all = append(all, r.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(all) != 3 || all[0] <= all[1] || all[1] <= all[2] { // the newest first
		t.Error(all)
	}
	s.want(s.call("vera", "GET", "/api/v1/clusters?limit=0", ""), 422, "api.request")
}
