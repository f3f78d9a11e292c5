package building

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// State is what the events of a build come to: a pure reducer that every front end shows, in its own words. It is not
// safe for concurrent use.
type State struct {
	now      func() time.Time
	began    time.Time
	sources  []*source     // under way, in the order in which they began
	bundles  []*report.Row // being written
	fetching *report.Meter // all sources together
	count    Count
	retries  map[string]string // what was last said of a source's trouble
	warned   map[string]bool
	built    map[string]build.Event
}

// Count is what a build has done so far.
type Count struct {
	Sources, Cached  int
	Fetched, Written int64 // bytes
}

// View is how far a build is.
type View struct {
	// Total is everything: what is written of all bundles; before that, what was fetched. It is named like the bundle
	// where there is one.
	Total     report.Row
	Resolving bool         // nothing is written yet
	Rows      []report.Row // bundles, then sources that are under way for a while; notes are keys of i18n
	Hidden    int          // sources under way that are not among them
}

// source is a program, a package, an image with all its layers.
type source struct {
	key, label, arch string
	began            time.Time
	blobs            map[string]*blob // by address
	meter            report.Meter
	note             string // key of i18n
	waits            bool   // for somebody who fetches it already
}

type blob struct {
	done, total int64
	counted     int64 // of done as fetched
	finished    bool
}

// NewState is a build of which nothing is known yet.
func NewState(now func() time.Time) *State {
	return &State{now: now, began: now(), fetching: &report.Meter{}, retries: map[string]string{},
		warned: map[string]bool{}, built: map[string]build.Event{}}
}

// Take takes an event. news says that it has something to say which was not said before: a server that is down for
// minutes is one event, not sixty.
func (s *State) Take(e build.Event) (news bool) {
	switch e.Kind {
	case build.Fetching, build.Waiting, build.Retrying:
		s.moved(e)
		return e.Kind == build.Retrying && s.trouble(e)
	case build.Fetched:
		s.finished(e)
	case build.Packing:
		s.writing(e)
	case build.Warned:
		key := e.Text.Key + fmt.Sprint(e.Text.Args)
		news, s.warned[key] = !s.warned[key], true
		return news
	case build.Built, build.Unchanged:
		s.built[e.Arch] = e
		if e.Kind == build.Built {
			s.count.Written += e.Total
		}
	}
	return true
}

// Count is what was done so far.
func (s *State) Count() Count { return s.count }

// Took is how long the build has taken so far.
func (s *State) Took() time.Duration { return s.now().Sub(s.began) }

// moved keeps how far a source is.
func (s *State) moved(e build.Event) {
	x := s.source(e)
	b := x.blobs[e.URL]
	if b == nil {
		b = &blob{}
		x.blobs[e.URL] = b
	}
	if e.Kind != build.Waiting { // who fetches it counts it
		b.counted += max(e.Done-b.done, 0)
		s.count.Fetched += max(e.Done-b.done, 0)
	}
	b.done, b.total = e.Done, e.Total
	x.note, x.waits = "", e.Kind == build.Waiting
	if x.waits {
		x.note = "bundle.cli.note.waiting"
	} else if e.Kind == build.Retrying {
		x.note = "bundle.cli.note.retry" // why stands above
	}
}

// trouble says whether a retry has a reason that was not said yet. The sentence names the source; for both
// architectures it is the same one.
func (s *State) trouble(e build.Event) bool {
	who, reason := troubled(e)
	if e.Fault != nil && reason == "" {
		reason = e.Fault.Code + fmt.Sprint(e.Fault.Args) + e.Fault.Cause
	}
	again := s.retries[who] == reason
	s.retries[who] = reason
	return !again
}

// troubled is whom a retry is about. A server that cannot be reached at all is one trouble, not one for each source it
// has, and its reason is the same whatever is asked of it; the reason is "" where the sentence has to tell.
func troubled(e build.Event) (who, reason string) {
	if f := e.Fault; f != nil && strings.Contains(f.Cause, "dial ") {
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			return "//" + u.Host, f.Code
		}
	}
	return e.What, ""
}

func (s *State) source(e build.Event) *source {
	key := e.Arch + " " + e.What
	for _, x := range s.sources {
		if x.key == key {
			return x
		}
	}
	x := &source{key: key, label: event.Clean(e.What), arch: e.Arch, began: s.now(), blobs: map[string]*blob{}}
	s.sources = append(s.sources, x)
	return x
}

// finished counts a blob that is there. Its source is under way as long as another of its blobs is.
func (s *State) finished(e build.Event) {
	s.count.Sources++
	if e.Cached {
		s.count.Cached++
	}
	key := e.Arch + " " + e.What
	i := slices.IndexFunc(s.sources, func(x *source) bool { return x.key == key })
	if i < 0 {
		if !e.Cached {
			s.count.Fetched += e.Total
		}
		return
	}
	x := s.sources[i]
	b := x.blobs[e.URL]
	if b == nil {
		b = &blob{}
		x.blobs[e.URL] = b
	}
	if e.Cached {
		s.count.Fetched -= b.counted // it moved from the cache to the bundle
	} else {
		s.count.Fetched += max(e.Total-b.done, 0)
	}
	*b = blob{done: e.Total, total: e.Total, finished: true}
	for _, b := range x.blobs {
		if !b.finished {
			return
		}
	}
	s.sources = slices.Delete(s.sources, i, i+1)
}

func (s *State) writing(e build.Event) {
	for _, b := range s.bundles {
		if b.Label == e.What {
			b.Done, b.Total = e.Done, e.Total
			return
		}
	}
	s.bundles = append(s.bundles, &report.Row{Label: e.What, Done: e.Done, Total: e.Total, Meter: &report.Meter{}})
	slices.SortFunc(s.bundles, func(a, b *report.Row) int { return cmp.Compare(a.Label, b.Label) })
}

func (x *source) all(is func(url string) bool) bool {
	for url := range x.blobs {
		if !is(url) {
			return false
		}
	}
	return true
}

// View is how far the build is now, with at most so many sources.
func (s *State) View(most int) View {
	now := s.now()
	v := View{Total: s.total(now), Resolving: len(s.bundles) == 0}
	for _, b := range s.bundles {
		b.Meter.See(now, b.Done)
		v.Rows = append(v.Rows, *b)
	}
	if len(s.bundles) == 1 {
		v.Total.Label, v.Rows = v.Rows[0].Label, nil // one line says it
	}
	busy := map[string]bool{} // addresses that are fetched by ourselves
	for _, x := range s.sources {
		for url := range x.blobs {
			busy[url] = busy[url] || !x.waits
		}
	}
	most += len(v.Rows)
	for _, x := range s.sources {
		if x.waits && x.all(func(url string) bool { return busy[url] }) {
			continue // for the other architecture: it is there already
		}
		r := x.row(now)
		switch {
		case now.Sub(x.began) < report.RestfulFor: // most come and go faster than anyone reads
		case len(v.Rows) >= most:
			v.Hidden++
		default:
			v.Rows = append(v.Rows, r)
		}
	}
	return v
}

func (x *source) row(now time.Time) report.Row {
	r := report.Row{Label: x.label, Arch: x.arch, Meter: &x.meter, Note: x.note}
	for _, b := range x.blobs {
		r.Done += b.done
		if b.total < 0 {
			r.Total = -1
		} else if r.Total >= 0 {
			r.Total += b.total
		}
	}
	x.meter.See(now, r.Done)
	return r
}

// total is how far everything is.
func (s *State) total(now time.Time) report.Row {
	t := report.Row{Meter: s.fetching, Main: true}
	if len(s.bundles) == 0 {
		t.Done, t.Total = s.count.Fetched, -1
	}
	for _, b := range s.bundles {
		t.Done += b.Done
		t.Total += b.Total
	}
	s.fetching.See(now, t.Done)
	return t
}

// meterOf is the meter of what an event moves.
func (s *State) meterOf(e build.Event) *report.Meter {
	now := s.now()
	if e.Kind == build.Packing {
		for _, b := range s.bundles {
			if b.Label == e.What {
				b.Meter.See(now, b.Done)
				return b.Meter
			}
		}
	}
	x := s.source(e)
	x.meter.See(now, e.Done)
	return &x.meter
}
