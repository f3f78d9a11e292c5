// Package building reports a build of bundles: bars on a terminal, sentences in a log, JSON lines for programs. It may
// import internal/bundle/build, whose news it reports, and what internal/output/report may.
package building

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
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

	state  *State
	warned map[string]bool
	warns  []string
	told   map[string]time.Time // last JSON line of what moves
}

// New reports a build for some architectures; verbose says of each source that it is there.
func New(o Output, arches []string, verbose bool) *Reporter {
	r := &Reporter{
		out: o, arches: arches, verbose: verbose, state: NewState(o.Progress.Now), warned: map[string]bool{},
		told: map[string]time.Time{},
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
		news := r.state.Take(e)
		if r.out.JSON {
			r.json(e)
			return
		}
		r.text(e, news)
	})
}

// rows are the screen: all together, each bundle, and the sources that are under way for a while.
func (r *Reporter) rows() []report.Row {
	p := r.out.P
	v := r.state.View(report.MostRows)
	out := []report.Row{r.named(v.Total, v.Resolving)}
	for _, x := range v.Rows {
		if x.Note != "" {
			x.Note = p.T(x.Note)
		}
		out = append(out, x)
	}
	if v.Hidden > 0 {
		out = append(out, report.Row{Label: p.T("bundle.cli.note.more", "count", fmt.Sprint(v.Hidden)), Aside: true})
	}
	return out
}

// named is the row of the total with its name.
func (r *Reporter) named(total report.Row, resolving bool) report.Row {
	switch {
	case resolving:
		total.Label = r.out.P.T("bundle.cli.resolving")
	case total.Label == "":
		total.Label = r.out.P.T("bundle.cli.total")
	}
	return total
}

// line is the same for a log.
func (r *Reporter) line() string {
	now := r.out.Progress.Now()
	total := r.state.total(now)
	s := r.named(total, len(r.state.bundles) == 0).Sentence(r.out.P)
	var names []string
	for _, x := range r.state.sources {
		if now.Sub(x.began) < report.RestfulFor {
			continue
		}
		if len(names) == 3 {
			names = append(names, r.out.P.T("bundle.cli.note.more", "count", fmt.Sprint(len(r.state.sources)-3)))
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
func (r *Reporter) text(e build.Event, news bool) {
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
		if news {
			r.live.Print(r.out.Progress.Out, p.T("bundle.cli.retry", "why", r.fault(e.Fault)))
		}
	case build.Warned:
		r.warning(*e.Text)
	}
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
			if e, ok := r.state.built[arch]; ok {
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
	if r.state.count.Sources > 0 {
		r.out.tell(p.T("bundle.cli.summary",
			"sources", fmt.Sprint(r.state.count.Sources), "cached", fmt.Sprint(r.state.count.Cached), "fetched",
			report.Amount(r.state.count.Fetched), "took", report.Lasted(r.state.Took())))
	}
	if res.Lock != "" {
		r.out.tell(p.T("bundle.cli.lock", "file", res.Lock))
	}
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
