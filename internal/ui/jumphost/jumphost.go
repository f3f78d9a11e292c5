// Package jumphost is what the screens know of the machine that they run on: its clusters, their runs, and what can be begun. Main fills it in.
// Every function takes its time and is called in commands, never in Update.
package jumphost

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// Services is what main hands in. A function that is nil is not there, and what needs it is shown as not possible.
type Services struct {
	// Clusters that this machine knows, by name.
	Clusters func(ctx context.Context) ([]Cluster, error)
	// Open gives the board of a run: live when it goes on, else as it ended; replay above 0 plays it again at that speed.
	Open func(ctx context.Context, r Ref, replay float64) (runview.Options, error)
	// Launch begins a run in a process of its own, which goes on when this one ends. It asks what has to be known before, of ask, and returns
	// when the run's event log is there.
	Launch func(ctx context.Context, s Start, ask Asker) (Ref, error)
}

// Status of a cluster, from its last run.
const (
	Running     = "running"
	Installed   = "installed"
	Failed      = "failed"
	Interrupted = "interrupted"
	Removed     = "removed"
	Unknown     = "unknown"
)

// Cluster that the machine knows of.
type Cluster struct {
	Name    string
	Status  string
	Masters int
	Workers int
	Nodes   []Node
	File    string // its own deploy.yaml; "" if it has none
	Runs    []Run  // newest first
}

// Node of a cluster as its deploy.yaml says.
type Node struct {
	Name, Addr, Arch string
	Roles            []string
}

// Ref names a run.
type Ref struct{ Cluster, Run string }

// Run of a cluster.
type Run struct {
	Ref
	Verb    string
	Version string
	Status  string // as of a cluster
	At      time.Time
	Took    time.Duration
	Exit    int
	Fault   *event.Fault
}

// Start is a run to be begun: the verb with its arguments, as on the command line, without secrets.
type Start struct {
	Verb string
	File string   // deploy.yaml; "" with Cluster
	Of   string   // cluster whose own deploy.yaml is taken
	Args []string // what else follows the verb
}

// Asker asks the person at the screen; an answer that is refused is ErrRefused's.
type Asker interface {
	// Secret asks for a password or passphrase.
	Secret(ctx context.Context, what event.Msg) (string, error)
	// HostKeys shows first-contact keys and asks whether all of them are right.
	HostKeys(ctx context.Context, keys []HostKey) (bool, error)
	// Doing says what is waited for.
	Doing(what event.Msg)
}

// HostKey of a machine that is contacted for the first time.
type HostKey struct{ Node, Addr, Type, Fingerprint string }
