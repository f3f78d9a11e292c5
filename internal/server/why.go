package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Reason is one of the things that made a run fail.
type Reason struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Next    string `json:"next,omitempty"`
	Node    string `json:"node,omitempty"`
	Step    string `json:"step,omitempty" doc:"The title of the step that failed; none: preflight found it."`
	HostKey string `json:"host_key,omitempty" doc:"As in a fault."`
}

// faultOfCluster is why a cluster is as it is, with what made its run fail.
func (s *Server) faultOfCluster(ctx context.Context, v manager.View) *Fault {
	f := cmp.Or(v.Fault, v.Trouble)
	if v.Fault == nil {
		return faultOf(ctx, f)
	}
	o := v.Last
	if v.Failed != nil && (o == nil || o.Kind.Quiet() && v.State == state.Unavailable) {
		o = v.Failed
	}
	why := s.Runs.Why(v.Name, o.Run())
	if why.Code != f.Code { // the fault is of something else
		why = runs.Why{}
	}
	return because(ctx, f, why, advice(v, o, f))
}

// faultOfRun is why a run failed, and what continuing its cluster continues; "": nothing, or not this run.
func (s *Server) faultOfRun(ctx context.Context, v manager.View, r request.Run) (*Fault, string) {
	why := s.Runs.Why(v.Name, r.Run)
	o, kind := v.Last, v.Continued()
	switch {
	case v.Operation != nil && slices.Contains(v.Operation.Runs, r.Run): // the manager has not seen its end yet
		o, kind = v.Operation, v.Operation.Kind
		if kind != manager.Create && (manager.Outcome{Fault: r.Fault, Unchanged: why.Unchanged}).Idle() {
			kind = ""
		}
		v.State, v.Failed = state.Running, nil
		if kind != "" {
			v.State, v.Failed = state.Unavailable, o
		}
	case v.State != state.Unavailable || o.Run() != r.Run && v.Failed.Run() != r.Run:
		kind = ""
	}
	if o.Run() != r.Run {
		o = v.Failed
	}
	next := advice(v, o, r.Fault)
	if o.Run() != r.Run {
		next = past(why, r.Fault)
	}
	return because(ctx, r.Fault, why, next), string(kind)
}

// because is a fault with what made its run fail. next is what to do here; no key: the fault says it.
func because(ctx context.Context, f *event.Fault, why runs.Why, next event.Msg) *Fault {
	out, p := faultOf(ctx, f), problem.From(ctx)
	if next.Key != "" {
		out.Next = p.Msg(next)
	}
	for _, x := range why.Reasons {
		one := faultOf(ctx, &x.Fault)
		out.TakeOver = max(out.TakeOver, one.TakeOver)
		r := Reason{Code: one.Code, Detail: one.Detail, Next: one.Next, Node: one.Node, HostKey: one.HostKey}
		if x.Step != nil {
			r.Step = p.Msg(*x.Step)
		}
		out.Errors = append(out.Errors, r)
	}
	out.Count = len(out.Errors)
	return out
}

// commanding says of the fault of a run whether its advice is to run the same command again.
func commanding(code string) bool {
	switch code {
	case "preflight.failed", "run.failed", "engine.steps-failed", "engine.left-out":
		return true
	}
	return interrupted(code)
}

func interrupted(code string) bool {
	switch code {
	case "run.interrupted", "engine.interrupted", "interrupted", "control.gone", "run.killed", "run.died", "lock.lost":
		return true
	}
	return false
}

// fresh says whether what failed was to create the cluster: a change of nodes of one that never ran is that, too.
func fresh(r manager.Record) bool {
	return r.Continued() == manager.Create || r.Continued() == manager.Update && !r.EverRan
}

// advice is what to do about the fault of a cluster's operation, where there is no command that could be run again; no
// key: the fault says it.
func advice(v manager.View, o *manager.Operation, f *event.Fault) event.Msg {
	continues := v.Continued() != "" && v.State == state.Unavailable
	switch {
	case f == nil || o == nil || !commanding(f.Code):
		return event.Msg{}
	case continues && interrupted(f.Code):
		return event.M("api.next.continue")
	case continues && fresh(v.Record) && f.Code == "preflight.failed":
		return event.M("api.next.create")
	case continues:
		return event.M("api.next.fix")
	case interrupted(f.Code):
		return event.M("api.next.interrupted")
	case o.Kind == manager.Update && !o.Found:
		return event.M("api.next.nodes")
	}
	return event.M("api.next.again")
}

// past is the advice about a run that others have followed.
func past(why runs.Why, f *event.Fault) event.Msg {
	switch {
	case !commanding(f.Code):
		return event.Msg{}
	case interrupted(f.Code):
		return event.M("api.next.interrupted")
	case why.Unchanged:
		return event.M("api.next.again")
	}
	return event.M("api.next.past")
}
