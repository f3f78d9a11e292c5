package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// paper is a page that notes what comes to it.
type paper struct {
	name  string
	got   []string
	field bool
	text  string
	click [2]int
	do    map[string]func() tea.Cmd
	busy  bool
	ended *int
}

func (p *paper) Init(*frame.Env) tea.Cmd { return frame.Send(p.name + " begins") }
func (p *paper) Update(m tea.Msg, _ *frame.Env) tea.Cmd {
	switch m := m.(type) {
	case string:
		p.got = append(p.got, m)
	case frame.Back:
		p.got = append(p.got, "back")
	}
	return nil
}

func (p *paper) Type(m tea.KeyPressMsg, _ *frame.Env) (tea.Cmd, bool) {
	if p.field && m.Text != "" {
		p.text += m.Text
		return nil, true
	}
	return nil, false
}

func (p *paper) Keys(*frame.Env) []frame.Binding {
	var out []frame.Binding
	for k, f := range p.do {
		out = append(out, frame.Binding{Keys: []string{k}, Word: "ui.key.open", Do: f})
	}
	return out
}

func (p *paper) Render(_ *frame.Env, w, h int) ([]string, *tea.Cursor) {
	return []string{strings.Repeat("x", w+5), p.name + " " + p.text}, tea.NewCursor(1, 1)
}
func (p *paper) Title(*frame.Env) string { return p.name }
func (p *paper) Click(x, y int, _ *frame.Env) tea.Cmd {
	p.click = [2]int{x, y}
	return nil
}
func (p *paper) Leaving(*frame.Env) (tea.Cmd, bool) {
	return frame.Send(frame.Ask{Title: event.M("ui.help"),
		Choices: []frame.Choice{{Key: "a", Word: "ui.key.open", Do: func() tea.Cmd {
			return frame.Send("stays")
		}}, {Key: "b", Word: "ui.key.quit", Do: func() tea.Cmd {
			return frame.Send(frame.Quit{Last: event.M("ui.quit.detached", "cluster", p.name)})
		}}}}), p.busy
}
func (p *paper) Close() { *p.ended++ }

func sheet(name string) *paper {
	return &paper{name: name, do: map[string]func() tea.Cmd{}, ended: new(int)}
}

// Pages go onto the stack and come off it, each gets what its own commands said, and a page that is gone gets nothing.
func TestStack(t *testing.T) {
	one, two, three := sheet("one"), sheet("two"), sheet("three")
	var late tea.Cmd
	one.do["p"] = func() tea.Cmd { return frame.Send(frame.Push{Page: two}) }
	two.do["r"] = func() tea.Cmd { return tea.Sequence(frame.Send("before"), frame.Send(frame.Replace{Page: three})) }
	a := New(one, Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 80, Height: 24})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "p")
	uitest.Has(t, a, "one › two", "Esc back")
	uitest.Fills(t, a, 80, 24)
	late = a.of(two, frame.Send("late"))
	uitest.Drive(t, a, pageMsg{page: two, msg: frame.Replace{Page: three}})
	uitest.Has(t, a, "one › three")
	uitest.Run(t, a, late)
	uitest.Keys(t, a, "esc")
	if got := strings.Join(one.got, ", "); got != "one begins, back" {
		t.Errorf("the first page got %s", got)
	}
	if got := strings.Join(two.got, ", "); got != "two begins" {
		t.Errorf("the second page got %s", got)
	}
	if *two.ended != 1 || *three.ended != 1 || *one.ended != 0 {
		t.Error("not each page that left was closed once")
	}
	two.field = true
	uitest.Keys(t, a, "p", "q", "L", "?")
	if two.text != "qL?" {
		t.Errorf("the field got %q", two.text)
	}
	if c := a.View().Cursor; c == nil || c.X != 1 || c.Y != 3 {
		t.Errorf("the cursor is at %v", c)
	}
}

// Whoever would leave while something runs is asked; Esc leaves all as it is.
func TestLeavingAsks(t *testing.T) {
	one, two := sheet("one"), sheet("two")
	one.busy = true
	one.do["p"] = func() tea.Cmd { return frame.Send(frame.Push{Page: two}) }
	a := New(one, Options{Lang: i18n.English})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "p", "q")
	uitest.Has(t, a, "a  log", "b  quit")
	uitest.Keys(t, a, "esc")
	uitest.Lacks(t, a, "b  quit")
	uitest.Keys(t, a, "q", "a")
	if len(one.got) != 2 || one.got[1] != "stays" || len(two.got) != 1 {
		t.Errorf("the answer went to %v and %v", one.got, two.got)
	}
	uitest.Keys(t, a, "q")
	if _, c := a.Update(uitest.Press("b")); c == nil {
		t.Error("nothing comes of the last choice")
	} else if _, c := a.Update(c()); c == nil || c() != tea.Quit() {
		t.Error("the program does not end")
	}
	if len(a.words) != 1 || !strings.Contains(a.words[0], "one") || !strings.Contains(a.words[0], "eggo-tui attach") {
		t.Errorf("in the terminal is left %q", a.words)
	}
}

// What is typed in a dialog stays there; the word that is asked for must be typed whole.
func TestPrompt(t *testing.T) {
	one := sheet("one")
	var got []string
	one.do["x"] = func() tea.Cmd {
		return frame.Send(frame.Prompt{Title: event.M("ui.help"), Label: event.M("ui.key.open"), Must: "rack-7",
			Word: "ui.key.open", Danger: true, Do: func(s string) tea.Cmd {
				got = append(got, s)
				return nil
			}})
	}
	a := New(one, Options{Lang: i18n.English})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "x")
	uitest.Type(t, a, "rack-")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "The text does not match “rack-7”.")
	uitest.Keys(t, a, "8", "left", "left", "delete", "backspace")
	uitest.Drive(t, a, tea.PasteMsg{Content: "k-\n"})
	uitest.Keys(t, a, "end", "backspace", "7", "enter")
	if len(got) != 1 || got[0] != "rack-7" {
		t.Errorf("it did %q", got)
	}
	uitest.Lacks(t, a, "The text does not match")
}

// The mouse does what the keys do: the footer's words are buttons, the page gets cells of its own.
func TestMouse(t *testing.T) {
	one := sheet("one")
	n := 0
	one.do["x"] = func() tea.Cmd { n++; return nil }
	a := New(one, Options{Lang: i18n.English})
	uitest.Run(t, a, a.Init())
	uitest.Screen(a)
	uitest.Drive(t, a, tea.MouseClickMsg{X: 2, Y: 23, Button: tea.MouseLeft})
	uitest.Drive(t, a, tea.MouseClickMsg{X: 7, Y: 5, Button: tea.MouseLeft})
	if n != 1 || one.click != [2]int{7, 3} {
		t.Errorf("%d, %v", n, one.click)
	}
	uitest.Keys(t, a, "M")
	if a.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is not given back")
	}
}

// What the footer says goes with the page that said it.
func TestANoteGoesWithItsPage(t *testing.T) {
	next := &paper{name: "next"}
	p := &paper{name: "a", ended: new(int), do: map[string]func() tea.Cmd{
		"n": func() tea.Cmd { return frame.Send(frame.Note{Text: "it comes to its end"}) },
	}}
	a := New(p, Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 80, Height: 24})
	uitest.Keys(t, a, "n")
	uitest.Has(t, a, "it comes to its end")
	uitest.Drive(t, a, pageMsg{page: p, msg: frame.Replace{Page: next}})
	uitest.Lacks(t, a, "it comes to its end")
}
