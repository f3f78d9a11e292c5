// Package pages has the screens around a run: the menu, the clusters and runs of this jump host, and what leads from an
// intention to a run that has begun. What they know comes from backend.Services, in commands.
package pages

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Deps are what the pages stand on: the services, and the screens of other rooms.
type Deps struct {
	S backend.Services
	// Builds makes bundles; nil: this program cannot.
	Builds backend.Builds
	// Install is the page that makes a new cluster; nil: there is none.
	Install func() frame.Page
	// InstallFrom is Install with bundles that are to be installed from; nil: there is none.
	InstallFrom func(bundles []string) frame.Page
	// Add is the page that chooses the nodes to be added; nil: a plain one.
	Add func(c request.ClusterRuns) frame.Page
	// Version of the program, for the menu's head.
	Version string
}

// installFrom leads to the wizard with bundles that were built; nobody wants to come back to their page.
func (d *Deps) installFrom(bundles []string) tea.Cmd {
	if d.InstallFrom == nil {
		return frame.Send(frame.Home{})
	}
	return frame.Send(frame.Settle{Page: d.InstallFrom(bundles)})
}

// opened is a run with what its board needs.
type opened struct {
	ref request.Ref
	o   backend.Board
}

// open opens a run.
func (d *Deps) open(ctx context.Context, r request.Ref, replay float64) (opened, error) {
	o, err := d.S.Open(ctx, r, replay)
	return opened{r, o}, err
}

// Run is the board of a run, which goes on in place when the person has changed its deploy.yaml.
func (d *Deps) Run(r request.Ref, o backend.Board) frame.Page {
	page := runview.New(o)
	start := backend.Resume(r.Cluster)
	start.Soon = true
	page.Again(func() frame.Page { return NewLaunch(d, start) })
	return page
}

// quiet is embedded by pages that nothing is typed into.
type quiet struct{}

// Type implements frame.Page.
func (quiet) Type(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }

func push(p frame.Page) tea.Cmd { return frame.Send(frame.Push{Page: p}) }

// list is a cursor over rows of which h are in sight.
type list struct {
	at, top int
	n       int // rows, as drawn last
	h       int
}

// sight gives the rows that are drawn.
func (l *list) sight(n, h int) (from, to int) {
	l.n, l.h = n, max(1, h)
	l.at = min(max(0, l.at), max(0, n-1))
	l.top = min(max(l.top, l.at-l.h+1), l.at)
	l.top = max(0, min(l.top, n-l.h))
	return l.top, min(n, l.top+l.h)
}

func (l *list) move(n int) { l.at = min(max(0, l.at+n), max(0, l.n-1)) }

// keys move the cursor.
func (l *list) keys() []frame.Binding {
	by := func(n func() int) func() tea.Cmd { return func() tea.Cmd { l.move(n()); return nil } }
	one := func(n int) func() int { return func() int { return n } }
	return []frame.Binding{
		{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "ui.key.move", Do: by(one(-1))},
		{Keys: []string{"down", "j"}, Do: by(one(1)), Help: true},
		{Keys: []string{"pgup"}, Show: "PgUp PgDn", Word: "ui.key.page", Do: by(func() int { return -l.h }),
			Help: true},
		{Keys: []string{"pgdown"}, Do: by(func() int { return l.h }), Help: true},
		{Keys: []string{"home", "g"}, Show: "g G", Word: "ui.key.top", Do: by(func() int { return -l.n }), Help: true},
		{Keys: []string{"end", "G"}, Do: by(func() int { return l.n }), Help: true},
	}
}

// row draws the text of a row of a list, with the mark of the cursor.
func row(e *frame.Env, on bool, text string, w int) string {
	mark := "  "
	if on {
		mark = e.Theme.Chosen.Render(e.Theme.Glyphs.Pointer) + " "
	}
	return " " + mark + widget.Fit(text, w-3, e.Theme.Glyphs.Cut)
}

// wrapped breaks text into lines of w cells in a style.
func wrapped(st widget.Ink, text string, w int) []string {
	var out []string
	for _, l := range strings.Split(widget.Wrap(text, w), "\n") {
		out = append(out, st.Render(l))
	}
	return out
}

// told shows a fault: its sentence and its advice.
func told(e *frame.Env, f *event.Fault, w int) []string {
	text, next := e.P.Fault(f)
	return toldIn(e, text, next, w)
}

// toldIn shows the sentence of a fault and its advice.
func toldIn(e *frame.Env, text, next string, w int) []string {
	out := wrapped(e.Theme.Bad, e.Theme.Glyphs.Failed+" "+text, w)
	if next != "" {
		out = append(out, wrapped(e.Theme.Text, e.Theme.Glyphs.Arrow+" "+next, w)...)
	}
	return out
}

// below says how many lines are out of sight at the foot of a page.
func below(e *frame.Env, n int) string {
	if n <= 0 {
		return ""
	}
	return e.P.T("ui.ask.more", "count", fmt.Sprint(n))
}

// indent puts n spaces before each line.
func indent(lines []string, n int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = widget.Spaces(n) + l
	}
	return out
}

// status is a cluster's or a run's status as a glyph and a word, and how it is drawn.
func status(e *frame.Env, s string) (string, widget.Ink) {
	t := e.Theme
	g, st := t.Glyphs.Unknown, t.Idle
	switch s {
	case request.Running:
		g, st = t.Glyphs.Running, t.Busy
	case request.Waiting:
		g, st = t.Glyphs.Ignored, t.Bad
	case request.Installed:
		g, st = t.Glyphs.OK, t.Good
	case request.Failed:
		g, st = t.Glyphs.Failed, t.Bad
	case request.Interrupted:
		g, st = t.Glyphs.Stopped, t.Warn
	case request.Removed, request.Moved:
		g, st = t.Glyphs.Skipped, t.Idle
	}
	return g + " " + e.P.T("menu.status."+s), st
}

// ended is how a run ended as a glyph and a word: a run that installed something and one that removed it both went
// well.
func ended(e *frame.Env, r request.Run) (string, widget.Ink) {
	if r.Status == request.Installed || r.Status == request.Removed {
		return e.Theme.Glyphs.OK + " " + e.P.T("menu.run.well"), e.Theme.Good
	}
	return status(e, r.Said())
}

// verb in words.
func verb(e *frame.Env, v string) string {
	if key := "menu.verb." + v; e.P.Has(key) {
		return e.P.T(key)
	}
	return event.Clean(v)
}

// ago says how long ago something was.
func ago(e *frame.Env, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := e.Now().Sub(t)
	switch {
	case d < time.Minute:
		return e.P.T("menu.ago.now")
	case d < time.Hour:
		return e.P.T("menu.ago.minutes", "n", fmt.Sprint(int(d.Minutes())))
	case d < 48*time.Hour:
		return e.P.T("menu.ago.hours", "n", fmt.Sprint(int(d.Hours())))
	}
	return e.P.T("menu.ago.days", "n", fmt.Sprint(int(d.Hours()/24)))
}

// members says of how many nodes a cluster is.
func members(e *frame.Env, c request.ClusterRuns) string {
	if c.Masters+c.Workers == 0 {
		return ""
	}
	return e.P.T("menu.members", "masters", fmt.Sprint(c.Masters), "workers", fmt.Sprint(c.Workers))
}

func took(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return report.Short(d)
}

// last run of a cluster, zero if it has none.
func last(c request.ClusterRuns) request.Run {
	if len(c.Runs) == 0 {
		return request.Run{}
	}
	return c.Runs[0]
}
