package backend

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Builds makes bundles on this machine, where there is a network.
type Builds interface {
	// Offer returns what can be built.
	Offer(ctx context.Context) (BuildOffer, error)
	// Reach returns why none of the servers answers that the build would fetch from; nil if one does. It asks no
	// others.
	Reach(ctx context.Context, b Build) error
	// Build makes the bundles, and reports its progress a few times a second. The end of ctx stops it. When it returns,
	// no incomplete file is left.
	Build(ctx context.Context, b Build, show func(BuildProgress)) BuildEnd
}

// BuildOffer has the choices for a build on this host.
type BuildOffer struct {
	Systems []BuildSystem // that a bundle can be for
	Usual   string        // of them: the default
	Presets []string      // lists of public mirrors
	Arch    string        // of this machine
	Out     string        // the directory that is offered for the bundles, absolute
}

// BuildSystem is an operating system of nodes, with what its default spec has.
type BuildSystem struct{ ID, Kubernetes, Runtime string }

// Build describes the bundles to build.
type Build struct {
	System string
	Arches []string
	Preset string // "" is none
	Out    string // directory
}

// BuildProgress is the progress of a build.
type BuildProgress struct {
	Total     BuildRow   // of everything
	Resolving bool       // the files of the bundles are being determined: nothing is written yet
	Rows      []BuildRow // bundles, then sources in progress
	Hidden    int        // sources in progress that are not among them
	Sources   int        // that are there
	Cached    int        // of them from the cache
	Notes     []event.Msg
	Troubles  []*event.Fault // retried, the last ones
	Warnings  []event.Msg
}

// BuildRow is a bundle or a source in progress.
type BuildRow struct {
	Label, Arch string
	Done, Total int64 // bytes; Total below 0 is unknown
	Rate        int64 // bytes a second; 0 is unknown
	Left        time.Duration
	Note        string // key of i18n of what it waits for; "" nothing
}

// BuildEnd is how a build ended: with bundles, or with faults.
type BuildEnd struct {
	Bundles  []Built
	Lock     string // path of bundle.lock
	Took     time.Duration
	Fetched  int64 // bytes
	Warnings []event.Msg
	Faults   []*event.Fault
}

// Built is a finished bundle.
type Built struct {
	Arch, Path, SHA256 string
	Size               int64
	Unchanged          bool // it was there already
}
