package runview

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui/board"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// question is a step that is asked about; it may be asked about again when it has failed again.
type question struct {
	step string
	try  int
}

// panel is the state of the panel of failures: those that somebody is to decide about, or, when there are none, those
// of the past.
type panel struct {
	on    bool
	at    int
	since time.Time         // when it opened by itself; zero if the person opened it
	asked map[question]bool // those that the person has been called for
	told  map[question]bool // those that were decided here; the run has not said so yet
}

// guard is how long a panel that opened by itself takes no decision: the key that a person was about to press is not
// meant for it.
const guard = 700 * time.Millisecond

// open are the questions that are not answered here yet.
func (p *Page) open() []*state.Question {
	var out []*state.Question
	for _, q := range p.state.Open {
		if !p.panel.told[question{q.Step.ID, q.Try}] {
			out = append(out, q)
		}
	}
	return out
}

// failures that stand: not those that were allowed, nor those that came right at a later try.
func (p *Page) failures() []*state.Failure {
	var out []*state.Failure
	for _, f := range p.state.Failures {
		if !f.Step.Outcome.Done() && f.Step.Outcome != "" {
			out = append(out, f)
		}
	}
	return out
}

// shown is what the panel shows now, false when there is nothing.
func (p *Page) shown() (board.Failure, bool) {
	if open := p.open(); len(open) > 0 {
		p.panel.at = min(max(0, p.panel.at), len(open)-1)
		return board.Asked(open[p.panel.at], p.panel.at+1, len(open)), true
	}
	past := p.failures()
	if len(past) == 0 {
		return board.Failure{}, false
	}
	p.panel.at = min(max(0, p.panel.at), len(past)-1)
	return board.Past(past[p.panel.at], p.panel.at+1, len(past)), true
}

// ring calls the person for what is asked newly: the panel opens, unless the person is elsewhere, and the bell rings.
func (p *Page) ring(e *frame.Env) tea.Cmd {
	called := false
	for _, q := range p.state.Open {
		k := question{q.Step.ID, q.Try}
		if !p.panel.asked[k] {
			p.panel.asked[k], called = true, true
		}
	}
	if p.panel.on && len(p.open()) == 0 && !p.panel.since.IsZero() { // somebody else has decided
		p.panel.on = false
	}
	if !called || p.opt.Control == nil {
		return nil
	}
	if p.log == nil && !p.panel.on && !p.filter.on {
		p.panel.on, p.panel.at, p.panel.since = true, 0, e.Now()
	}
	if p.opt.Story {
		return frame.Send(frame.Note{Text: e.P.T("demo.decide")})
	}
	return tea.Raw("\a")
}

func (p *Page) openPanel(*frame.Env) tea.Cmd {
	p.panel.on, p.panel.since = true, time.Time{}
	return nil
}

// choice is a key with what it says in the panel, where there is room to name the node.
type choice struct {
	frame.Binding
	text event.Msg
}

// choices are what can become of the failure, as the panel shows them and as keys.
func (p *Page) choices(f board.Failure, e *frame.Env) []choice {
	node := event.Clean(f.Step.Host)
	decide := func(d event.Decision) func() tea.Cmd { return func() tea.Cmd { return p.decide(f, d, e) } }
	var list []choice
	add := func(key, word string, text event.Msg, do func() tea.Cmd) {
		if p.opt.Story && key != "r" && key != "l" {
			do = func() tea.Cmd { return frame.Send(frame.Note{Text: e.P.T("demo.not-here")}) }
		}
		list = append(list, choice{frame.Binding{Keys: []string{key}, Word: word, Do: do}, text})
	}
	if f.Open && p.opt.Control != nil {
		add("r", "ui.fail.retry", event.M("ui.fail.retry"), decide(event.TryAgain))
		if p.opt.Edit != nil || p.opt.Story {
			add("e", "ui.fail.edit", event.M("ui.fail.edit"), func() tea.Cmd { return p.edit(e) })
		}
		if f.Step.Host != "" {
			add("s", "ui.key.skip", event.M("ui.fail.skip", "node", node), decide(event.LeaveOut))
		}
	}
	if (p.opt.Shell != nil || p.opt.Story) && f.Step.Host != "" {
		add("x", "ui.key.shell", event.M("ui.fail.shell", "node", node), func() tea.Cmd { return p.shell(f.Step.Host) })
	}
	if f.Open && p.opt.Control != nil {
		add("a", "ui.fail.abort", event.M("ui.fail.abort"), func() tea.Cmd { return p.askAbort(f, e) })
	}
	if p.opt.NodeLog != nil {
		add("l", "ui.fail.log", event.M("ui.fail.log"),
			func() tea.Cmd { p.panel.on = false; return p.openLog(e, f.Step.ID) })
	}
	return list
}

// panelKeys are the keys while the panel is open.
func (p *Page) panelKeys(e *frame.Env) []frame.Binding {
	f, ok := p.shown()
	shut := func() tea.Cmd { p.panel.on = false; return nil }
	word := "ui.fail.close"
	var list []frame.Binding
	if ok {
		for _, c := range p.choices(f, e) {
			list = append(list, c.Binding)
		}
		if f.Open {
			word = "ui.fail.later"
		}
	}
	if f.Of > 1 {
		step := func(n int) func() tea.Cmd {
			return func() tea.Cmd {
				p.panel.at = (p.panel.at + n + f.Of) % f.Of
				p.panel.since = time.Time{}
				return nil
			}
		}
		list = append(list, frame.Binding{Keys: []string{"right", "n", "tab", "down"}, Show: "← →", Word: "ui.key.next",
			Do: step(1)},
			frame.Binding{Keys: []string{"left", "p", "shift+tab", "up"}, Do: step(-1), Help: true})
	}
	return append(list, frame.Binding{Keys: []string{"esc", "d"}, Show: "Esc", Word: word, Do: shut})
}

func (p *Page) renderPanel(e *frame.Env, lines []string, w, h int) []string {
	f, ok := p.shown()
	if !ok {
		p.panel.on = false
		return lines
	}
	f.Story = p.opt.Story
	for _, b := range p.choices(f, e) {
		f.Choices = append(f.Choices, board.Choice{Key: b.Name(e), Text: b.text})
	}
	return board.Over(lines, f.Render(e.P, e.Theme, board.PanelWidth(w), h-1), w)
}

// decide sends the decision to the run, unless the panel has only just come up.
func (p *Page) decide(f board.Failure, d event.Decision, e *frame.Env) tea.Cmd {
	if !p.panel.since.IsZero() && e.Now().Sub(p.panel.since) < guard {
		return nil
	}
	k := question{f.Step.ID, f.Try}
	p.panel.told[k] = true
	if len(p.open()) == 0 {
		p.panel.on = false
	}
	control := p.opt.Control
	return func() tea.Msg {
		return doneMsg{what: doneDecide, err: control.Decide(k.step, d), question: k}
	}
}

// askAbort asks once more: there is no way back from it.
func (p *Page) askAbort(f board.Failure, e *frame.Env) tea.Cmd {
	if !p.panel.since.IsZero() && e.Now().Sub(p.panel.since) < guard {
		return nil
	}
	return frame.Send(frame.Ask{
		Title: event.M("ui.fail.abort-title"), Lines: []event.Msg{event.M("ui.fail.abort-text")}, Default: 1,
		Danger: true,
		Choices: []frame.Choice{
			{Key: "a", Word: "ui.fail.abort", Do: func() tea.Cmd {
				p.panel.since = time.Time{}
				return p.decide(f, event.Abort, e)
			}},
			{Key: "b", Word: "ui.key.back"},
		},
	})
}
