// Package building reports a build of bundles: bars on a terminal, sentences in a log, JSON lines for programs. It may
// import internal/bundle/build, whose news it reports, and what internal/report may.
package building

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/report"
)

// Output is where a build is reported.
type Output struct {
	Stdout   io.Writer // results
	P        *i18n.Printer
	Progress report.ProgressOptions // its Out takes messages too
	JSON     bool                   // all is said by Emit
	Emit     func(kind string, fields map[string]any) error
}

// say writes a result.
func (o Output) say(s string) error {
	_, err := fmt.Fprintln(o.Stdout, s)
	return err
}

// tell writes a message beside the results.
func (o Output) tell(s string) { fmt.Fprintln(o.Progress.Out, s) }

// Reporter shows how far a build is. Results go to stdout, everything else to stderr.
type Reporter struct {
	out     Output
	live    *report.Progress
	arches  []string
	verbose bool // say of each source that it is there

	began    time.Time
	sources  []*source     // under way, in the order in which they began
	bundles  []*report.Row // being written
	fetching *report.Meter // all sources together
	count    struct {
		sources, cached  int
		fetched, written int64 // bytes
	}
	retries map[string]string // what was last said of a source's trouble
	warned  map[string]bool
	warns   []string
	told    map[string]time.Time // last JSON line of what moves
	built   map[string]build.Event
}

// source is a program, a package, an image with all its layers.
type source struct {
	key, label, arch string
	began            time.Time
	blobs            map[string]*blob // by address
	meter            report.Meter
	note             string
	waits            bool // for somebody who fetches it already
}

type blob struct {
	done, total int64
	counted     int64 // of done as fetched
	finished    bool
}

// New reports a build for some architectures; verbose says of each source that it is there.
func New(o Output, arches []string, verbose bool) *Reporter {
	r := &Reporter{
		out: o, arches: arches, verbose: verbose, began: o.Progress.Now(), fetching: &report.Meter{},
		retries: map[string]string{}, warned: map[string]bool{}, told: map[string]time.Time{},
		built: map[string]build.Event{},
	}
	r.live = report.NewProgress(o.Progress, r.rows, r.line)
	r.live.Arches = len(arches) > 1
	return r
}

// Start shows what is under way until Close or Stop.
func (r *Reporter) Start() { r.live.Start() }

// Stop takes the bars away.
func (r *Reporter) Stop() { r.live.Close() }

// Event takes what the builder tells.
func (r *Reporter) Event(e build.Event) {
	r.live.Change(func() {
		r.note(e)
		if r.out.JSON {
			r.json(e)
			return
		}
		r.text(e)
	})
}

// note keeps the numbers.
func (r *Reporter) note(e build.Event) {
	switch e.Kind {
	case build.Fetching, build.Waiting, build.Retrying:
		s := r.source(e)
		b := s.blobs[e.URL]
		if b == nil {
			b = &blob{}
			s.blobs[e.URL] = b
		}
		if e.Kind != build.Waiting { // who fetches it counts it
			b.counted += max(e.Done-b.done, 0)
			r.count.fetched += max(e.Done-b.done, 0)
		}
		b.done, b.total = e.Done, e.Total
		s.note, s.waits = "", e.Kind == build.Waiting
		if s.waits {
			s.note = r.out.P.T("bundle.cli.note.waiting")
		} else if e.Kind == build.Retrying {
			s.note = r.out.P.T("bundle.cli.note.retry") // why stands above
		}
	case build.Fetched:
		r.finished(e)
	case build.Packing:
		r.writing(e)
	case build.Built, build.Unchanged:
		r.built[e.Arch] = e
		if e.Kind == build.Built {
			r.count.written += e.Total
		}
	}
}

func (r *Reporter) source(e build.Event) *source {
	key := e.Arch + " " + e.What
	for _, s := range r.sources {
		if s.key == key {
			return s
		}
	}
	s := &source{key: key, label: event.Clean(e.What), arch: e.Arch, began: r.out.Progress.Now(),
		blobs: map[string]*blob{}}
	r.sources = append(r.sources, s)
	return s
}

// finished counts a blob that is there. Its source is under way as long as another of its blobs is.
func (r *Reporter) finished(e build.Event) {
	r.count.sources++
	if e.Cached {
		r.count.cached++
	}
	key := e.Arch + " " + e.What
	i := slices.IndexFunc(r.sources, func(s *source) bool { return s.key == key })
	if i < 0 {
		if !e.Cached {
			r.count.fetched += e.Total
		}
		return
	}
	s := r.sources[i]
	b := s.blobs[e.URL]
	if b == nil {
		b = &blob{}
		s.blobs[e.URL] = b
	}
	if e.Cached {
		r.count.fetched -= b.counted // it moved from the cache to the bundle
	} else {
		r.count.fetched += max(e.Total-b.done, 0)
	}
	*b = blob{done: e.Total, total: e.Total, finished: true}
	for _, b := range s.blobs {
		if !b.finished {
			return
		}
	}
	r.sources = slices.Delete(r.sources, i, i+1)
}

func (r *Reporter) writing(e build.Event) {
	for _, b := range r.bundles {
		if b.Label == e.What {
			b.Done, b.Total = e.Done, e.Total
			return
		}
	}
	r.bundles = append(r.bundles, &report.Row{Label: e.What, Done: e.Done, Total: e.Total, Meter: &report.Meter{}})
	slices.SortFunc(r.bundles, func(a, b *report.Row) int { return cmp.Compare(a.Label, b.Label) })
}

func (s *source) all(is func(url string) bool) bool {
	for url := range s.blobs {
		if !is(url) {
			return false
		}
	}
	return true
}

// rows are the screen: all together, each bundle, and the sources that are under way for a while.
func (r *Reporter) rows() []report.Row {
	now := r.out.Progress.Now()
	all := r.total(now)
	out := []report.Row{all}
	for _, b := range r.bundles {
		b.Meter.See(now, b.Done)
		out = append(out, *b)
	}
	if len(r.bundles) == 1 {
		out[0].Label = out[1].Label // one line says it
		out = out[:1]
	}
	busy := map[string]bool{} // addresses that are fetched by ourselves
	for _, s := range r.sources {
		for url := range s.blobs {
			busy[url] = busy[url] || !s.waits
		}
	}
	hidden := 0
	for _, s := range r.sources {
		if s.waits && s.all(func(url string) bool { return busy[url] }) {
			continue // for the other architecture: it is there already
		}
		x := report.Row{Label: s.label, Arch: s.arch, Meter: &s.meter, Note: s.note}
		for _, b := range s.blobs {
			x.Done += b.done
			if b.total < 0 {
				x.Total = -1
			} else if x.Total >= 0 {
				x.Total += b.total
			}
		}
		s.meter.See(now, x.Done)
		if now.Sub(s.began) < report.RestfulFor {
			continue // most come and go faster than anyone reads
		}
		if len(out) >= report.MostRows+1+len(r.bundles) {
			hidden++
			continue
		}
		out = append(out, x)
	}
	if hidden > 0 {
		out = append(out, report.Row{Label: r.out.P.T("bundle.cli.note.more", "count", fmt.Sprint(hidden)),
			Aside: true})
	}
	return out
}

// total is how far everything is: what is written of all bundles; before that, what was fetched.
func (r *Reporter) total(now time.Time) report.Row {
	t := report.Row{Label: r.out.P.T("bundle.cli.total"), Meter: r.fetching, Main: true}
	if len(r.bundles) == 0 {
		t.Label, t.Done, t.Total = r.out.P.T("bundle.cli.resolving"), r.count.fetched, -1
	}
	for _, b := range r.bundles {
		t.Done += b.Done
		t.Total += b.Total
	}
	r.fetching.See(now, t.Done)
	return t
}

// line is the same for a log.
func (r *Reporter) line() string {
	now := r.out.Progress.Now()
	s := r.total(now).Sentence(r.out.P)
	var names []string
	for _, x := range r.sources {
		if now.Sub(x.began) < report.RestfulFor {
			continue
		}
		if len(names) == 3 {
			names = append(names, r.out.P.T("bundle.cli.note.more", "count", fmt.Sprint(len(r.sources)-3)))
			break
		}
		name := x.label
		if r.live.Arches {
			name = strings.TrimSpace(x.arch + " " + name)
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		s += r.out.P.T("bundle.cli.line.names", "names", strings.Join(names, ", "))
	}
	return s
}

// text says what matters and stays.
func (r *Reporter) text(e build.Event) {
	p := r.out.P
	switch e.Kind {
	case build.Resolved:
		r.live.Print(r.out.Progress.Out, p.T("bundle.cli.resolved",
			"arch", e.Arch, "packages", fmt.Sprint(e.Packages), "known", fmt.Sprint(e.Known), "size",
			report.Amount(e.Total)))
	case build.Fetched:
		if r.verbose {
			key := "bundle.cli.fetched"
			if e.Cached {
				key = "bundle.cli.had"
			}
			r.live.Print(r.out.Progress.Out, p.T(key, "arch", e.Arch, "what", e.What, "size",
				report.Amount(max(e.Total, 0))))
		}
	case build.Retrying:
		// Once for each reason: a server that is down for minutes is one event, not sixty.
		// The sentence names the source; for both architectures it is the same one.
		why := r.fault(e.Fault)
		if who, reason := troubled(e); r.retries[who] != cmp.Or(reason, why) {
			r.retries[who] = cmp.Or(reason, why)
			r.live.Print(r.out.Progress.Out, p.T("bundle.cli.retry", "why", why))
		}
	case build.Warned:
		r.warning(*e.Text)
	}
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

func (r *Reporter) fault(f *event.Fault) string {
	if f == nil {
		return ""
	}
	text, _ := r.out.P.Fault(f)
	return text
}

// warning keeps a warning for the end; what both architectures say is one.
func (r *Reporter) warning(m event.Msg) {
	if text := r.out.P.Msg(m); !r.warned[text] {
		r.warned[text] = true
		r.warns = append(r.warns, text)
	}
}

func (r *Reporter) meterOf(e build.Event) *report.Meter {
	now := r.out.Progress.Now()
	if e.Kind == build.Packing {
		for _, b := range r.bundles {
			if b.Label == e.What {
				b.Meter.See(now, b.Done)
				return b.Meter
			}
		}
	}
	s := r.source(e)
	s.meter.See(now, e.Done)
	return &s.meter
}

// Close takes the bars away and says what was made; res is nil when the build failed.
func (r *Reporter) Close(res *build.Result) {
	r.live.Close()
	if r.out.JSON {
		r.CloseJSON(res)
		return
	}
	p := r.out.P
	if res == nil {
		// Of several bundles some may have been finished before.
		for _, arch := range r.arches {
			if e, ok := r.built[arch]; ok {
				_ = r.out.say(r.made(build.Bundle{Path: e.File, Size: e.Total, SHA256: e.SHA256, Took: e.Took,
					Unchanged: e.Kind == build.Unchanged}))
			}
		}
		return
	}
	for _, b := range res.Bundles {
		_ = r.out.say(r.made(b))
		if b.SHA256 != "" {
			_ = r.out.say("  sha256 " + b.SHA256)
		}
		for _, part := range b.Parts {
			_ = r.out.say("  " + event.Clean(filepath.Base(part)))
		}
	}
	if r.count.sources > 0 {
		r.out.tell(p.T("bundle.cli.summary",
			"sources", fmt.Sprint(r.count.sources), "cached", fmt.Sprint(r.count.cached), "fetched",
			report.Amount(r.count.fetched), "took", report.Lasted(r.out.Progress.Now().Sub(r.began))))
	}
	r.out.tell(p.T("bundle.cli.lock", "file", res.Lock))
	for _, arch := range r.arches {
		if d := res.Moved[arch]; d != nil && d.Same > 0 { // not all of it, as for a first lock
			r.out.tell("  " + p.T("bundle.cli.lock-moved", "arch", arch, "count", fmt.Sprint(len(d.Changes))))
		}
	}
	r.Warn(res.Warnings)
}

// Warn says these warnings and those that came before, each once.
func (r *Reporter) Warn(warnings []event.Msg) {
	for _, m := range warnings {
		r.warning(m)
	}
	if len(r.warns) > 0 {
		r.out.tell(r.out.P.T("bundle.cli.warnings") + "\n  " + strings.Join(r.warns, "\n  "))
	}
}

func (r *Reporter) made(b build.Bundle) string {
	args := []string{"file", b.Path, "size", report.Amount(b.Size), "took", report.Lasted(b.Took), "parts",
		fmt.Sprint(len(b.Parts))}
	key := "bundle.cli.built"
	switch {
	case b.Unchanged:
		key = "bundle.cli.unchanged"
	case len(b.Parts) > 0:
		key = "bundle.cli.built-parts"
	}
	return r.out.P.T(key, args...)
}
