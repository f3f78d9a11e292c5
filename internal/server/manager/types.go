// Package manager has the clusters of a server: each is owned by one goroutine, which alone changes its state, one
// message after the other. What it does on machines is a run of its own process (Runner); what it has to know after a
// restart is written down together with the change of state (Store). State machine: package state.
//
// It knows no HTTP and no language. It may import run/event.
package manager

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// Kind of an operation.
type Kind string

// The kinds. An update makes the cluster what its record wants: nodes join, nodes are removed.
const (
	Create   Kind = "create"
	Update   Kind = "update"
	Renew    Kind = "renew"
	Upgrade  Kind = "upgrade"
	Back     Kind = "upgrade-back"
	Snapshot Kind = "snapshot"
	Restore  Kind = "restore"
	Backup   Kind = "backup"
	Delete   Kind = "delete"
)

// Quiet says whether the cluster stays as ready as it is while the operation goes on.
func (k Kind) Quiet() bool { return k == Snapshot || k == Backup }

// Operation is what is being done with a cluster.
type Operation struct {
	Epoch uint64    `json:"epoch"` // unique in the cluster, and rising
	Kind  Kind      `json:"kind"`
	By    string    `json:"by,omitempty"` // who asked for it
	Began time.Time `json:"began"`
	// After is the newest run when it began: all later ones belong to it.
	After string `json:"after,omitempty"`
	// Runs are those that it came to, in their order.
	Runs []string `json:"runs,omitempty"`
	// Found: a run that this server did not begin.
	Found bool `json:"found,omitempty"`
	// Canceling: it is being canceled.
	Canceling bool `json:"canceling,omitempty"`
	// Final: what it begins with is done already, so that the cluster is not what it was before, even if no node is
	// changed.
	Final bool `json:"final,omitempty"`
	// Before is the state that the cluster was in, "" before there was one.
	Before state.State `json:"before,omitempty"`
	// Request is what the runner needs besides the record. It holds no secret.
	Request json.RawMessage `json:"request,omitempty"`
}

// Run is the newest run, "" before there is one.
func (o *Operation) Run() string {
	if o == nil || len(o.Runs) == 0 {
		return ""
	}
	return o.Runs[len(o.Runs)-1]
}

// Record is what outlives the server.
type Record struct {
	Name        string `json:"name"`
	Revision    uint64 `json:"revision"`
	Unavailable bool   `json:"unavailable"`
	// EverRan: it ran once. What is continued before, other than an update or a deletion, is the creation.
	EverRan bool `json:"made"`
	// Kubeconfig: nothing is known of the cluster but a kubeconfig; it can only be looked at.
	Kubeconfig bool      `json:"kubeconfig,omitempty"`
	Created    time.Time `json:"created"`
	// LastRunOfPredecessor is the newest run of an earlier cluster of this name, and Begins the time when that cluster
	// was gone: older data in the state directory does not belong to this cluster.
	LastRunOfPredecessor string    `json:"former,omitempty"`
	Begins               time.Time `json:"begins,omitzero"`
	Epoch                uint64    `json:"epoch"` // of the newest operation
	// Operation under way, nil if there is none; Last is the one before.
	Operation *Operation `json:"operation,omitempty"`
	Last      *Operation `json:"last,omitempty"`
	// Failed is the operation that left the cluster half changed, nil if none did. It is what can be continued.
	Failed *Operation `json:"failed,omitempty"`
	// LastKnownRun is the newest run that the record accounts for. Another client started a newer one.
	LastKnownRun string `json:"seen,omitempty"`
	// Fault is why the cluster is unavailable, or how its last operation failed that changed nothing of its state.
	Fault *event.Fault `json:"fault,omitempty"`
	// Wanted is what the cluster is to be, in the runner's words. It holds no secret.
	Wanted json.RawMessage `json:"wanted,omitempty"`
}

// Has says whether a run of its name is of this cluster, and not of an earlier one.
func (r Record) Has(run string) bool { return run > r.LastRunOfPredecessor }

// Continued is the operation that continues the cluster, "" where nothing failed: then the server connects again.
func (r Record) Continued() Kind {
	f := r.Failed
	switch {
	case f == nil:
		return ""
	case f.Kind == Delete, f.Kind == Update: // an update without a deploy.yaml of the cluster creates it
		return f.Kind
	case !r.EverRan:
		return Create
	case f.Kind == Create, f.Found && f.Kind == Restore: // nobody here knows which snapshot
		return Update
	}
	return f.Kind
}

// Change is a change of a cluster's state, as all are told. It is written with the record that it changes.
type Change struct {
	Seq      uint64      `json:"seq"` // rising over all clusters
	At       time.Time   `json:"at"`
	Cluster  string      `json:"cluster"`
	Event    state.Event `json:"event"`
	From     state.State `json:"from"`
	To       state.State `json:"to"`
	Revision uint64      `json:"revision"`
	// Broadcast is added or deleted when the cluster begins or ends being ready, else "".
	Broadcast string `json:"broadcast,omitempty"`
	// Reason is why it is in the state, of one that is not well; it is kept in the history of the cluster's health.
	Reason *event.Fault `json:"-"`
}

// Health is what a cluster was from a time on.
type Health struct {
	Seq    uint64 // rising
	At     time.Time
	State  state.State
	Reason *event.Fault // why, if it was not well
}

// SteadyFor is how long a cluster may be Connecting between Running and Running without being less well: as long as it
// takes until a Running cluster that does not answer is Unreachable.
const SteadyFor = 30 * time.Second

// View is a cluster as others see it.
type View struct {
	Record
	State state.State
	Since time.Time // in this state
	// Trouble is why the API server did not answer last, while the cluster is Connecting or Unreachable.
	Trouble *event.Fault
	// Gone: its record was deleted.
	Gone bool
}

// Store keeps records and changes. Each method is one transaction.
type Store interface {
	// Load gives all records by name.
	Load(ctx context.Context) ([]Record, error)
	// Save writes the record in place of the revision was (0: there is none yet), with the changes. Another revision
	// is ErrRevision, and nothing is written.
	Save(ctx context.Context, r Record, was uint64, changes ...Change) error
	// Delete deletes the record of a revision, with the changes. until is the newest run of the cluster: it is not
	// found again in the state directory before there is a newer one.
	Delete(ctx context.Context, name string, was uint64, until string, changes ...Change) error
	// Forgotten are the clusters that were deleted, with their newest run then.
	Forgotten(ctx context.Context) (map[string]string, error)
	// Changes are those after a number, at most n.
	Changes(ctx context.Context, after uint64, n int) ([]Change, error)
	// Health is the history of a cluster before a number (0: up to now), the newest first, at most n. It begins with
	// the record, and is deleted with it; of what is old, a part is kept.
	Health(ctx context.Context, cluster string, before uint64, n int) ([]Health, error)
}

// ErrRevision: the record has another revision by now.
var ErrRevision = errors.New("the record has another revision")

// Outcome is how a run ended. Fault is nil when it ended well.
type Outcome struct {
	Fault *event.Fault
	// Unchanged: it ended before it changed anything on a node.
	Unchanged bool
}

// Idle says whether a run that was refused before it changed anything leaves the cluster as it was.
func (o Outcome) Idle() bool {
	if o.Fault == nil || !o.Unchanged {
		return false
	}
	switch o.Fault.Class {
	case event.ClassUsage, event.ClassPreflight, event.ClassBundle, event.ClassAuth, event.ClassLocked:
		return true
	}
	return false
}

// Run is a run of a cluster, which goes on whatever becomes of this process.
type Run interface {
	ID() string
	// Done is closed when its process has ended.
	Done() <-chan struct{}
	// Outcome is how it ended, when Done is closed.
	Outcome() Outcome
	// Stop ends it after its running steps, Abort at once.
	Stop() error
	Abort() error
}

// ErrCanceled: somebody cancels what is being begun.
var ErrCanceled = errors.New("the operation is canceled")

// Runner begins runs.
type Runner interface {
	// Free refuses where another process works on the cluster.
	Free(ctx context.Context, cluster string) error
	// Start begins the next run of the record's operation, and returns when it has its log. nil: there is nothing more
	// to do. If the cause of the end of ctx is ErrCanceled, the run is to end, too; else the server ends, and a run
	// that has begun is left alone: the next server finds it.
	Start(ctx context.Context, r Record) (Run, error)
	// Attach gives a run that is going on or over.
	Attach(ctx context.Context, cluster, run string) (Run, error)
	// Scan says what the state directory has, Find what it has of one cluster: nothing but its name if it has none.
	Scan(ctx context.Context) ([]Found, error)
	Find(ctx context.Context, cluster string) (Found, error)
	// Former returns the newest run that removed a cluster of this name from all its machines, and when it ended; "":
	// none did.
	Former(ctx context.Context, cluster string) (run string, ended time.Time)
	// Removed is told that a cluster is no more on its machines: what was kept for it is not needed.
	Removed(cluster string) error
	// Reach says whether the API server of the cluster answers. A fault of class usage: it never will.
	Reach(ctx context.Context, r Record) error
}

// Found is a cluster in the state directory.
type Found struct {
	Name string
	// Installed: it has a deploy.yaml of its own.
	Installed bool
	// Run is the newest run, Kind what it does, Live whether it goes on.
	Run  string
	Kind Kind
	Live bool
	// Fault is how the newest run failed, if it is over and did.
	Fault *event.Fault
	// Before is, when the newest run is quiet, how the newest of the others failed, if it did.
	Before *Failed
	// Unchanged: it ended before it changed anything on a node.
	Unchanged bool
}

// Failed is a run that failed.
type Failed struct {
	Run   string
	Kind  Kind
	Fault *event.Fault
}

// unwell is the newest run that may have changed the cluster, if it failed.
func (f *Found) unwell() *Failed {
	switch {
	case f.Kind.Quiet():
		return f.Before
	case f.Fault == nil:
		return nil
	}
	return &Failed{f.Run, f.Kind, f.Fault}
}

// Clock is time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}
