package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/desired"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// decision is the next step of a cluster.
type decision struct {
	begin *attempt        // an Operation to make, or to complete
	drop  []*v1.Operation // that were stopped before they began
	stop  []*v1.Operation // that should end early, or not begin

	// stalled is why nothing is tried any more until something changes; nil if something is. failure is in its place
	// what a run has written about its end.
	stalled *event.Fault
	failure *v1.Operation
	// waits is why nothing is done at present; message is for it.
	waits, message string
	valid          *event.Fault // why there is no valid deploy.yaml; nil if there is one
	checked        bool         // valid was examined
	same           bool         // nothing has to change
	version        string       // that is wanted
	plan           *v1.PlanStatus
	after          time.Duration // to look again; 0: whenever
}

// next decides what a cluster needs next.
func (w *world) next(ctx context.Context) (decision, error) {
	running := w.running()
	if w.cluster.Spec.Paused {
		out := decision{waits: v1.ReasonPaused}
		for _, o := range running {
			if begun(o) && o.Spec.Stop == "" {
				out.stop = append(out.stop, o)
			}
		}
		return out, nil
	}
	for _, o := range running {
		if begun(o) || o.Spec.SpecDigest == "" {
			return decision{waits: v1.ReasonProgressing, version: w.cluster.Spec.Version}, nil
		}
	}
	out, err := w.compare(ctx)
	if err != nil {
		return out, err
	}
	for _, o := range running { // those that were made here and are not known to have begun
		if (out.begin == nil || o.Name != out.begin.name(w.cluster)) && o.Spec.Stop == "" {
			out.stop = append(out.stop, o)
		}
	}
	return out, nil
}

// running returns the Operations that have not ended.
func (w *world) running() (out []*v1.Operation) {
	for i := range w.ops {
		if o := &w.ops[i]; !o.Status.Phase.Ended() && o.DeletionTimestamp.IsZero() {
			out = append(out, o)
		}
	}
	return out
}

// begun reports whether an Operation has a run.
func begun(o *v1.Operation) bool {
	return o.Status.Phase != "" && o.Status.Phase != v1.PhaseQueued
}

// never reports whether an Operation was stopped before it began: the same can be made again.
func never(o *v1.Operation) bool {
	return o.Status.Phase == v1.PhaseStopped && o.Status.StartTime == nil
}

// changed reports whether an Operation may have changed machines and has ended.
func changed(o *v1.Operation) bool {
	return o.Spec.Verb.Changes() && o.Status.Phase.Ended() && !never(o)
}

// compare compares the cluster with what is wanted while nothing runs.
func (w *world) compare(ctx context.Context) (decision, error) {
	var out decision
	if out.stalled = w.has.fault; out.stalled == nil && w.cluster.Spec.Adopt != nil {
		out.stalled = event.NewFault(event.ClassUsage, "operator.unsupported", nil, "field", "spec.adopt")
	}
	if out.stalled != nil {
		return out, nil
	}
	if w.binding == nil || !w.seen() {
		out.waits = v1.ReasonWaitingForMachines
		return out, nil
	}
	target, fault := w.target()
	if fault == nil {
		fault = w.bundled(target)
	}
	if out.version = target; fault != nil {
		out.stalled = fault
		return out, nil
	}
	want, err := w.describe(ctx, target, nil)
	if out.stalled, err = usage(err); out.stalled != nil || err != nil {
		out.valid, out.checked = out.stalled, true
		return out, err
	}
	if out.checked = true; want.problems.HasErrors() {
		i := slices.IndexFunc(want.problems, func(p config.Problem) bool { return p.Severity == event.Error })
		out.valid = want.problems[i].Fault()
		out.stalled = out.valid
		return out, nil
	}
	d, fault := w.difference(target, want)
	if fault != nil {
		out.stalled = fault
		return out, nil
	}
	q, salt := d.Next(w.options()), ""
	if q == nil {
		if q, salt = w.correction(); q == nil {
			out.same = w.complete()
			if out.waits = v1.ReasonWaitingForMachines; out.same {
				out.waits, out.begin = "", w.backup()
			}
			return out, nil
		}
	}
	next, fault, err := w.attempt(ctx, q, d, target, want, salt)
	if out.stalled = fault; fault != nil || err != nil {
		return out, err
	}
	return w.try(out, next), nil
}

// usage returns an error as a fault if another try gives the same, else as an error.
func usage(err error) (*event.Fault, error) {
	if f := event.AsFault(err); err != nil && f.Class == event.ClassUsage {
		return f, nil
	}
	return nil, err
}

// seen reports whether the machines are those of the present spec.
func (w *world) seen() bool {
	c := meta.FindStatusCondition(w.cluster.Status.Conditions, v1.ConditionMachinesBound)
	return c != nil && c.ObservedGeneration == w.cluster.Generation &&
		(c.Status == metav1.ConditionTrue || w.has.config != nil)
}

// complete reports whether the cluster has all machines that its spec requires.
func (w *world) complete() bool {
	return meta.IsStatusConditionTrue(w.cluster.Status.Conditions, v1.ConditionMachinesBound)
}

// correction returns the request that renews certificates or brings nodes back that others have removed, and a text
// that makes it another one than the last of its kind; nil if nothing is to be corrected.
func (w *world) correction() (request.Request, string) {
	if w.expiring() {
		return request.Renew{}, w.expires.String()
	}
	if w.cluster.Spec.DriftPolicy != v1.DriftCorrect || w.health == nil || w.health.fault != nil {
		return nil, ""
	}
	if d := w.drift(w.health); strings.Contains(" "+d, " -") {
		return request.Deploy{}, d + w.now.UTC().Format("2006-01-02T15")
	}
	return nil, ""
}

// expiring reports whether a certificate expires soon.
func (w *world) expiring() bool {
	return !w.expires.IsZero() && w.now.Add(pki.RenewAhead).After(w.expires)
}

// backup returns the backup that is due; nil if none is.
func (w *world) backup() *attempt {
	b := w.cluster.Spec.Backup
	if b == nil || b.Schedule.Duration < time.Minute {
		return nil
	}
	last := w.last(func(o *v1.Operation) bool { return o.Spec.Verb == v1.VerbBackup })
	if last != nil && w.now.Sub(last.CreationTimestamp.Time) < b.Schedule.Duration {
		return nil
	}
	slot := w.now.UnixNano() / int64(b.Schedule.Duration)
	return &attempt{verb: v1.VerbBackup, digest: fmt.Sprintf("%08x", slot), plain: true}
}

// difference compares the state of the cluster with what is wanted.
func (w *world) difference(target string, want description) (desired.Difference, *event.Fault) {
	has := desired.State{Name: w.cluster.Name, Config: w.has.config, Version: w.installed(),
		Upgrading: w.has.upgrading, Unfinished: w.unfinished()}
	way, fault := w.way(has.Version, target)
	if fault != nil {
		return desired.Difference{}, fault
	}
	to := target
	if has.Version == "" {
		to = ""
	}
	d, err := desired.Compare(has, desired.Wanted{Config: want.file.Cluster, Version: to, Bundles: w.paths(way),
		Source: request.Source{File: wantedFile, Text: want.file.Text}})
	if err != nil {
		return d, event.AsFault(err)
	}
	return d, nil
}

// wantedFile is how messages of a run call the deploy.yaml that is wanted.
const wantedFile = "/run/eggo/deploy.yaml"

// unfinished reports whether the last run that changes machines has failed or was stopped.
func (w *world) unfinished() bool {
	last := w.last(changed)
	return last != nil && last.Status.Phase != v1.PhaseSucceeded && w.has.config != nil
}

// last returns the newest Operation for which is holds; nil if there is none.
func (w *world) last(is func(*v1.Operation) bool) *v1.Operation {
	for i := len(w.ops) - 1; i >= 0; i-- {
		if is(&w.ops[i]) {
			return &w.ops[i]
		}
	}
	return nil
}

// options are those of the next request. Machines that leave and do not answer are removed without asking them.
func (w *world) options() desired.Options {
	drain, force := operation.Drain(w.cluster, nil)
	out := desired.Options{Drain: drain, Force: force || len(w.lost()) > 0, Purge: true}
	out.Upgrade = request.Upgrade{Drain: drain, Soak: request.SoakTime, Force: force,
		Window: w.cluster.Spec.MaintenanceWindow}
	if u := w.cluster.Spec.Upgrade; u != nil {
		out.Upgrade.Batch, out.Upgrade.Packages = u.Batch, u.Packages
		if u.Soak != nil {
			out.Upgrade.Soak = u.Soak.Duration
		}
	}
	return out
}

// leaving returns the machines that have to leave and that are still in the state of the cluster.
func (w *world) leaving() (out []*v1.Machine) {
	if w.binding == nil {
		return nil
	}
	for _, b := range w.binding.Spec.Machines {
		if m := w.bound[b.Name]; b.Leaving && m != nil && w.member(m) {
			out = append(out, m)
		}
	}
	return out
}

// lost returns the names of those of leaving that do not answer.
func (w *world) lost() (out []string) {
	for _, m := range w.leaving() {
		if !reachable(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// member reports whether a machine is in the state of the cluster.
func (w *world) member(m *v1.Machine) bool {
	return w.has.config != nil && slices.ContainsFunc(w.has.config.Nodes, func(n config.Node) bool {
		return n.IP.String() == m.Spec.IP
	})
}

// try decides whether an attempt is made now: not twice after a failure, not without approval, not outside the window.
func (w *world) try(out decision, next *attempt) decision {
	for i := range w.ops {
		if w.ops[i].Name == next.name(w.cluster) {
			next.exists = &w.ops[i]
		}
	}
	if o := next.exists; o != nil && o.Status.Phase.Ended() {
		if never(o) {
			out.drop, out.waits = []*v1.Operation{o}, v1.ReasonProgressing
			return out
		}
		if out.failure = o; o.Status.Phase == v1.PhaseSucceeded { // and the difference is still there
			out.failure = nil
			out.stalled = event.NewFault(event.ClassFailed, "operator.endless", nil, "operation", o.Name)
		}
		return out
	}
	if next.exists == nil {
		if wait := untilWindow(w.cluster.Spec.MaintenanceWindow, w.now); wait > 0 && w.has.config != nil {
			out.waits, out.message, out.after = v1.ReasonWaitingForWindow, w.cluster.Spec.MaintenanceWindow, wait
			return out
		}
		if w.cluster.Spec.Approval == v1.ApprovalManual || w.has.config != nil && !w.cluster.Status.HasCluster {
			return w.approved(out, next)
		}
	}
	out.begin, out.waits = next, v1.ReasonProgressing
	return out
}

// approved decides about an attempt that needs approval: its plan is made first.
func (w *world) approved(out decision, next *attempt) decision {
	plan := *next
	plan.verb = v1.VerbPlan
	for i := range w.ops {
		if w.ops[i].Name == plan.name(w.cluster) {
			plan.exists = &w.ops[i]
		}
	}
	switch o := plan.exists; {
	case o == nil || !o.Status.Phase.Ended():
		out.begin, out.waits = &plan, v1.ReasonProgressing
	case o.Status.Phase != v1.PhaseSucceeded:
		out.failure = o
	default:
		digest := o.Status.PlanDigest
		if digest == "" {
			digest = next.digest
		}
		if w.cluster.Annotations[v1.AnnotationApprove] == digest {
			out.begin, out.waits = next, v1.ReasonProgressing
			return out
		}
		out.plan = &v1.PlanStatus{Operation: o.Name, Digest: digest,
			Summary: strconv.Itoa(int(o.Status.ChangesTotal))}
		out.waits = v1.ReasonWaitingForApproval
	}
	return out
}

// untilWindow returns how long it takes until a maintenance window begins; 0: it is open, or there is none.
func untilWindow(window string, now time.Time) time.Duration {
	from, to, err := request.ParseWindow(window)
	if err != nil || window == "" {
		return 0
	}
	now = now.UTC()
	at := now.Sub(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC))
	open := from <= at && at < to
	if to <= from { // over midnight
		open = at >= from || at < to
	}
	if open {
		return 0
	}
	if at < from {
		return from - at
	}
	return from + 24*time.Hour - at
}
