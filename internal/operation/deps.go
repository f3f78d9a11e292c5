package operation

import (
	"context"
	"io"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Deps is what an operation needs besides its request. Store, Dialer and Bundles have to be there.
type Deps struct {
	Store   Store
	Dialer  Dialer
	Bundles Bundles
	Clock   Clock      // nil: the machine's
	Sink    event.Sink // takes the records besides the journal; nil: nobody
	Decider Decider    // nil: as the request says, and Handle.Decide where it says ask
	Asker   ask.Asker  // nil: no user can be asked
	// Unattended: nobody answers at Asker, which has no more than what it was told before. Where nothing else is said,
	// unknown host keys are refused.
	Unattended bool
	// Answers are in place of what the request says: they were asked for before.
	Answers request.Answers
	// Who names the user, host and process that work on the cluster, to others who find it locked.
	Who     journal.Holder
	Version string // of the program
	// ControlHost: requests may name commands and files of this host. false: there is none, the run is in a pod.
	ControlHost bool
	// Place names the meta cluster that has the files, as messages show it; "": they are a state directory.
	Place string
	// NoSnapshots: snapshots of etcd would not outlive the run. Requests that need one are refused with
	// state.no-snapshots; removals save none, and report that. NoBackups: likewise for backups, and state.no-backups.
	NoSnapshots, NoBackups bool
	// Problems is told of all problems of a deploy.yaml, as they are found; nil: nobody listens.
	Problems func(file string, p config.Problems)
	// Opened is called when the run has its directory and has done nothing; an error ends it. nil: nothing.
	Opened func(Run) error
	// KnownHosts are files of host keys that inspections read beside the cluster's: those of a draft.
	KnownHosts []string
}

// Store has the clusters of a control host.
type Store interface {
	// Clusters are the names of those that have a deploy.yaml of their own.
	Clusters(ctx context.Context) ([]string, error)
	// Known are the names of all that it has anything of, those that a newer program has changed too.
	Known(ctx context.Context) ([]string, error)
	// Where says where that is, as the user calls it.
	Where() string
	// Read gives a cluster's files; nothing is made.
	Read(ctx context.Context, cluster string) (Files, error)
	// Open gives them for a run: what is not there yet is made.
	Open(ctx context.Context, cluster string) (Files, error)
	// Copy gives a copy that Close throws away, for operations that change nothing. Its Journal and the path of its
	// Config are the original's.
	Copy(ctx context.Context, cluster string) (Files, error)
	// Stages are the unpacked bundles that clusters use.
	Stages(ctx context.Context) ([]string, error)
}

// Files are those of one cluster. Phases read and write Dir; what must not be lost is persisted before a node
// depends on it.
type Files interface {
	Dir() string
	// Journal has the runs; it is a directory by design.
	Journal() *journal.Cluster
	// Lock takes the cluster's lock. If another process has it, the error is Held of its holder: of a directory at
	// once, elsewhere perhaps after a wait.
	Lock(ctx context.Context, me journal.Holder) (Lock, error)
	// Free returns nil if the lock is free, otherwise the error that Lock would return.
	Free(ctx context.Context) error
	// Config is the cluster's own deploy.yaml, and the path that it has, or would have; fs.ErrNotExist when it has
	// none.
	Config() (text []byte, path string, err error)
	// SaveConfig makes a text the cluster's own deploy.yaml, and persists it.
	SaveConfig(ctx context.Context, text []byte) error
	// CopyConfig keeps a text as the deploy.yaml of a run, by the run's ID.
	CopyConfig(run string, text []byte) error
	// Persist returns when what it names is where it outlives this host. A directory has nothing to do.
	Persist(ctx context.Context, what phases.Kept) error
	// KeepStages notes which unpacked bundles the cluster uses.
	KeepStages(ids []string) error
	Close() error
}

// Dialer makes the connections of a run.
type Dialer interface {
	// Connections prepares them: nothing is dialled. The error is a limit of this host that is too low.
	Connections(Access) (Connections, error)
}

// Connections are those of one run.
type Connections interface {
	// Dial connects to a node, once: who dials it again gets the same connection.
	Dial(ctx context.Context, n config.Node) (Host, error)
	io.Closer
}

// Host is a node that is connected to.
type Host interface {
	node.Host
	// Lock takes the node's lock; holder is shown to others who want it.
	Lock(ctx context.Context, holder string) error
	io.Closer
}

// Access says how the nodes of a run are logged in to.
type Access struct {
	// Cluster has the logins. Their secrets are there when the first node is dialled.
	Cluster *config.Cluster
	// KnownHosts is asked for the file of host keys when the first node is dialled.
	KnownHosts func() string
	// AlsoKnown are files of host keys that are only read; nil: there are none. The first is the one that the next
	// command reads, if that is not the file of KnownHosts.
	AlsoKnown func() []string
	HostKeys  remote.Policy
	Accepted  map[string][]string // host keys that the request accepts
	Serves    int                 // how many nodes are behind a bastion that all share; 0: those of Cluster
	// ShareBastions uses one connection to each chain of bastions together with other Connections that say so.
	ShareBastions bool
	Asker         ask.Asker // nil: no user can be asked
	Emit          func(event.Event)
	// Added is called when the key of a host was accepted and is in the file, before the connection is used; nil:
	// nothing.
	Added func(ctx context.Context) error
}

// Bundles verifies and unpacks bundles.
type Bundles interface {
	Session(BundleUse) BundleSession
	// Head reads a bundle's manifest, and the checksums that it goes with.
	Head(path string) (*bundle.Manifest, []byte, error)
}

// BundleSession is the bundles of one run: each is unpacked once, and its signature checked once.
type BundleSession interface {
	Stage(ctx context.Context, b config.BundleSource) (phases.Bundle, error)
	// Check decides about the signatures of bundles from their heads, before a run. One that cannot be read is no
	// error: that is preflight's to report.
	Check(ctx context.Context, bundles []config.BundleSource) error
	// Checked are the bundles that were decided about, as they are in the log.
	Checked() []event.Msg
	// Prune removes unpacked bundles that nobody uses any more, after the files were told what this run used. inUse is
	// called after that.
	Prune(ctx context.Context, files Files, inUse func() ([]string, error)) ([]bundle.Pruned, error)
	// Release lets others prune what this session used.
	Release()
}

// BundleUse says for what bundles are used.
type BundleUse struct {
	Beside string // directory of deploy.yaml, which paths are relative to
	Trust  request.Trust
	// SignedOnly refuses bundles that no known signer signed, whatever Trust says and also while no signer is known.
	SignedOnly bool
	Asker      ask.Asker
	Emit       func(event.Event) error
}

// Clock is time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Decider decides what becomes of a step that failed for good.
type Decider interface {
	Decide(ctx context.Context, f engine.Failure) event.Decision
}
