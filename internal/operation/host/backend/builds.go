package backend

import (
	"context"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Builds makes bundles on this machine, where there is a network.
type Builds interface {
	// Offer is what can be built.
	Offer(ctx context.Context) (BuildOffer, error)
	// Reach says why none of the servers answers that the build would fetch from; nil when one does. It asks no others.
	Reach(ctx context.Context, b Build) error
	// Build makes the bundles, and shows how far it is a few times a second. The end of ctx stops it. When it returns,
	// nothing half written is left.
	Build(ctx context.Context, b Build, show func(BuildProgress)) BuildEnd
}

// BuildOffer is what can be built here.
type BuildOffer struct {
	Systems []BuildSystem // that a bundle can be for
	Usual   string        // of them: what a bundle is for when nothing else is said
	Presets []string      // lists of public mirrors
	Arch    string        // of this machine
	Out     string        // the directory that is offered for the bundles, absolute
}

// BuildSystem is an operating system of nodes, with what its default spec has.
type BuildSystem struct{ ID, Kubernetes, Runtime string }

// Build is what is to be built.
type Build struct {
	System string
	Arches []string
	Preset string // "" is none
	Out    string // directory
}

// BuildProgress is how far a build is.
type BuildProgress struct {
	Total     BuildRow   // of everything
	Resolving bool       // what is needed is still being found out: nothing is written yet
	Rows      []BuildRow // bundles, then sources under way
	Hidden    int        // sources under way that are not among them
	Sources   int        // that are there
	Cached    int        // of them from the cache
	Notes     []event.Msg
	Troubles  []*event.Fault // retried, the last ones
	Warnings  []event.Msg
}

// BuildRow is a thing under way.
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
