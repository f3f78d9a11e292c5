package runview

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// all are the messages of a command.
func all(c tea.Cmd) []tea.Msg {
	if c == nil {
		return nil
	}
	switch m := c().(type) {
	case nil:
		return nil
	case tea.BatchMsg:
		var out []tea.Msg
		for _, c := range m {
			out = append(out, all(c)...)
		}
		return out
	default:
		return []tea.Msg{m}
	}
}

// A person who changes deploy.yaml at a failure stays on the board: when what runs has ended, the page that goes on
// takes its place.
func TestAnEditIsGoneOnWith(t *testing.T) {
	e := &frame.Env{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}),
		Now: func() time.Time { return start }}
	for _, again := range []bool{true, false} {
		l := uitest.Log(uitest.Records(1))
		next := New(backend.Board{})
		p := New(backend.Board{Feed: &backend.Live{From: &l}}).
			Again(func() frame.Page { return next }).Still()
		p.Render(e, 100, 30)
		p.Update(newsMsg{list: l[:3]}, e)
		p.Render(e, 100, 30)
		asked := event.StepAsked{Step: "infrastructure.claim/n0", Try: 1,
			Fault: *event.NewFault(event.ClassFailed, "node.command-failed", nil)}
		p.Update(newsMsg{list: []event.Record{{Seq: 4, Time: start, Event: asked}}}, e)
		p.openPanel(e)
		p.Update(doneMsg{what: doneEdit, again: again}, e)
		if said := strings.Contains(p.Aside(e), "deploy.yaml"); said != again || p.panel.on == again ||
			len(p.open()) == 0 != again {
			t.Errorf("again %v: %q, panel %v, %d questions", again, p.Aside(e), p.panel.on, len(p.open()))
		}
		replaced := false
		for _, m := range all(p.Look()) {
			for _, m := range all(p.Update(m, e)) {
				r, is := m.(frame.Replace)
				replaced = replaced || is && r.Page == frame.Page(next)
			}
		}
		for _, m := range all(p.Look()) { // the end is told once
			for _, m := range all(p.Update(m, e)) {
				if _, is := m.(frame.Replace); is && !replaced {
					replaced = true
				}
			}
		}
		if replaced != again || p.sum.on == again {
			t.Errorf("again %v: replaced %v, summary %v", again, replaced, p.sum.on)
		}
	}
}

// What is wrong with what was written is told with its place, in the person's language, and leads back to the editor.
func TestAWrongEditIsTold(t *testing.T) {
	for lang, want := range map[i18n.Lang][]string{i18n.English: {"Line 24, network.podcidr", "10.344.0.0/16",
		"and 2 more errors"}, i18n.Chinese: {"第 24 行，network.podcidr", "10.344.0.0/16", "另有 2 处错误"}} {
		e := &frame.Env{P: i18n.NewPrinter(lang), Theme: theme.New(theme.Options{}),
			Now: func() time.Time { return start }}
		p := New(backend.Board{}).Still()
		err := &backend.WrongEdit{Line: 24, Key: "network.podcidr", More: 2,
			Fault: event.NewFault(event.ClassUsage, "config.cidr", nil, "value", "10.344.0.0/16")}
		for _, m := range all(p.Update(doneMsg{what: doneEdit, err: err}, e)) {
			ask, is := m.(frame.Ask)
			if !is || ask.Choices[0].Key != "e" {
				t.Fatalf("%#v", m)
			}
			text := strings.Join(ask.Body(e, 60), "\n")
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s: %q is not in\n%s", lang, w, text)
				}
			}
		}
	}
}

// An editor that fails changes nothing, and it is said with its exit code; one that ends well has what was written
// taken.
func TestAnEditorThatFails(t *testing.T) {
	taken := 0
	after := func() (bool, error) { taken++; return true, nil }
	m, _ := edited(after)(exec.Command("sh", "-c", "exit 3").Run()).(doneMsg)
	if f := event.AsFault(m.err); f == nil || f.Code != "edit.editor" || f.Args["status"] != "3" || m.again ||
		taken > 0 {
		t.Errorf("%+v, taken %d times", m, taken)
	}
	if m, _ := edited(after)(errors.New("it did not start")).(doneMsg); m.err == nil || m.again || taken > 0 {
		t.Errorf("%+v, taken %d times", m, taken)
	}
	if m, _ := edited(after)(nil).(doneMsg); m.err != nil || !m.again || taken != 1 {
		t.Errorf("%+v, taken %d times", m, taken)
	}
}
