// Package backend has the interfaces through which the front ends use the control host: its clusters, their runs, and
// the runs that can be started. The screens and the line interface call them, package host implements them. It knows no
// terminal. Every function may block, so the screens call it in commands, never in Update.
//
// It may import event, i18n, document, run/state, operation/request and, for DraftServices, draft and what draft stands
// on.
package backend

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Services is the control host as its front ends see it: its clusters and their runs, and what can be begun. host.Host
// implements it.
type Services interface {
	// Clusters returns those that this host knows, by name.
	Clusters(ctx context.Context) ([]request.ClusterRuns, error)
	// Open returns the board of a run: live while it is in progress, otherwise as it ended. A replay above 0 plays it
	// again at that speed.
	Open(ctx context.Context, r request.Ref, replay float64) (Board, error)
	// Launch begins a run in a process of its own, which continues when this one ends. It asks beforehand what the run
	// would have to ask, and returns when the event log of the run exists.
	Launch(ctx context.Context, s Start, to ask.Asker) (request.Ref, error)
	// Read inspects and changes nothing. An unhealthy cluster is no error, but an answer. An answer beside an error
	// holds what was found nevertheless.
	Read(ctx context.Context, q Query, to ask.Asker) (Answer, error)
	// List reads a directory: its directories, and its files with one of the suffixes. The directory "" is the one in
	// which the program was started. The directory that was read is returned as an absolute path.
	List(ctx context.Context, dir string, suffix []string) (string, []Entry, error)
	// Check reads a deploy.yaml and returns its problems.
	Check(ctx context.Context, file string) (Checked, error)
	// Demo plays a recorded run to show the program. It needs nothing of this host.
	Demo(ctx context.Context) (Board, error)
	// Bundle reads the manifest of a bundle, and Verify every byte of it.
	Bundle(ctx context.Context, path string) (Bundle, error)
	Verify(ctx context.Context, path string, progress func(done, total int64)) error
	// Upgrades finds what a cluster can be upgraded with, in the usual places and at the paths. It reads the manifest
	// of each bundle and verifies nothing.
	Upgrades(ctx context.Context, cluster string, paths []string) (Upgrades, error)
	// Way returns the versions that an upgrade of a cluster with bundles goes over, or why it is not possible.
	Way(ctx context.Context, cluster string, bundles []string) (Way, error)
}

// Entry of a directory.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64
	Changed time.Time
}

// Checked is the content of a deploy.yaml. Cluster has no name if the file cannot be read at all.
type Checked struct {
	Cluster  request.ClusterRuns
	Facts    []event.Msg // its bundle, its version, its network
	Problems config.Problems
}

// Bundle describes a bundle.
type Bundle struct {
	Name, Kubernetes, Arch, OS, ID, Base string
	Size                                 int64
	Groups                               []Group
}

// Group of members of one kind.
type Group struct {
	Kind    string // images, or as the manifest has it
	Size    int64
	Members []Member
}

// Member of a bundle, or an image in it.
type Member struct {
	Name, Version string
	Size          int64
}
