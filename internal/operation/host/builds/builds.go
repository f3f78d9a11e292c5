// Package builds makes bundles in the process of a front end, as eggo-bundle does in its own: backend.Builds over
// bundle/build. Only programs that offer this import it, for it brings the builder along.
package builds

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/output/report/building"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options of Builds.
type Options struct {
	Getenv func(string) string
	Path   func(typed string) string // a path of this machine, absolute
	// Spec and Mirrors are where a system's spec and a preset's mirrors come from; nil is the program itself.
	Spec    func(system string) (*spec.Spec, error)
	Mirrors func(preset string) (*fetch.Mirrors, error)
}

// Builds makes bundles in this process, as eggo-bundle does. It implements backend.Builds.
type Builds struct {
	Options

	ctx     context.Context //nolint:containedctx // ends with the front end
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New are the builds of a front end, which calls End when it ends.
func New(ctx context.Context, o Options) *Builds {
	if o.Spec == nil {
		o.Spec = build.DefaultSpec
	}
	if o.Mirrors == nil {
		o.Mirrors = func(preset string) (*fetch.Mirrors, error) { return build.Preset(&fetch.Mirrors{}, preset) }
	}
	b := &Builds{Options: o}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b
}

// End stops what is being built and waits for it: nothing half written is left behind.
func (b *Builds) End() {
	b.stop()
	b.running.Wait()
}

// Offer implements backend.Builds.
func (b *Builds) Offer(context.Context) (backend.BuildOffer, error) {
	o := backend.BuildOffer{Usual: build.DefaultSystem, Presets: assets.MirrorPresets(), Arch: runtime.GOARCH,
		Out: b.Path(usualOut)}
	for _, system := range assets.Systems() {
		s, err := build.DefaultSpec(system)
		if err != nil {
			return o, err
		}
		o.Systems = append(o.Systems, backend.BuildSystem{ID: system, Kubernetes: s.Kubernetes, Runtime: s.Runtime})
	}
	return o, nil
}

// usualOut is where bundles go unless another directory is named; the wizard finds them there.
const usualOut = "out"

// Reach implements backend.Builds.
func (b *Builds) Reach(ctx context.Context, what backend.Build) error {
	s, err := b.Spec(what.System)
	if err != nil {
		return err
	}
	m, err := b.Mirrors(what.Preset)
	if err != nil {
		return err
	}
	rt, err := b.transport()
	if err != nil {
		return err
	}
	return build.Reach(ctx, rt, build.Servers(s, what.Arches, m))
}

func (b *Builds) transport() (http.RoundTripper, error) {
	return fetch.NewTransport(fetch.TransportOptions{Getenv: b.Getenv})
}

// Build implements backend.Builds.
func (b *Builds) Build(ctx context.Context, what backend.Build, show func(backend.BuildProgress)) backend.BuildEnd {
	b.running.Add(1)
	defer b.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	w := &watched{state: building.NewState(time.Now), show: show}
	res, err := b.build(ctx, what, w)
	w.tell()
	end := backend.BuildEnd{Took: w.state.Took(), Fetched: w.state.Count().Fetched, Warnings: w.warnings}
	if err != nil {
		end.Faults = once(fetch.Faults(err))
		return end
	}
	end.Lock = res.Lock
	for _, x := range res.Bundles {
		end.Bundles = append(end.Bundles, backend.Built{Arch: x.Arch, Path: x.Path, SHA256: x.SHA256, Size: x.Size,
			Unchanged: x.Unchanged})
	}
	return end
}

// once leaves of faults that say the same of several architectures the first.
func once(list []*event.Fault) []*event.Fault {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(f *event.Fault) bool {
		args := maps.Clone(f.Args)
		delete(args, "arch")
		key := f.Code + fmt.Sprint(args) + f.Cause
		again := seen[key]
		seen[key] = true
		return again
	})
}

func (b *Builds) build(ctx context.Context, what backend.Build, w *watched) (*build.Result, error) {
	o := build.Options{Arches: what.Arches, Out: b.Path(what.Out), Report: w.take}
	var err error
	if o.Spec, err = b.Spec(what.System); err != nil {
		return nil, err
	}
	if o.Mirrors, err = b.Mirrors(what.Preset); err != nil {
		return nil, err
	}
	if o.Epoch, err = build.Epoch(b.Getenv); err != nil {
		return nil, err
	}
	if o.Netrc, err = fetch.LoadNetrc(b.Getenv); err != nil {
		return nil, err
	}
	if o.Transport, err = b.transport(); err != nil {
		return nil, err
	}
	dir, err := fetch.DefaultDir()
	if err != nil {
		return nil, err
	}
	if o.Cache, err = fetch.OpenCache(dir); err != nil {
		return nil, err
	}
	defer w.beats()()
	return build.Build(ctx, o)
}

// watched is a build that is being shown.
type watched struct {
	show func(backend.BuildProgress)

	mu       sync.Mutex
	state    *building.State
	notes    []event.Msg
	troubles []*event.Fault
	warnings []event.Msg
}

// take takes an event of the build.
func (w *watched) take(e build.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.state.Take(e) {
		return
	}
	switch {
	case e.Kind == build.Resolved:
		w.notes = append(w.notes, event.M("make.resolved", "arch", e.Arch, "packages", strconv.Itoa(e.Packages), "size",
			report.Amount(e.Total)))
	case e.Kind == build.Warned:
		w.warnings = append(w.warnings, *e.Text)
	case e.Kind == build.Retrying && e.Fault != nil:
		w.troubles = append(w.troubles, e.Fault)
		w.troubles = w.troubles[max(0, len(w.troubles)-mostTroubles):]
	}
}

const (
	mostTroubles = 3
	mostSources  = 24 // more than a screen shows
	beat         = 250 * time.Millisecond
)

// beats shows how far the build is, again and again until it is stopped.
func (w *watched) beats() (stop func()) {
	ticker, ended := time.NewTicker(beat), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		for {
			select {
			case <-ticker.C:
				w.tell()
			case <-ended:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(ended)
		shown.Wait()
	}
}

// tell shows how far the build is.
func (w *watched) tell() {
	w.mu.Lock()
	v, n := w.state.View(mostSources), w.state.Count()
	p := backend.BuildProgress{
		Total: buildRow(v.Total), Resolving: v.Resolving, Hidden: v.Hidden, Sources: n.Sources, Cached: n.Cached,
		Notes: slices.Clone(w.notes), Troubles: slices.Clone(w.troubles), Warnings: slices.Clone(w.warnings),
	}
	for _, r := range v.Rows {
		p.Rows = append(p.Rows, buildRow(r))
	}
	w.mu.Unlock()
	w.show(p)
}

func buildRow(r report.Row) backend.BuildRow {
	out := backend.BuildRow{Label: r.Label, Arch: r.Arch, Done: r.Done, Total: r.Total, Note: r.Note, Left: -1}
	if r.Meter != nil {
		out.Rate, out.Left = int64(r.Meter.Rate), r.Meter.Left(r.Done, r.Total)
	}
	return out
}
