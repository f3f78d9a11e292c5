package wizard

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// step is one page of the wizard.
type step interface {
	id() guide.Step
	// enter is called when the person comes to the step.
	enter(e *frame.Env) tea.Cmd
	// leave is called when the person goes from it, before the draft is kept.
	leave()
	typed(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool)
	typing() bool // letters are typed
	keys(e *frame.Env) []frame.Binding
	paste(text string, e *frame.Env) tea.Cmd
	click(x, y int, e *frame.Env) tea.Cmd
	wheel(n int)
	render(e *frame.Env, w, h int) ([]string, *tea.Cursor)
	// back takes an Esc for something inside of the step.
	back(e *frame.Env) bool
}

// holder is a step that has fields of which nothing is in the draft before they are taken.
type holder interface {
	held() map[string]string
	hold(typed map[string]string)
}

// Page is the wizard.
type Page struct {
	svc   Services
	ctx   context.Context
	stop  context.CancelFunc
	g     *guide.Session
	steps []step // of the session's

	checks int // counts changes, so that only the last one is checked

	probes   context.CancelFunc
	probeCtx context.Context // of the probes that are under way
	shrinks  bool            // the last key took something away from what stands in a field

	stored draft.Saved // as it was kept last

	rail []railSpot
	body struct{ x, y, w int } // where the step was drawn
}

type (
	loadedMsg struct {
		saved draft.Saved
		ok    bool
	}
	validateMsg  struct{ n int }
	validatedMsg struct {
		n        int
		cluster  *config.Cluster
		problems config.Problems
	}
	ownKeysMsg struct{ files []string }
	keyFileMsg struct {
		file  string
		fault *event.Fault
	}
	savedMsg struct{ err error }
)

// New makes a wizard with an empty draft. ctx ends what it has begun.
func New(ctx context.Context, svc Services) *Page {
	p := &Page{svc: svc, g: guide.New()}
	p.g.Usual = svc.File
	p.ctx, p.stop = context.WithCancel(ctx)
	if p.svc.After == nil {
		p.svc.After = func(d time.Duration, m tea.Msg) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return m })
		}
	}
	p.begin()
	return p
}

// NewAdd makes a wizard that lets machines join the cluster of a deploy.yaml.
func NewAdd(ctx context.Context, svc Services, d config.Draft, file string) *Page {
	p := New(ctx, svc)
	p.g.Join(d, file)
	p.begin()
	return p
}

// begin makes the steps that there are services for.
func (p *Page) begin() {
	p.steps = nil
	for _, t := range p.g.Steps {
		p.steps = append(p.steps, p.newStep(t))
	}
	p.stored = p.saved()
}

// newStep returns the page of a step.
func (p *Page) newStep(t guide.Step) step {
	switch t {
	case guide.ClusterStep:
		return newCluster(p)
	case guide.MachinesStep:
		return newNodes(p)
	case guide.BundleStep:
		return newBundles(p)
	case guide.ExtraStep:
		return newExtra(p)
	case guide.PreflightStep:
		return newPreflight(p)
	case guide.ReviewStep:
		return newReview(p)
	}
	return newForm(p, t)
}

// Open has the wizard begin with a draft, as one that was read from a file.
func (p *Page) Open(d config.Draft, file string) {
	p.g.Open(d, file)
	p.stored = p.saved()
}

// Init implements frame.Page.
func (p *Page) Init(e *frame.Env) tea.Cmd {
	p.g.GoTo(p.g.At)
	cmds := []tea.Cmd{p.steps[p.g.At].enter(e), p.validate()}
	if p.g.File == "" || p.g.Joins() {
		cmds = append(cmds, func() tea.Msg {
			s, ok := p.svc.Load()
			return loadedMsg{s, ok}
		})
	}
	cmds = append(cmds, func() tea.Msg { return ownKeysMsg{p.svc.Keys()} })
	return tea.Batch(cmds...)
}

// Close implements frame.Closer. What was typed since it was kept last is kept: the terminal may be gone.
func (p *Page) Close() {
	p.stop()
	if p.unsaved() {
		_ = p.svc.Save(p.saved()) // there is nobody left to tell
	}
}

// Title implements frame.Page.
func (p *Page) Title(e *frame.Env) string {
	if p.g.Joins() {
		return e.P.T("wizard.add.title")
	}
	return e.P.T("wizard.title")
}

// Aside implements frame.Asider.
func (p *Page) Aside(*frame.Env) string { return p.g.Draft.Get("cluster-id") }

// Update implements frame.Page.
func (p *Page) Update(msg tea.Msg, e *frame.Env) tea.Cmd {
	switch m := msg.(type) {
	case news:
		cmds := []tea.Cmd{m.more}
		for _, one := range m.list {
			cmds = append(cmds, p.Update(one, e))
		}
		return tea.Batch(cmds...)
	case loadedMsg:
		return p.loaded(m, e)
	case validateMsg:
		if m.n != p.checks {
			return nil
		}
		d := p.g.Draft.Clone()
		cmds := []tea.Cmd{p.lookAtKey(), func() tea.Msg {
			c, problems := d.Check("deploy.yaml")
			return validatedMsg{m.n, c, problems}
		}}
		if p.unsaved() { // a terminal that dies takes nothing along
			cmds = append(cmds, p.save())
		}
		return tea.Batch(cmds...)
	case ownKeysMsg:
		p.g.OwnKeys = m.files
	case keyFileMsg:
		if p.g.KeyChecked(m.file, m.fault) {
			return p.validate()
		}
	case validatedMsg:
		if m.n == p.checks {
			p.g.Checked(m.cluster, m.problems)
			// What was told of a machine or a bundle meanwhile may have made the draft whole, or another one.
			if f, is := p.steps[p.g.At].(*preflight); is && !p.g.Problems.HasErrors() &&
				(p.g.Preflight.Of != p.g.Fingerprint() || p.g.Preflight.Fault == nil) {
				return f.enter(e)
			}
		}
	case savedMsg:
		if m.err != nil {
			return p.say(e, m.err)
		}
	case resumeMsg:
		return p.resumed(m.saved, e)
	case importedMsg:
		return p.imported(m, e)
	case draft.Probe:
		p.g.Probed(m)
		if n := p.machines(); n != nil {
			return n.followUp()
		}
	case draft.Bundle:
		return p.found(m, e)
	case frame.Back: // of the page that builds bundles
		if b, is := p.steps[p.g.At].(*bundles); is && !p.g.LookingForBundles {
			return b.look()
		}
	}
	for _, s := range p.steps {
		if u, ok := s.(interface {
			update(tea.Msg, *frame.Env) tea.Cmd
		}); ok {
			if c := u.update(msg, e); c != nil {
				return c
			}
		}
	}
	return nil
}

// say shows an error in the footer.
func (p *Page) say(e *frame.Env, err error) tea.Cmd {
	text, _ := e.P.Fault(event.AsFault(err))
	return frame.Send(frame.Note{Text: event.Clean(text)})
}

func (p *Page) goTo(i int, e *frame.Env) tea.Cmd {
	if i < 0 || i >= len(p.steps) {
		return nil
	}
	from := p.steps[p.g.At]
	from.leave()
	p.snapshot()
	ahead := i > p.g.At
	p.g.GoTo(i)
	cmds := []tea.Cmd{p.save(), p.validate(), p.probe(e, false), p.steps[i].enter(e)}
	if n, is := from.(*nodes); is && ahead { // nobody goes on without having seen that keys are to be looked at
		if asks := n.p.g.Asking(); slices.ContainsFunc(asks,
			func(l *draft.Probe) bool { return !n.shownKeys[l.Key.Fingerprint] }) {
			cmds = append(cmds, n.askKeys(asks))
		}
	}
	return tea.Batch(cmds...)
}

// toStep goes to a step.
func (p *Page) toStep(t guide.Step, e *frame.Env) tea.Cmd { return p.goTo(p.g.Index(t), e) }

func (p *Page) next(e *frame.Env) tea.Cmd { return p.goTo(p.g.At+1, e) }

// Type implements frame.Page.
func (p *Page) Type(m tea.KeyPressMsg, e *frame.Env) (tea.Cmd, bool) {
	if n := p.machines(); n != nil {
		clear(n.followed)
	}
	switch m.String() {
	case "ctrl+n", "pgdown":
		if p.g.At+1 < len(p.steps) && !p.own(m) {
			return p.next(e), true
		}
	case "ctrl+p", "pgup":
		if p.g.At > 0 && !p.own(m) {
			return p.goTo(p.g.At-1, e), true
		}
	case "ctrl+_", "ctrl+/", "ctrl+-":
		return p.undo(e), true
	case "ctrl+r", "ctrl+y":
		return p.redo(e), true
	}
	return p.steps[p.g.At].typed(m, e)
}

// own says whether the step itself scrolls by PgUp and PgDn.
func (p *Page) own(m tea.KeyPressMsg) bool {
	s, ok := p.steps[p.g.At].(interface{ scrolls() bool })
	return ok && s.scrolls() && strings.HasPrefix(m.String(), "pg")
}

// Keys implements frame.Page.
func (p *Page) Keys(e *frame.Env) []frame.Binding {
	list := p.steps[p.g.At].keys(e)
	has := func(key string) bool { _, ok := frame.Find(list, key); return ok }
	if p.g.At+1 < len(p.steps) {
		list = slices.Insert(list, min(1, len(list)),
			frame.Binding{Keys: []string{"ctrl+n"}, Show: "Ctrl+N", Word: "wizard.key.next",
				Do: func() tea.Cmd { return p.next(e) }})
	}
	if !has("u") && !p.Typing() {
		list = append(list, frame.Binding{Keys: []string{"u"}, Show: "u", Word: "wizard.key.undo", Do: func() tea.Cmd {
			return p.undo(e)
		}, Help: true})
	}
	list = append(list,
		frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.back", Keep: true, Do: func() tea.Cmd {
			c, leave := p.Back(e)
			if !leave {
				return c
			}
			return tea.Batch(c, frame.Send(frame.Pop{}))
		}},
		frame.Binding{Keys: []string{"ctrl+p"}, Show: "Ctrl+P", Word: "wizard.key.prev",
			Do: func() tea.Cmd { return p.goTo(p.g.At-1, e) }, Help: true},
		frame.Binding{Keys: []string{"ctrl+_"}, Show: "Ctrl+_", Word: "wizard.key.undo",
			Do: func() tea.Cmd { return p.undo(e) }, Help: true},
		frame.Binding{Keys: []string{"ctrl+r"}, Show: "Ctrl+R", Word: "wizard.key.redo",
			Do: func() tea.Cmd { return p.redo(e) }, Help: true})
	return list
}

// Typing implements frame.Typer.
func (p *Page) Typing() bool { return p.steps[p.g.At].typing() }

// Helps implements frame.Helper.
func (p *Page) Helps() bool {
	h, ok := p.steps[p.g.At].(interface{ helps() bool })
	return ok && h.helps()
}

// Back implements frame.Backer: first out of what is open in the step, then to the step before, then out of the wizard,
// whose draft is kept.
func (p *Page) Back(e *frame.Env) (tea.Cmd, bool) {
	if p.steps[p.g.At].back(e) {
		return p.changed(), false
	}
	if p.g.At > 0 {
		return p.goTo(p.g.At-1, e), false
	}
	p.steps[p.g.At].leave()
	return p.save(), true
}

// Leaving implements frame.Leaver: the draft is kept.
func (p *Page) Leaving(*frame.Env) (tea.Cmd, bool) {
	p.steps[p.g.At].leave()
	save := p.save()
	return func() tea.Msg {
		save()
		return frame.Quit{}
	}, true
}

// Paste implements frame.Paster.
func (p *Page) Paste(text string, e *frame.Env) tea.Cmd { return p.steps[p.g.At].paste(text, e) }

// Click implements frame.Clicker.
func (p *Page) Click(x, y int, e *frame.Env) tea.Cmd {
	for _, s := range p.rail {
		if s.y == y && x >= s.from && x < s.to {
			return p.goTo(s.step, e)
		}
	}
	if x >= p.body.x && x < p.body.x+p.body.w && y >= p.body.y {
		return p.steps[p.g.At].click(x-p.body.x, y-p.body.y, e)
	}
	return nil
}

// Wheel implements frame.Wheeler.
func (p *Page) Wheel(lines int, _ *frame.Env) tea.Cmd {
	p.steps[p.g.At].wheel(lines)
	return nil
}

// words are a problem's sentence and its advice.
func words(e *frame.Env, p config.Problem) (text, next string) { return faultWords(e, p.Fault()) }

// faultWords are a fault's, with what helps in the wizard where that is another thing than on a command line.
func faultWords(e *frame.Env, f *event.Fault) (text, next string) { return guide.Words(e.P, "", f) }

// wrapped is text broken into lines of a style.
func wrapped(s string, w int) []string {
	if s == "" {
		return nil
	}
	return widget.Lines(s, w)
}
