package ui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// atScreen is a page at a terminal, with a question that it can ask.
func atScreen(t *testing.T) (a *App, p *paper, ask frame.Ask, answers *string) {
	t.Helper()
	p = &paper{name: "a", field: true}
	a = New(p, Options{Lang: i18n.English})
	a.terminal = true
	answers = new(string)
	answer := func(what string) func() tea.Cmd { return func() tea.Cmd { *answers += what; return nil } }
	ask = frame.Ask{Title: event.M("wizard.resume.title"), Choices: []frame.Choice{
		{Key: "c", Word: "wizard.resume.go-on", Do: answer("c")},
		{Key: "n", Word: "wizard.resume.new", Do: answer("n")}}}
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 80, Height: 24})
	return a, p, ask, answers
}

// draws lets the time go by in which the dialog is drawn.
func draws(a *App) { a.Update(drawnMsg{a.first().unseen}) }

// answers has the terminal say that it is drawn.
func answers(a *App) {
	a.Update(uv.PrimaryDeviceAttributesEvent{62})
}

// Letters that were typed before a dialog was on the screen go where they were meant to go, and answer nothing.
func TestADialogIsNotAnsweredUnseen(t *testing.T) {
	a, p, ask, got := atScreen(t)
	a.Update(pageMsg{page: p, msg: ask}) // by itself
	uitest.Has(t, a, "Unfinished draft")
	uitest.Type(t, a, "in")
	draws(a)
	uitest.Type(t, a, "c")
	uitest.Drive(t, a, tea.PasteMsg{Content: "one"})
	if *got != "" || p.text != "" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	answers(a)
	if *got != "" || p.text != "inc" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	uitest.Type(t, a, "n") // of somebody who was typing, and has not seen it yet
	draws(a)
	answers(a)
	draws(a)
	answers(a)
	if *got != "" || p.text != "incn" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	uitest.Type(t, a, "n")
	if *got != "n" || a.first() != nil {
		t.Errorf("answered %q", *got)
	}
}

// What a key has opened takes the next key, and a click before it is on the screen is nobody's answer.
func TestWhatAKeyOpensTakesTheNextOne(t *testing.T) {
	a, p, ask, got := atScreen(t)
	p.field, p.do = false, map[string]func() tea.Cmd{"o": func() tea.Cmd { return frame.Send(ask) }}
	uitest.Keys(t, a, "o", "n")
	if *got != "n" {
		t.Errorf("answered %q", *got)
	}
	_, late := a.Update(uitest.Press("o")) // what it leads to comes after another key
	a.Update(uitest.Press("x"))
	a.Update(late())
	a.View()
	a.Update(tea.MouseClickMsg{X: a.box.x + 2, Y: a.box.y + 1, Button: tea.MouseLeft})
	uitest.Type(t, a, "n")
	if *got != "n" {
		t.Errorf("answered %q", *got)
	}
}

// The dialog behind another one is not on the screen before that is answered.
func TestTheNextDialogIsNotAnsweredUnseen(t *testing.T) {
	a, p, ask, got := atScreen(t)
	for range 2 {
		a.Update(pageMsg{page: p, msg: ask})
	}
	draws(a)
	answers(a)
	a.Update(uitest.Press("n"))
	a.Update(uitest.Press("n"))
	if *got != "n" {
		t.Errorf("answered %q", *got)
	}
	draws(a)
	answers(a)
	if p.text != "n" {
		t.Errorf("typed %q", p.text)
	}
}

// A terminal that answers nothing is a script's: what it sends is the answer, at last, and at once the next time.
func TestAMuteTerminalAnswers(t *testing.T) {
	a, p, ask, got := atScreen(t)
	a.Update(pageMsg{page: p, msg: ask})
	draws(a)
	uitest.Type(t, a, "n")
	a.Update(muteMsg{a.first().unseen})
	if *got != "n" {
		t.Errorf("answered %q", *got)
	}
	a.Update(pageMsg{page: p, msg: ask})
	uitest.Type(t, a, "c")
	if *got != "nc" || strings.Contains(uitest.Screen(a), "Unfinished") {
		t.Errorf("answered %q", *got)
	}
}

// A terminal that has answered is slow and not mute: what was typed before it answers again goes to the page, and the
// answers to earlier questions do not count.
func TestASlowTerminalIsNotMute(t *testing.T) {
	a, p, ask, got := atScreen(t)
	raw := 0
	asks := func(c tea.Cmd) {
		if batch, ok := c().(tea.BatchMsg); ok {
			if _, ok := batch[0]().(tea.RawMsg); ok {
				raw++
			}
		}
	}
	a.Init()
	answers(a) // to the question of the beginning
	a.Update(pageMsg{page: p, msg: ask})
	draws(a)
	uitest.Type(t, a, "c")
	for range 2 {
		_, c := a.Update(muteMsg{a.first().unseen})
		if c == nil {
			t.Fatalf("a slow terminal is not asked again; answered %q", *got)
		}
		asks(c)
	}
	if *got != "" || p.text != "" || raw != 2 {
		t.Fatalf("answered %q, typed %q, asked again %d times", *got, p.text, raw)
	}
	answers(a)
	draws(a) // somebody was typing
	uitest.Type(t, a, "n")
	answers(a) // to the second and the third question, before the dialog was drawn again
	answers(a)
	if *got != "" || p.text != "c" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	answers(a)
	draws(a)
	answers(a)
	uitest.Type(t, a, "n")
	if *got != "n" || p.text != "cn" || a.first() != nil {
		t.Errorf("answered %q, typed %q", *got, p.text)
	}
}

// The answer to the question of the beginning says nothing of a dialog that was drawn since, and one that comes too
// late shows that the terminal is one.
func TestALateAnswer(t *testing.T) {
	a, p, ask, got := atScreen(t)
	a.Init()
	a.Update(pageMsg{page: p, msg: ask})
	draws(a)
	uitest.Type(t, a, "n")
	answers(a)
	if *got != "" || p.text != "" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	answers(a)
	if *got != "" || p.text != "n" {
		t.Fatalf("answered %q, typed %q", *got, p.text)
	}
	a, p, ask, got = atScreen(t)
	a.Init()
	a.Update(pageMsg{page: p, msg: ask})
	draws(a)
	a.Update(muteMsg{a.first().unseen})
	uitest.Type(t, a, "n")
	answers(a)
	a.Update(pageMsg{page: p, msg: ask})
	uitest.Type(t, a, "c")
	if *got != "n" {
		t.Errorf("answered %q", *got)
	}
}

// A terminal that answered once and then says nothing more holds nobody: Ctrl-C gets through to the dialog.
func TestCtrlCGetsThroughToADialogThatNobodySees(t *testing.T) {
	a, p, ask, _ := atScreen(t)
	a.Init()
	answers(a)
	a.Update(pageMsg{page: p, msg: ask})
	draws(a)
	stop := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	a.Update(stop)
	if a.first() == nil {
		t.Fatal("it closed a dialog that may be on its way")
	}
	for range stuck {
		a.Update(muteMsg{a.first().unseen})
	}
	a.Update(stop)
	if a.first() != nil {
		t.Error("the dialog cannot be left")
	}
}
