package wizard

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// review is the last look: the file, what is other than on the disk, what will be done; then it is written and run.
type review struct {
	p      *Page
	view   int // one of views
	top    int
	found  int // line of the last hit, -1 none
	rows   int // that were drawn
	search widget.Field
	finds  bool

	fileOf config.Draft // whose file is what text gives
	fileIn i18n.Lang    // the language of its comments
	file   []byte
	shown  []string // its lines without secrets

	disk    []byte    // the file as it is there; nil when it is not
	diskIn  i18n.Lang // the language that disk was put in; "" is as it was read
	read    bool
	diskErr *event.Fault
	past    []draft.Past // earlier installs, once they are known
	plan    []draft.Planned
	planOf  string
	busy    bool
	fault   *event.Fault
	written string // the path, once it is
}

func newReview(p *Page) step { return &review{p: p, found: -1} }

func (r *review) typing() bool   { return r.finds }
func (r *review) id() guide.Step { return guide.ReviewStep }
func (r *review) leave()         {}
func (r *review) wheel(n int)    { r.top += n }
func (r *review) scrolls() bool  { return true }

type (
	diskMsg struct {
		path string
		data []byte
		err  error
	}
	plannedMsg struct {
		of   string
		list []draft.Planned
		err  error
	}
	pastMsg    struct{ list []draft.Past }
	writtenMsg struct {
		path string
		err  error
		run  bool
	}
)

func (r *review) enter(*frame.Env) tea.Cmd {
	p := r.p
	r.written, r.view, r.top, r.found = "", 0, 0, -1
	cmds := []tea.Cmd{p.changed()}
	path := p.g.Target()
	cmds = append(cmds, func() tea.Msg {
		data, err := p.svc.Read(path)
		return diskMsg{path, data, err}
	})
	if r.past == nil {
		cmds = append(cmds, func() tea.Msg { return pastMsg{p.svc.Past(p.ctx)} })
	}
	return tea.Batch(append(cmds, r.makePlan())...)
}

// makePlan asks what would be done, once for what the draft is now.
func (r *review) makePlan() tea.Cmd {
	p := r.p
	of := p.g.Fingerprint()
	if of == r.planOf && r.fault == nil || r.busy {
		return nil
	}
	if _, problems := p.g.Draft.Check("deploy.yaml"); problems.HasErrors() {
		return nil
	}
	r.plan, r.planOf, r.busy, r.fault = nil, of, true, nil
	d, file := p.g.Draft.Clone(), p.g.Target()
	return func() tea.Msg {
		list, err := p.svc.Plan(p.ctx, d, file)
		return plannedMsg{of, list, err}
	}
}

func (r *review) update(m tea.Msg, e *frame.Env) tea.Cmd {
	switch m := m.(type) {
	case diskMsg:
		r.read, r.disk, r.diskIn, r.diskErr = true, m.data, "", nil
		if m.err != nil {
			r.diskErr = event.AsFault(m.err)
		}
	case pastMsg:
		r.past = m.list
	case plannedMsg:
		if m.of == r.planOf {
			r.busy, r.plan, r.fault = false, m.list, nil
			if m.err != nil {
				r.fault = event.AsFault(m.err)
			}
		}
	case writeMsg:
		return r.write(m.run, e.P)
	case writtenMsg:
		if m.err != nil {
			return r.p.say(e, m.err)
		}
		r.written = m.path
		r.p.stored = r.p.saved() // it is the file now
		r.disk, r.diskIn, r.read = r.text(e.P), e.P.Lang(), true
		if m.run && r.p.svc.Run != nil {
			return frame.Send(frame.Replace{Page: r.p.svc.Run(m.path, r.p.g.Draft.Clone())})
		}
		return frame.Send(frame.Note{Text: e.P.T("wizard.written", "file", m.path)})
	}
	return nil
}

func (r *review) typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	if !r.finds {
		return nil, false
	}
	if m.String() == "enter" {
		r.finds = false
		return r.find(e), true
	}
	return nil, r.search.Key(m)
}

// find goes to the next line that has the text.
func (r *review) find(e *frame.Env) tea.Cmd {
	want := strings.ToLower(r.search.Value())
	if want == "" {
		return nil
	}
	lines := r.plain(e)
	for k := range lines {
		i := (r.found + 1 + k) % len(lines)
		if strings.Contains(strings.ToLower(lines[i]), want) {
			r.found, r.top = i, max(0, i-r.rows/2)
			return nil
		}
	}
	return frame.Send(frame.Note{Text: e.P.T("ui.search.none", "text", r.search.Value())})
}

func (r *review) plain(e *frame.Env) []string {
	var out []string
	n, line := r.lines(e, 1000)
	for i := range n {
		out = append(out, ansi.Strip(line(i)))
	}
	return out
}

func (r *review) paste(text string, _ *frame.Env) tea.Cmd {
	if r.finds {
		r.search.Insert(text)
	}
	return nil
}

func (r *review) click(x, y int, e *frame.Env) tea.Cmd {
	if y == 0 {
		r.view, r.top = (r.view+1)%len(r.views()), 0
	}
	return nil
}

func (r *review) back(*frame.Env) bool {
	if r.finds || r.search.Value() != "" {
		r.finds, r.found = false, -1
		r.search.Set("")
		return true
	}
	return false
}

type writeMsg struct{ run bool }

// write puts the file in its place, with comments in the language of the screen.
func (r *review) write(run bool, words *i18n.Printer) tea.Cmd {
	p := r.p
	path, d := p.g.Target(), p.g.Draft.Clone()
	return func() tea.Msg {
		err := p.svc.Write(path, d, words)
		if err == nil {
			err = p.svc.Forget()
		}
		return writtenMsg{path, err, run}
	}
}

// ask asks before it is written or run.
func (r *review) ask(run bool) tea.Cmd {
	p := r.p
	if _, errors, _ := p.g.Checks(); run && errors > 0 {
		return nil
	}
	if !run && !p.g.Joins() {
		return frame.Send(writeMsg{false})
	}
	doubts := p.g.Doubts()
	title, about := p.g.Confirm()
	word := "wizard.run.yes"
	if p.g.Joins() {
		word = "wizard.join.yes"
	}
	return frame.Send(frame.Ask{Title: title, Lines: append([]event.Msg{about}, doubts...),
		Choices: []frame.Choice{
			{Key: "y", Word: word, Do: func() tea.Cmd { return frame.Send(writeMsg{true}) }},
			{Key: "n", Word: "wizard.run.no"},
		}, Default: min(1, len(doubts))}) // with a doubt, Enter alone does not begin it
}

func (r *review) keys(e *frame.Env) []frame.Binding {
	if r.finds {
		return []frame.Binding{{Keys: []string{"enter"}, Show: "Enter", Word: "wizard.key.search", Do: func() tea.Cmd {
			return nil
		}}}
	}
	move := func(n int) func() tea.Cmd { return func() tea.Cmd { r.top += n; return nil } }
	var list []frame.Binding
	do := map[guide.Action]func() tea.Cmd{
		guide.ToPreflight: func() tea.Cmd { return r.p.toStep(guide.PreflightStep, e) },
		guide.ToProblem:   func() tea.Cmd { return r.p.toProblem(e) },
		guide.Join:        func() tea.Cmd { return r.ask(true) },
		guide.Install:     func() tea.Cmd { return r.ask(true) },
	}
	for _, a := range r.p.g.Actions() {
		switch {
		case a == guide.Write && !r.p.g.Problems.HasErrors():
			list = append(list, frame.Binding{Keys: []string{"w"}, Word: string(a), Do: func() tea.Cmd {
				return r.ask(false)
			}})
		case do[a] != nil && (a != guide.Install || r.p.svc.Run != nil):
			list = append(list, frame.Binding{Keys: []string{"enter"}, Show: "Enter", Word: string(a), Do: do[a],
				Now: a == guide.Join || a == guide.Install})
		}
	}
	return append(list,
		frame.Binding{Keys: []string{"tab"}, Show: "Tab", Word: "wizard.key.view",
			Do: func() tea.Cmd { r.view, r.top, r.found = (r.view+1)%len(r.views()), 0, -1; return nil }},
		frame.Binding{Keys: []string{"/"}, Word: "ui.key.search",
			Do: func() tea.Cmd { r.finds = true; r.search.Set(""); return nil }},
		frame.Binding{Keys: []string{"n"}, Word: "ui.key.next", Do: func() tea.Cmd { return r.find(e) }, Help: true},
		frame.Binding{Keys: []string{"up", "k"}, Show: "↑ ↓", Word: "wizard.key.move", Do: move(-1), Help: true},
		frame.Binding{Keys: []string{"down", "j"}, Do: move(1), Help: true},
		frame.Binding{Keys: []string{"pgup", "b"}, Do: func() tea.Cmd { r.top -= max(1, r.rows-1); return nil },
			Help: true},
		frame.Binding{Keys: []string{"pgdown", "space"}, Do: func() tea.Cmd { r.top += max(1, r.rows-1); return nil },
			Help: true},
		frame.Binding{Keys: []string{"home", "g"}, Do: move(-1 << 20), Help: true},
		frame.Binding{Keys: []string{"end", "G"}, Do: move(1 << 20), Help: true})
}

// views lists what Review can show, in order; the preview comes first.
func (r *review) views() []string {
	list := []string{"sketch", "file", "diff", "plan"}
	return list
}

func (r *review) render(e *frame.Env, w, h int) ([]string, *tea.Cursor) {
	t, g := e.Theme, e.Theme.Glyphs
	tabs := new(widget.Line)
	for i, view := range r.views() {
		if word := e.P.T("wizard.view." + view); i == r.view {
			tabs.Add(t.Chosen, g.Pointer).Add(t.Strong, word).Space(3)
		} else {
			tabs.Space(1).Add(t.Dim, word).Space(3)
		}
	}
	right := event.Clean(r.p.g.Target())
	if room := w - tabs.Width() - 2; widget.Width(right) <= room {
		tabs.To(w-widget.Width(right)).Add(t.Dim, right)
	}
	out := []string{tabs.String()}
	if n, _ := r.p.g.Problems.Count(); n > 0 {
		out = append(out, complaint(e, event.Error, e.P.T("wizard.preflight.invalid", "count", itoa(n)), "", w)...)
	}
	if !r.p.g.Problems.HasErrors() && r.written == "" {
		out = append(out, r.verdict(e, w, h)...)
		if x, is := r.p.g.SinglePoint(e.P); is {
			out = append(out, complaint(e, x.Severity, x.Text, x.Next, w)...)
		}
	}
	if r.written != "" {
		out = append(out, t.Good.Render(g.OK+" "+widget.Cut(e.P.T("wizard.written", "file", r.written), w-2, g.Cut)))
	}
	out = append(out, "")
	foot := 0
	if r.finds || r.search.Value() != "" {
		foot = 1
	}
	n, line := r.lines(e, w)
	r.rows = max(1, h-len(out)-foot)
	r.top = max(0, min(r.top, n-r.rows))
	for i := r.top; i < n && i < r.top+r.rows; i++ {
		l := line(i)
		if i == r.found {
			l = widget.Paint(t.Cursor, l, w, "")
		}
		out = append(out, l)
	}
	if foot == 0 {
		return out, nil
	}
	for len(out) < h-1 {
		out = append(out, "")
	}
	s, x := r.search.Shown(w - 4)
	out = append(out, t.Key.Render("/")+" "+s)
	if !r.finds {
		return out, nil
	}
	return out, tea.NewCursor(2+x, len(out)-1)
}

// verdict is what preflight says of what is about to be installed, when that is not that all is well.
func (r *review) verdict(e *frame.Env, w, h int) []string {
	var out []string
	if h > 20 {
		out = append(out, "")
	}
	if _, errors, _ := r.p.g.Checks(); errors > 0 {
		return append(out, complaint(e, event.Error, e.P.T("wizard.run.failed", "count", itoa(errors)), "", w)...)
	}
	for _, m := range r.p.g.Doubts() {
		return append(out, complaint(e, event.Warning, e.P.Msg(m), "", w)...)
	}
	return nil
}

// lines are how many lines the view has, and each of them: those that are not on the screen are not drawn.
func (r *review) lines(e *frame.Env, w int) (n int, line func(i int) string) {
	var all []string
	switch r.views()[r.view] {
	case "sketch":
		all = r.previewLines(e, w)
	case "diff":
		all = r.diff(e, w)
	case "plan":
		all = r.planLines(e, w)
	default:
		r.text(e.P)
		wide := len(itoa(len(r.shown)))
		return len(r.shown), func(i int) string {
			return e.Theme.Faint.Render(widget.FitRight(itoa(i+1), wide, "")) + "  " +
				yamlLine(e, widget.Cut(event.Clean(r.shown[i]), w-wide-2, e.Theme.Glyphs.Cut))
		}
	}
	return len(all), func(i int) string { return all[i] }
}

// signedLines say who signed the chosen bundles.
func (r *review) signedLines(e *frame.Env, w int) []string {
	var out []string
	for _, x := range r.p.g.Bundles {
		if x.Signed.Key != "" && r.p.g.Chosen(x.Path) {
			for _, s := range wrapped(event.Clean(e.P.Msg(x.Signed)), w) {
				out = append(out, e.Theme.Text.Render(s))
			}
		}
	}
	if len(out) > 0 {
		out = append(out, "")
	}
	return out
}

// planLines is what would be done, machine by machine.
func (r *review) planLines(e *frame.Env, w int) []string {
	t, g := e.Theme, e.Theme.Glyphs
	switch {
	case r.p.g.Problems.HasErrors():
		return []string{t.Dim.Render(e.P.T("wizard.plan.invalid"))}
	case r.busy:
		return []string{t.Busy.Render(g.Running + " " + e.P.T("wizard.plan.busy"))}
	case r.fault != nil:
		text, next := faultWords(e, r.fault)
		return complaint(e, event.Error, event.Clean(text), event.Clean(next), w)
	case len(r.plan) == 0:
		return []string{t.Good.Render(g.OK + " " + e.P.T("wizard.plan.nothing"))}
	}
	out := r.signedLines(e, w)
	for _, n := range guide.PlanRows(e.P, r.plan) {
		l := new(widget.Line).Add(t.Strong, n.Name)
		if n.Address != "" {
			l.Space(2).Add(t.Dim, n.Address)
		}
		l.Space(2).Add(t.Accent, n.Count)
		if n.Upload != "" {
			l.Space(2).Add(t.Dim, n.Upload)
		}
		out = append(out, l.String())
		for _, text := range n.Changes {
			out = append(out, "  "+t.Faint.Render(g.Bullet)+" "+t.Text.Render(widget.Cut(text, w-4, g.Cut)))
		}
		out = append(out, "")
	}
	return out
}
