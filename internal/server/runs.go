package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

const (
	// beat is how often a stream says that it lives, so that proxies keep it.
	beat = 15 * time.Second
	// writeIn is how long one who reads a stream may take nothing.
	writeIn = 30 * time.Second
)

// Wait is a step that failed, and waits for a decision.
type Wait struct {
	Step  string    `json:"step"`
	Node  string    `json:"node,omitempty"`
	Title string    `json:"title"`
	Since time.Time `json:"since"`
	Fault *Fault    `json:"fault,omitempty"`
}

// Run is a run of a cluster.
type Run struct {
	ID      string    `json:"id"`
	Verb    string    `json:"verb"`
	Status  string    `json:"status" doc:"running, done, failed, interrupted."`
	Began   time.Time `json:"began,omitzero"`
	Took    float64   `json:"took_seconds"`
	Outcome string    `json:"outcome,omitempty"`
	Fault   *Fault    `json:"fault,omitempty"`
	Waits   []Wait    `json:"waits_for,omitempty" doc:"Steps that failed, and wait for a decision."`
	// Continue is of the newest run of a cluster only.
	Continue string `json:"continues,omitempty" doc:"What continuing the cluster continues: this kind of operation."`
}

type RunsInput struct {
	InCluster
	problem.Page
}

type runsOutput struct{ Body problem.List[Run] }

type InRun struct {
	InCluster
	Run string `path:"run" maxLength:"96"`
}

type runOutput struct{ Body Run }

type eventsInput struct {
	InRun
	From uint64 `query:"from" doc:"The sequence number of the first event."`
	Last string `header:"Last-Event-ID" doc:"The sequence number of the last event that came." maxLength:"20"`
}

type changesInput struct {
	From uint64 `query:"from" doc:"The number of the first change."`
	Last string `header:"Last-Event-ID" maxLength:"20"`
}

type decisionInput struct {
	InRun
	Body struct {
		Step     string `json:"step" minLength:"1" maxLength:"512"`
		Decision string `json:"decision" enum:"retry,skip,abort"`
	}
}

// runs are the routes of runs, and the streams.
func (s *Server) runs(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"runs"}}
	}
	const of = "/clusters/{cluster}/runs"
	s.ListRuns = add(s, api, op("list-runs", "GET", of, "List the runs of a cluster"), access.View, s.listRuns)
	s.GetRun = add(s, api, op("get-run", "GET", of+"/{run}", "Get a run"), access.View, s.getRun)
	stream := func(o huma.Operation, line string) huma.Operation {
		o.Responses, o.Errors = streamed(line), []int{http.StatusBadRequest} // a WebSocket that is none
		return o
	}
	add(s, api, stream(op("follow-run", "GET", of+"/{run}/events",
		"Follow a run: server-sent events, a WebSocket, or lines of JSON"),
		"an event of its log, with its number as seq"), access.View, s.follow)
	add(s, api, op("decide", "POST", of+"/{run}/decisions", "Decide about a step that failed"), access.Operate,
		s.decide, func(i *decisionInput) (string, string) {
			return "", i.Body.Decision + " " + i.Body.Step + " in " + i.Run
		})
	add(s, api, stream(op("follow-clusters", "GET", "/events",
		"Follow the states of the clusters"), changeOf(api)), access.Authenticated, s.changes)
}

// showRun is a run of a cluster, with why it failed.
func (s *Server) showRun(ctx context.Context, v manager.View, r request.Run) Run {
	out := Run{ID: r.Run, Verb: r.Verb, Status: r.Status, Began: r.At, Took: r.Took.Seconds(),
		Outcome: string(r.Outcome)}
	if r.Status == request.Installed || r.Status == request.Removed { // of a cluster: a backup installs nothing
		out.Status = endedWell
	}
	if out.Waits = waitsOf(ctx, r.Waits); r.Fault != nil {
		out.Fault, out.Continue = s.faultOfRun(ctx, v, r)
	}
	return out
}

// endedWell is the status of a run that ended well, whatever it did.
const endedWell = "done"

// someErrors is how many errors of a run a list of runs has.
const someErrors = 3

func waitsOf(ctx context.Context, list []request.Wait) (out []Wait) {
	for _, w := range list {
		title := problem.From(ctx).Msg(w.Title)
		out = append(out, Wait{w.Step, w.Node, title, w.Since, faultOf(ctx, w.Fault)})
	}
	return out
}

func (s *Server) runsOf(ctx context.Context, cluster string) (manager.View, []request.Run, error) {
	v, err := s.Manager.Cluster(cluster)
	if err != nil {
		return v, nil, err
	}
	all, err := operation.Runs(ctx, s.Deps().Store, cluster)
	all = slices.DeleteFunc(all, func(r request.Run) bool { return !v.Has(r.Run) })
	if event.AsFault(err) == nil || len(all) > 0 {
		return v, all, nil
	}
	return v, nil, err
}

// listRuns gives of each run that failed the first errors, and how many there are.
func (s *Server) listRuns(ctx context.Context, _ access.Grant, in *RunsInput) (*runsOutput, error) {
	v, all, err := s.runsOf(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	out := &runsOutput{}
	out.Body.Items = []Run{}
	newest := func(a, b string) int { return strings.Compare(b, a) } // a run's name begins with its time
	some, next := paged(all, in.Page, func(r request.Run) string { return r.Run }, newest)
	for _, r := range some {
		one := s.showRun(ctx, v, r)
		if one.Fault != nil {
			one.Fault.Errors = one.Fault.Errors[:min(someErrors, len(one.Fault.Errors))]
		}
		out.Body.Items = append(out.Body.Items, one)
	}
	out.Body.Next = next
	return out, nil
}

func (s *Server) getRun(ctx context.Context, _ access.Grant, in *InRun) (*runOutput, error) {
	v, all, err := s.runsOf(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Run == in.Run {
			return &runOutput{s.showRun(ctx, v, r)}, nil
		}
	}
	return nil, s.noRun(in.Run)
}

func (s *Server) noRun(run string) error {
	return event.NewFault(event.ClassUsage, "usage.no-run", nil, "run", run, "dir", s.Deps().Store.Where())
}

// has refuses a run that is none of the cluster, also one of an earlier cluster of its name.
func (s *Server) has(in InRun) error {
	v, err := s.Manager.Cluster(in.Cluster)
	if err == nil && !v.Has(in.Run) {
		err = s.noRun(in.Run)
	}
	return err
}

func (s *Server) open(ctx context.Context, in InRun) (*operation.Handle, error) {
	if err := s.has(in); err != nil {
		return nil, err
	}
	return operation.Open(ctx, s.Deps().Store, request.Ref{Cluster: in.Cluster, Run: in.Run})
}

func (s *Server) decide(ctx context.Context, _ access.Grant, in *decisionInput) (*struct{}, error) {
	h, err := s.open(ctx, in.InRun)
	if err != nil {
		return nil, err
	}
	select {
	case <-h.Done(): // nobody asks any more
		return nil, event.NewFault(event.ClassUsage, "control.not-asked", nil, "step", in.Body.Step)
	default:
		return nil, h.Decide(in.Body.Step, event.Decision(in.Body.Decision))
	}
}

// first is the number that a stream begins with.
func first(from uint64, last string) uint64 {
	if n, err := strconv.ParseUint(last, 10, 64); err == nil {
		return n + 1
	}
	return from
}

// follow gives the events of a run, as its log has them: those that are there, and those that come.
func (s *Server) follow(ctx context.Context, _ access.Grant, in *eventsInput) (*huma.StreamResponse, error) {
	if err := s.has(in.InRun); err != nil {
		return nil, err
	}
	w, err := s.Runs.Watch(ctx, in.Cluster, in.Run)
	if err != nil {
		return nil, err
	}
	may := func(ctx context.Context) error {
		_, err := access.Check(ctx, s.Access, access.View, in.Cluster)
		return err
	}
	return stream(w.Close, may, func(ctx context.Context) iter.Seq2[runs.Line, error] {
		return w.Lines(ctx, first(in.From, in.Last))
	}), nil
}

// changes gives the changes of the clusters that the caller may see.
func (s *Server) changes(_ context.Context, who access.Grant, in *changesInput) (*huma.StreamResponse, error) {
	may := func(ctx context.Context) error { // what is sent is asked about one by one
		_, err := s.Access.RoleOf(ctx, who.Caller(), "")
		return err
	}
	return stream(func() {}, may, func(ctx context.Context) iter.Seq2[runs.Line, error] {
		return func(yield func(runs.Line, error) bool) {
			for after := max(first(in.From, in.Last), 1) - 1; ; {
				list, err := s.Manager.Changes(ctx, after)
				if err != nil {
					return // the server ends, or nobody listens
				}
				for _, c := range list {
					after = c.Seq
					role, err := s.Access.RoleOf(ctx, who.Caller(), c.Cluster)
					if err != nil {
						return // the session or the token has ended
					}
					if !role.May(access.View) {
						continue
					}
					text, err := raw(c)
					if !yield(runs.Line{Seq: c.Seq, Text: text}, err) || err != nil {
						return
					}
				}
			}
		}
	}), nil
}

// stream sends lines as the caller wants them: by a WebSocket, as server-sent events, or one after the other, for as
// long as he may see them. done is called at the end.
func stream(
	done func(), may func(context.Context) error, lines func(context.Context) iter.Seq2[runs.Line, error],
) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer done()
		r, w := humago.Unwrap(hc)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			bySocket(ctx, w, r, may, lines)
			return
		}
		events := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
		kind := "application/jsonl"
		if events {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		control := http.NewResponseController(w)
		send := func(text string) error {
			_ = control.SetWriteDeadline(time.Now().Add(writeIn))
			_, err := io.WriteString(w, text)
			return errors.Join(err, control.Flush())
		}
		if send("") != nil {
			return
		}
		send1 := func(l runs.Line) error {
			if events {
				return send(fmt.Sprintf("id: %d\ndata: %s\n\n", l.Seq, strings.TrimSpace(string(l.Text))))
			}
			return send(strings.TrimSpace(string(l.Text)) + "\n")
		}
		idle := func() error {
			if events {
				return send(": \n\n")
			}
			return send("\n") // no value, and a sign of life
		}
		if pump(ctx, cancel, lines(ctx), asking(ctx, may, send1), idle, may) == nil && events {
			_ = send("event: end\ndata: {}\n\n")
		}
	}}
}

// asking has a line sent to who may see it: access knows that for some seconds without asking its database.
func asking(ctx context.Context, may func(context.Context) error, send func(runs.Line) error) func(runs.Line) error {
	return func(l runs.Line) error {
		if err := may(ctx); err != nil {
			return err
		}
		return send(l)
	}
}

// pump sends lines as they come, and a sign of life when none does, until the caller may not see them any more.
func pump(
	ctx context.Context, cancel func(), lines iter.Seq2[runs.Line, error], send func(runs.Line) error,
	idle func() error, may func(context.Context) error,
) error {
	come := make(chan runs.Line)
	go func() {
		defer close(come)
		for l, err := range lines {
			if err != nil {
				return
			}
			select {
			case come <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { // what reads the lines ends first
		cancel()
		for range come {
			continue
		}
	}()
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		var err error
		select {
		case l, more := <-come:
			if !more {
				return ctx.Err()
			}
			err = send(l)
		case <-alive.C:
			if err = may(ctx); err == nil {
				err = idle()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// upgrading has a WebSocket that is refused told as a problem.
type upgrading struct {
	http.ResponseWriter
	r       *http.Request
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (u *upgrading) WriteHeader(status int) {
	if u.refused = status >= http.StatusBadRequest; u.refused {
		u.Header().Del("Connection")
		u.Header().Del("Upgrade")
		problem.Write(u.ResponseWriter, u.r, event.NewFault(event.ClassUsage, "api.websocket", nil))
		return
	}
	u.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The words of the library are left out.
func (u *upgrading) Write(p []byte) (int, error) {
	if u.refused {
		return len(p), nil
	}
	return u.ResponseWriter.Write(p)
}

// Unwrap is for who takes the connection over.
func (u *upgrading) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// bySocket sends lines by a WebSocket, a message for each. A page of another origin is refused. The lines end with the
// WebSocket: nothing else tells who waits for them that the client is gone.
func bySocket(
	ctx context.Context, w http.ResponseWriter, r *http.Request, may func(context.Context) error,
	lines func(context.Context) iter.Seq2[runs.Line, error],
) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	c, err := websocket.Accept(&upgrading{ResponseWriter: w, r: r}, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	ctx, cancel := context.WithCancel(c.CloseRead(ctx))
	defer cancel()
	within := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, writeIn)
		defer cancel()
		return do(ctx)
	}
	err = pump(ctx, cancel, lines(ctx), asking(ctx, may, func(l runs.Line) error {
		return within(func(ctx context.Context) error { return c.Write(ctx, websocket.MessageText, l.Text) })
	}), func() error { return within(c.Ping) }, may)
	if err == nil {
		_ = c.Close(websocket.StatusNormalClosure, "end")
	}
}
