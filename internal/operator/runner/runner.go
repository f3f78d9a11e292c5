// Package runner does the work of one Operation, in a pod of its own: it reads what is asked for, runs the operation on
// files in Secrets, and writes how far it is to the status of the Operation.
//
// Begin reading at Run.
package runner

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/state"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Program is the name of this program for those who find a cluster locked.
const Program = "eggops"

// Options of a run.
type Options struct {
	Client    client.WithWatch // without a cache
	Namespace string
	Operation string
	Pod       string
	// State is the directory of the cluster's files while the run lives; absolute, in memory.
	State string
	// Runs is a directory for logs, on a disk; "": they are in State.
	Runs string
	// Logins is the directory below which the files are that deploy.yaml names as sources of secrets; absolute.
	Logins string
	// Snapshots and Backups are where claims for them are mounted; "": there is none.
	Snapshots, Backups string
	// Signers is a file with the keys that bundles have to be signed with; "": any bundle will do.
	Signers string
	// Fetch puts a bundle that is in no claim where deploy.yaml names it.
	Fetch func(context.Context, pod.Source) error
	// Deps has Dialer, Bundles, Version and Clock. The rest is set here.
	Deps operation.Deps
	// Wait is how long the lock of the cluster is waited for.
	Wait time.Duration
	Out  io.Writer // takes the event log, a line of JSON for each record
	// Terminate stops the run when it is closed: running steps end, and no other begins. nil: never.
	Terminate <-chan struct{}
}

// runner is one run.
type runner struct {
	o         Options
	op        *v1.Operation // as it was read first
	store     *state.Store
	board     *board
	publisher *publisher
}

// Run does the work of an Operation. The error is that of the run: exitcode.Of has its exit code. An Operation that has
// succeeded is not repeated. The end of ctx aborts the run.
func Run(ctx context.Context, o Options) error {
	op := &v1.Operation{}
	key := client.ObjectKey{Namespace: o.Namespace, Name: o.Operation}
	if err := retry(ctx, func() error { return o.Client.Get(ctx, key, op) }); err != nil {
		return event.NewFault(event.ClassFailed, "operation.unread", err, "operation", o.Operation)
	}
	if op.Status.Phase == v1.PhaseSucceeded { // a Job runs its pod at least once
		return nil
	}
	if op.Spec.Stop != "" && op.Status.Phase.Ended() { // it was stopped before, and is not to be repeated either
		return stopped(o.Operation)
	}
	r := &runner{o: o, op: op, board: newBoard(op, o.Pod, time.Now(), o.Out)}
	r.publisher = publish(ctx, o.Client, key, r.board)
	r.store = state.New(state.Options{
		Client: o.Client, Namespace: o.Namespace, Root: o.State, Snapshots: o.Snapshots, Backups: o.Backups,
		Runs: o.Runs, Wait: o.Wait, Waits: r.board.waits,
	})
	err := r.work(ctx)
	r.board.end(err)
	r.publisher.finish(ctx)
	return err
}

// work does what the Operation asks for.
func (r *runner) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.op.DeletionTimestamp != nil || r.op.Spec.Stop != "" {
		return stopped(r.op.Name)
	}
	q, bundles, err := r.request(ctx)
	if err != nil {
		return err
	}
	if err := r.notOlder(ctx); err != nil {
		return err
	}
	d := r.deps()
	following := follow(ctx, r, cancel)
	defer following.end()
	if err := r.fetch(ctx, bundles); err != nil {
		return unlessEnded(ctx, err)
	}
	if r.op.Spec.Verb == v1.VerbPlan || r.op.Spec.Verb == v1.VerbPreflight {
		return r.inspect(ctx, q, d)
	}
	h, err := operation.Start(ctx, q, d)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	following.begin(h)
	_, err = h.Wait(context.WithoutCancel(ctx)) // an abort is in the log, too
	// Without its log a run has ended in the same way. The pod's own log has the records as well.
	_ = r.keepLog(ctx, h.Run().Dir)
	if f := event.AsFault(err); f != nil && f.Code == "lock.lost" { // what is kept is another process's
		return err
	}
	return errors.Join(err, r.keepKubeconfig(ctx))
}

// unlessEnded returns the error of what a run does before its log begins; run.interrupted if it was stopped meanwhile.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
	}
	return err
}

// fetch fetches the bundles that are in no claim. It is the step "fetch" in the status.
func (r *runner) fetch(ctx context.Context, bundles []pod.Source) error {
	for _, b := range bundles {
		if b.Claim != "" {
			continue
		}
		r.board.set(func(st *v1.OperationStatus) { st.Phase, st.Step = v1.PhaseRunning, fetchStep })
		if err := r.o.Fetch(ctx, b); err != nil {
			return err
		}
	}
	r.board.set(func(st *v1.OperationStatus) { st.Step = "" })
	return nil
}

// fetchStep is the step of a status while bundles are fetched.
const fetchStep = "fetch"

// stopped returns the fault of an Operation that is not to begin. Its class ends the Job: another try would not begin
// either.
func stopped(name string) *event.Fault {
	return event.NewFault(event.ClassUsage, "operation.stopped", nil, "operation", name)
}

// deps are those of the run: no person is asked, and nothing of the pod is executed or read.
func (r *runner) deps() operation.Deps {
	d := r.o.Deps
	d.Store, d.Sink, d.Asker, d.Unattended = r.store, r.board, secrets{r.o.Logins}, true
	d.Place = "namespace " + r.o.Namespace + " of its meta cluster" // a pod does not know the address that others use
	d.Who = journal.Holder{Program: Program, User: r.o.Namespace, Host: r.o.Pod, PID: os.Getpid()}
	d.ControlHost, d.NoSnapshots, d.NoBackups = false, r.o.Snapshots == "", r.o.Backups == ""
	d.Problems = r.board.problems
	d.Opened = func(run operation.Run) error {
		r.board.set(func(st *v1.OperationStatus) { st.Phase, st.RunID, st.Failure = v1.PhaseRunning, run.Run, nil })
		return nil
	}
	return d
}

// notOlder refuses a run on files that are older than those that the operator has seen.
func (r *runner) notOlder(ctx context.Context) error {
	want := r.op.Spec.Fence
	if want == 0 {
		return nil
	}
	f, err := r.store.Read(ctx, r.op.Spec.ClusterRef.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	have, err := input.ReadOwner(f.Dir())
	if err != nil {
		return err
	}
	if takeOver := r.takeOver(); have.Fence < uint64(want) && takeOver < uint64(want) {
		return event.NewFault(event.ClassPreflight, "operation.older-state", nil, "cluster",
			r.op.Spec.ClusterRef.Name, "have", strconv.FormatUint(have.Fence, 10), "want",
			strconv.FormatInt(want, 10))
	}
	return nil
}

// takeOver returns the number of another copy's run that this run may continue after.
func (r *runner) takeOver() uint64 {
	if a := r.op.Spec.Args; a != nil && a.TakeOver > 0 {
		return uint64(a.TakeOver)
	}
	return 0
}

// clusterDir is the directory of the cluster's files.
func (r *runner) clusterDir() string { return filepath.Join(r.o.State, r.op.Spec.ClusterRef.Name) }

// inspect does a preflight or a plan: nothing is changed.
func (r *runner) inspect(ctx context.Context, q request.Request, d operation.Deps) error {
	r.board.set(func(st *v1.OperationStatus) { st.Phase = v1.PhaseRunning })
	if r.op.Spec.Verb == v1.VerbPreflight {
		is, err := operation.Preflight(ctx, q.Base(), d)
		if is != nil {
			r.board.found(is.Findings, is.Failed)
		}
		return err
	}
	is, err := operation.Plan(ctx, q, d)
	if is != nil {
		r.board.found(is.Findings, is.Failed)
		r.board.planned(is.Nodes)
	}
	return err
}

// exit returns the code and the class of the end of a run, as in docs/exit-codes.md.
func exit(err error) (code int32, class string) {
	c := exitcode.Of(err)
	names := map[exitcode.Code]string{exitcode.OK: "OK", exitcode.Failed: "Failed", exitcode.Usage: "Usage",
		exitcode.Partial: "Partial", exitcode.Auth: "Auth", exitcode.Preflight: "Preflight", exitcode.Bundle: "Bundle",
		exitcode.Locked: "Locked", exitcode.Interrupted: "Interrupted"}
	return int32(c), cmp.Or(names[c], "Failed")
}

// english returns the sentences of a fault for people who read objects with kubectl.
func english(f *event.Fault) (text, next string) {
	return i18n.NewPrinter(i18n.English).FaultIn("kube", f)
}
