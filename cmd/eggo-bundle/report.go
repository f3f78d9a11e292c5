package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/event"
)

// reporter shows how far a build is: one line that is written over on a terminal, a line every few seconds elsewhere, JSON lines when
// asked for. Results go to stdout, progress to stderr.
type reporter struct {
	env  *environment
	json bool
	name string

	started    map[string]mark // by what is under way
	last       time.Time
	drawn      bool
	cached     map[string]int
	sources    map[string]int
	now        func() time.Time
	linesEvery time.Duration
}

// mark is where a transfer began, for its rate.
type mark struct {
	at   time.Time
	done int64
}

const (
	everyLine = 3 * time.Second
	everyDraw = 100 * time.Millisecond
	everyJSON = time.Second
)

func newReporter(env *environment, asJSON bool, name string) *reporter {
	r := &reporter{env: env, json: asJSON, name: name, started: map[string]mark{}, cached: map[string]int{}, sources: map[string]int{}, now: time.Now}
	switch {
	case asJSON:
		r.linesEvery = everyJSON
	case env.Terminal:
		r.linesEvery = everyDraw
	default:
		r.linesEvery = everyLine
	}
	return r
}

func (r *reporter) event(e build.Event) {
	moving := e.Kind == build.Fetching || e.Kind == build.Packing
	m, known := r.started[e.What]
	if moving && !known {
		m = mark{r.now(), e.Done}
		r.started[e.What] = m
	}
	switch e.Kind {
	case build.Fetched:
		delete(r.started, e.What)
		r.sources[e.Arch]++
		if e.Cached {
			r.cached[e.Arch]++
		}
	case build.Fetching, build.Packing:
		if r.now().Sub(r.last) < r.linesEvery {
			return
		}
		r.last = r.now()
	}
	rate, left := pace(m, r.now(), e.Done, e.Total)
	if r.json {
		r.line(e, rate, left)
		return
	}
	r.text(e, rate, left)
}

// pace is bytes a second since m and the time left, negative when it cannot be said.
func pace(m mark, now time.Time, done, total int64) (rate float64, left time.Duration) {
	passed := now.Sub(m.at).Seconds()
	if m.at.IsZero() || passed <= 0 {
		return 0, -1
	}
	if rate = float64(done-m.done) / passed; rate <= 0 || total < 0 {
		return max(rate, 0), -1
	}
	return rate, time.Duration(float64(total-done) / rate * float64(time.Second))
}

func (r *reporter) line(e build.Event, rate float64, left time.Duration) {
	o := map[string]any{"event": e.Kind, "arch": e.Arch}
	put := func(k string, v any, set bool) {
		if set {
			o[k] = v
		}
	}
	moving := e.Kind == build.Fetching || e.Kind == build.Packing || e.Kind == build.Retrying
	put("what", e.What, e.What != "")
	put("url", e.URL, e.URL != "")
	put("done", e.Done, moving)
	put("total", e.Total, moving && e.Total >= 0)
	put("bytes_per_second", int64(rate), moving)
	put("seconds_left", left.Seconds(), moving && left >= 0)
	put("size", e.Total, e.Kind == build.Fetched || e.Kind == build.Built || e.Kind == build.Resolved)
	put("cached", e.Cached, e.Kind == build.Fetched)
	put("packages", e.Packages, e.Kind == build.Resolved)
	put("known", e.Known, e.Kind == build.Resolved)
	put("file", e.File, e.File != "")
	put("sha256", e.SHA256, e.SHA256 != "")
	put("seconds", e.Took.Seconds(), e.Took > 0)
	put("fault", e.Fault, e.Fault != nil)
	if e.Text != nil {
		o["message"], o["text"] = e.Text, r.env.P.Msg(*e.Text)
	}
	emit(r.env.Stdout, o)
}

func (r *reporter) text(e build.Event, rate float64, left time.Duration) {
	p := r.env.P
	remaining := "?"
	if left >= 0 {
		remaining = left.Round(time.Second).String()
	}
	args := []string{"arch", e.Arch, "what", e.What, "done", size(e.Done), "total", size(max(e.Total, 0)), "size", size(max(e.Total, 0)),
		"rate", size(int64(rate)), "left", remaining}
	switch e.Kind {
	case build.Started:
		r.println(p.T("bundle.cli.started", "name", r.name, "arch", e.Arch))
	case build.Resolved:
		r.println(p.T("bundle.cli.resolved", append(args, "packages", fmt.Sprint(e.Packages), "known", fmt.Sprint(e.Known))...))
	case build.Fetching:
		if e.Total < 0 {
			r.moving(p.T("bundle.cli.unknown", args...))
		} else {
			r.moving(p.T("bundle.cli.progress", args...))
		}
	case build.Packing:
		r.moving(p.T("bundle.cli.packing", args...))
	case build.Fetched:
		if !e.Cached {
			r.println(p.T("bundle.cli.fetched", args...))
		}
	case build.Retrying:
		why, _ := p.Fault(e.Fault)
		r.println(p.T("bundle.cli.retry", append(args, "why", why)...))
	case build.Built:
		if n := r.cached[e.Arch]; n > 0 {
			r.println(p.T("bundle.cli.cached", "arch", e.Arch, "count", fmt.Sprint(n), "all", fmt.Sprint(r.sources[e.Arch])))
		}
		r.clear()
		fmt.Fprintln(r.env.Stdout, p.T("bundle.cli.built", "file", e.File, "size", size(e.Total), "sha256", e.SHA256, "took", e.Took.Round(100*time.Millisecond).String()))
	}
}

func (r *reporter) println(s string) {
	r.clear()
	fmt.Fprintln(r.env.Stderr, s)
}

// moving shows a line that the next one replaces.
func (r *reporter) moving(s string) {
	if !r.env.Terminal {
		fmt.Fprintln(r.env.Stderr, s)
		return
	}
	fmt.Fprint(r.env.Stderr, "\r", ansi.Truncate(s, 79, "…"), ansi.EraseLineRight)
	r.drawn = true
}

func (r *reporter) clear() {
	if r.drawn {
		fmt.Fprint(r.env.Stderr, "\r", ansi.EraseLineRight)
		r.drawn = false
	}
}

// close lists the warnings again, where nobody overlooks them; res is nil when the build failed.
func (r *reporter) close(res *build.Result) {
	r.clear()
	if res == nil {
		return
	}
	if r.json {
		emit(r.env.Stdout, map[string]any{"event": "done", "lock": res.Lock, "bundles": len(res.Bundles), "warnings": r.texts(res.Warnings)})
		return
	}
	r.println(r.env.P.T("bundle.cli.lock", "file", res.Lock))
	if len(res.Warnings) > 0 {
		r.println(r.env.P.T("bundle.cli.warnings") + "\n  " + strings.Join(r.texts(res.Warnings), "\n  "))
	}
}

func (r *reporter) texts(ms []event.Msg) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, r.env.P.Msg(m))
	}
	return out
}
