package main

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/event"
)

// reporter shows how far a build is. Results go to stdout, everything else to stderr.
type reporter struct {
	env     *environment
	live    *live
	arches  []string
	verbose bool // say of each source that it is there

	began    time.Time
	sources  []*source // under way, in the order in which they began
	bundles  []*row    // being written
	fetching *meter    // all sources together
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
	meter            meter
	note             string
	waits            bool // for somebody who fetches it already
}

type blob struct {
	done, total int64
	counted     int64 // of done as fetched
	finished    bool
}

func newReporter(env *environment, arches []string, verbose bool) *reporter {
	r := &reporter{
		env: env, arches: arches, verbose: verbose, began: env.Now(), fetching: &meter{},
		retries: map[string]string{}, warned: map[string]bool{}, told: map[string]time.Time{}, built: map[string]build.Event{},
	}
	r.live = newLive(env, r.rows, r.line)
	r.live.arches = len(arches) > 1
	return r
}

// event takes what the builder tells.
func (r *reporter) event(e build.Event) {
	r.live.change(func() {
		r.note(e)
		if r.env.json {
			r.json(e)
			return
		}
		r.text(e)
	})
}

// note keeps the numbers.
func (r *reporter) note(e build.Event) {
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
			s.note = r.env.P.T("bundle.cli.note.waiting")
		} else if e.Kind == build.Retrying {
			s.note = r.env.P.T("bundle.cli.note.retry") // why stands above
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

func (r *reporter) source(e build.Event) *source {
	key := e.Arch + " " + e.What
	for _, s := range r.sources {
		if s.key == key {
			return s
		}
	}
	s := &source{key: key, label: event.Clean(e.What), arch: e.Arch, began: r.env.Now(), blobs: map[string]*blob{}}
	r.sources = append(r.sources, s)
	return s
}

// finished counts a blob that is there. Its source is under way as long as another of its blobs is.
func (r *reporter) finished(e build.Event) {
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

func (r *reporter) writing(e build.Event) {
	for _, b := range r.bundles {
		if b.label == e.What {
			b.done, b.total = e.Done, e.Total
			return
		}
	}
	r.bundles = append(r.bundles, &row{label: e.What, done: e.Done, total: e.Total, meter: &meter{}})
	slices.SortFunc(r.bundles, func(a, b *row) int { return cmp.Compare(a.label, b.label) })
}

func (s *source) all(is func(url string) bool) bool {
	for url := range s.blobs {
		if !is(url) {
			return false
		}
	}
	return true
}

// most is how many sources are shown at once.
const most = 8

// rows are the screen: all together, each bundle, and the sources that are under way for a while.
func (r *reporter) rows() []row {
	now := r.env.Now()
	all := r.total(now)
	out := []row{all}
	for _, b := range r.bundles {
		b.meter.see(now, b.done)
		out = append(out, *b)
	}
	if len(r.bundles) == 1 {
		out[0].label = out[1].label // one line says it
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
		x := row{label: s.label, arch: s.arch, meter: &s.meter, note: s.note}
		for _, b := range s.blobs {
			x.done += b.done
			if b.total < 0 {
				x.total = -1
			} else if x.total >= 0 {
				x.total += b.total
			}
		}
		s.meter.see(now, x.done)
		if now.Sub(s.began) < restfulFor {
			continue // most come and go faster than anyone reads
		}
		if len(out) >= most+1+len(r.bundles) {
			hidden++
			continue
		}
		out = append(out, x)
	}
	if hidden > 0 {
		out = append(out, row{label: r.env.P.T("bundle.cli.note.more", "count", fmt.Sprint(hidden)), aside: true})
	}
	return out
}

// total is how far everything is: what is written of all bundles; before that, what was fetched.
func (r *reporter) total(now time.Time) row {
	t := row{label: r.env.P.T("bundle.cli.total"), meter: r.fetching, main: true}
	if len(r.bundles) == 0 {
		t.label, t.done, t.total = r.env.P.T("bundle.cli.resolving"), r.count.fetched, -1
	}
	for _, b := range r.bundles {
		t.done += b.done
		t.total += b.total
	}
	r.fetching.see(now, t.done)
	return t
}

// line is the same for a log.
func (r *reporter) line() string {
	now := r.env.Now()
	s := sentence(r.env, r.total(now))
	var names []string
	for _, x := range r.sources {
		if now.Sub(x.began) < restfulFor {
			continue
		}
		if len(names) == 3 {
			names = append(names, r.env.P.T("bundle.cli.note.more", "count", fmt.Sprint(len(r.sources)-3)))
			break
		}
		name := x.label
		if r.live.arches {
			name = strings.TrimSpace(x.arch + " " + name)
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		s += r.env.P.T("bundle.cli.line.names", "names", strings.Join(names, ", "))
	}
	return s
}

// sentence is a row as a sentence, of what is known.
func sentence(env *environment, t row) string {
	args := []string{"label", t.label, "done", size(t.done), "rate", size(int64(t.meter.rate))}
	key := "bundle.cli.line"
	switch left := t.meter.left(t.done, t.total); {
	case t.total < 0 && t.meter.rate < slowest:
		key = "bundle.cli.line.done"
	case t.total < 0:
	case left < 0:
		key, args = "bundle.cli.line.of", append(args, "total", size(t.total))
	default:
		key, args = "bundle.cli.line.total", append(args, "total", size(t.total), "left", clock(left))
	}
	return env.P.T(key, args...)
}

// text says what matters and stays.
func (r *reporter) text(e build.Event) {
	p := r.env.P
	switch e.Kind {
	case build.Resolved:
		r.live.print(r.env.Stderr, p.T("bundle.cli.resolved",
			"arch", e.Arch, "packages", fmt.Sprint(e.Packages), "known", fmt.Sprint(e.Known), "size", size(e.Total)))
	case build.Fetched:
		if r.verbose {
			key := "bundle.cli.fetched"
			if e.Cached {
				key = "bundle.cli.had"
			}
			r.live.print(r.env.Stderr, p.T(key, "arch", e.Arch, "what", e.What, "size", size(max(e.Total, 0))))
		}
	case build.Retrying:
		// Once for each reason: a server that is down for minutes is one event, not sixty.
		// The sentence names the source; for both architectures it is the same one.
		why := r.fault(e.Fault)
		if who, reason := troubled(e); r.retries[who] != cmp.Or(reason, why) {
			r.retries[who] = cmp.Or(reason, why)
			r.live.print(r.env.Stderr, p.T("bundle.cli.retry", "why", why))
		}
	case build.Warned:
		r.warning(*e.Text)
	}
}

// troubled is whom a retry is about. A server that cannot be reached at all is one trouble, not one for each source it has, and its reason
// is the same whatever is asked of it; the reason is "" where the sentence has to tell.
func troubled(e build.Event) (who, reason string) {
	if f := e.Fault; f != nil && strings.Contains(f.Cause, "dial ") {
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			return "//" + u.Host, f.Code
		}
	}
	return e.What, ""
}

func (r *reporter) fault(f *event.Fault) string {
	if f == nil {
		return ""
	}
	text, _ := r.env.P.Fault(f)
	return text
}

// warning keeps a warning for the end; what both architectures say is one.
func (r *reporter) warning(m event.Msg) {
	if text := r.env.P.Msg(m); !r.warned[text] {
		r.warned[text] = true
		r.warns = append(r.warns, text)
	}
}

// json writes the event as a line; what moves, once a second for each.
func (r *reporter) json(e build.Event) {
	o := fields{"arch": e.Arch}
	put := func(k string, v any, set bool) {
		if set {
			o[k] = v
		}
	}
	moving := e.Kind == build.Fetching || e.Kind == build.Packing || e.Kind == build.Waiting
	var m *meter
	if moving {
		key := string(e.Kind) + " " + e.Arch + " " + e.What + " " + e.URL
		if e.Done == e.Total {
			return // what follows says so
		}
		if last, again := r.told[key]; again && r.env.Now().Sub(last) < everyJSON {
			return
		}
		r.told[key] = r.env.Now()
		m = r.meterOf(e)
	}
	put("what", e.What, e.What != "")
	put("url", e.URL, e.URL != "")
	put("done", e.Done, moving || e.Kind == build.Retrying)
	put("total", e.Total, (moving || e.Kind == build.Retrying) && e.Total >= 0)
	if m != nil {
		put("bytes_per_second", int64(m.rate), true)
		left := m.left(e.Done, e.Total)
		put("left_ns", left, left >= 0)
	}
	put("size", e.Total, e.Kind == build.Fetched || e.Kind == build.Built || e.Kind == build.Unchanged || e.Kind == build.Resolved)
	put("cached", e.Cached, e.Kind == build.Fetched)
	put("packages", e.Packages, e.Kind == build.Resolved)
	put("known", e.Known, e.Kind == build.Resolved)
	put("file", e.File, e.File != "")
	put("sha256", e.SHA256, e.SHA256 != "")
	put("took_ns", e.Took, e.Took > 0)
	put("fault", e.Fault, e.Fault != nil)
	if e.Fault != nil {
		o["message"] = r.fault(e.Fault)
	}
	if e.Text != nil {
		o["text"], o["message"] = e.Text, r.env.P.Msg(*e.Text)
	}
	_ = r.env.emit(string(e.Kind), o) // a reader that went away ends the program by SIGPIPE
}

func (r *reporter) meterOf(e build.Event) *meter {
	now := r.env.Now()
	if e.Kind == build.Packing {
		for _, b := range r.bundles {
			if b.label == e.What {
				b.meter.see(now, b.done)
				return b.meter
			}
		}
	}
	s := r.source(e)
	s.meter.see(now, e.Done)
	return &s.meter
}

// close takes the bars away and says what was made; res is nil when the build failed.
func (r *reporter) close(res *build.Result) {
	r.live.close()
	if r.env.json {
		r.closeJSON(res)
		return
	}
	p := r.env.P
	if res == nil {
		// Of several bundles some may have been finished before.
		for _, arch := range r.arches {
			if e, ok := r.built[arch]; ok {
				_ = r.env.say(r.made(build.Bundle{Path: e.File, Size: e.Total, SHA256: e.SHA256, Took: e.Took, Unchanged: e.Kind == build.Unchanged}))
			}
		}
		return
	}
	for _, b := range res.Bundles {
		_ = r.env.say(r.made(b))
		if b.SHA256 != "" {
			_ = r.env.say("  sha256 " + b.SHA256)
		}
		for _, part := range b.Parts {
			_ = r.env.say("  " + event.Clean(filepath.Base(part)))
		}
	}
	if r.count.sources > 0 {
		r.env.tell(p.T("bundle.cli.summary",
			"sources", fmt.Sprint(r.count.sources), "cached", fmt.Sprint(r.count.cached), "fetched", size(r.count.fetched), "took", took(r.env.Now().Sub(r.began))))
	}
	r.env.tell(p.T("bundle.cli.lock", "file", res.Lock))
	for _, arch := range r.arches {
		if d := res.Moved[arch]; d != nil && d.Same > 0 { // not all of it, as for a first lock
			r.env.tell("  " + p.T("bundle.cli.lock-moved", "arch", arch, "count", fmt.Sprint(len(d.Changes))))
		}
	}
	for _, m := range res.Warnings {
		r.warning(m)
	}
	if len(r.warns) > 0 {
		r.env.tell(p.T("bundle.cli.warnings") + "\n  " + strings.Join(r.warns, "\n  "))
	}
}

func (r *reporter) made(b build.Bundle) string {
	args := []string{"file", b.Path, "size", size(b.Size), "took", took(b.Took), "parts", fmt.Sprint(len(b.Parts))}
	key := "bundle.cli.built"
	switch {
	case b.Unchanged:
		key = "bundle.cli.unchanged"
	case len(b.Parts) > 0:
		key = "bundle.cli.built-parts"
	}
	return r.env.P.T(key, args...)
}

func (r *reporter) closeJSON(res *build.Result) {
	if res == nil {
		return
	}
	bundles := []fields{}
	for _, b := range res.Bundles {
		o := fields{"arch": b.Arch, "file": b.Path, "size": b.Size, "unchanged": b.Unchanged}
		if b.SHA256 != "" {
			o["sha256"] = b.SHA256
		}
		if len(b.Parts) > 0 {
			o["parts"] = b.Parts
		}
		bundles = append(bundles, o)
	}
	warnings := []string{}
	for _, m := range res.Warnings {
		if text := r.env.P.Msg(m); !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	_ = r.env.emit("done", fields{"lock": res.Lock, "bundles": bundles, "warnings": warnings, "took_ns": r.env.Now().Sub(r.began)})
}
