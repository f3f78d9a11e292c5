package ui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// What is longer than the screen scrolls, and nothing of it is agreed to unread.
func TestNothingIsAgreedToUnread(t *testing.T) {
	for _, lines := range []int{3, 60} {
		agreed := 0
		p := &paper{name: "a"}
		p.do = map[string]func() tea.Cmd{"o": func() tea.Cmd {
			return frame.Send(frame.Ask{Title: event.M("ask.title.keys", "count", "1"), Whole: true,
				Body: func(*frame.Env, int) []string {
					var out []string
					for i := range lines {
						out = append(out, fmt.Sprintf("key %d;", i))
					}
					return out
				}, Choices: []frame.Choice{{Key: "n", Word: "ask.keys.none"},
					{Key: "y", Word: "ask.keys.all", Do: func() tea.Cmd { agreed++; return nil }}}})
		}}
		a := New(p, Options{Lang: i18n.English})
		uitest.Drive(t, a, tea.WindowSizeMsg{Width: 80, Height: 24})
		uitest.Keys(t, a, "o")
		seen := uitest.Screen(a)
		for range 20 {
			if agreed > 0 {
				break
			}
			uitest.Keys(t, a, "y")
			uitest.Fills(t, a, 80, 24)
			seen += uitest.Screen(a)
		}
		if agreed != 1 {
			t.Fatalf("%d lines: agreed %d times", lines, agreed)
		}
		for i := range lines {
			if !strings.Contains(seen, fmt.Sprintf("key %d;", i)) {
				t.Errorf("%d lines: line %d was never in sight", lines, i)
			}
		}
		uitest.Keys(t, a, "o", "n")
		uitest.Lacks(t, a, "key 0")
	}
}

// While a dialog is open the footer has its keys and none of the page's: the same key does another thing there.
func TestTheFooterIsTheDialogs(t *testing.T) {
	for name, open := range map[string]tea.Msg{
		"ask": frame.Ask{Title: event.M("ask.title.keys", "count", "1"), Choices: []frame.Choice{
			{Key: "y", Word: "ask.keys.all"}, {Key: "n", Word: "ask.keys.none"}}},
		"prompt": frame.Prompt{Title: event.M("ask.title.keys", "count", "1"), Word: "ui.key.open"},
	} {
		a := New(&paper{name: "a", do: map[string]func() tea.Cmd{"o": func() tea.Cmd { return frame.Send(open) }}},
			Options{Lang: i18n.English})
		uitest.Drive(t, a, tea.WindowSizeMsg{Width: 80, Height: 24})
		foot := func() string {
			lines := strings.Split(uitest.Screen(a), "\n")
			return strings.TrimSpace(lines[len(lines)-1])
		}
		page := foot()
		uitest.Keys(t, a, "o")
		want := map[string]string{"ask": "y trust all shown   n trust none   Enter choose   Esc cancel"}[name]
		if got := foot(); got != want {
			t.Errorf("%s: the footer is %q, want %q", name, got, want)
		}
		uitest.Keys(t, a, "esc")
		if got := foot(); got != page || !strings.Contains(got, "help") {
			t.Errorf("%s: the page's footer is %q, was %q", name, got, page)
		}
	}
}

// However narrow the screen, its footer says how to find the other keys.
func TestTheFooterKeepsTheHelp(t *testing.T) {
	var list []frame.Binding
	for i := range 20 {
		list = append(list, frame.Binding{Keys: []string{fmt.Sprint(i)}, Word: "ui.key.support"})
	}
	list = append(list, frame.Binding{Keys: []string{"?"}, Word: "ui.key.help", Keep: true},
		frame.Binding{Keys: []string{"q"}, Word: "ui.key.quit"})
	a := New(&paper{name: "a"}, Options{Lang: i18n.English})
	for w := frame.MinWidth; w < 400; w += 7 {
		text, spots := frame.Footer(a.Env(), list, w)
		if n := ansi.StringWidth(text); n > w || !strings.Contains(text, "help") {
			t.Errorf("%d cells of %d: %s", n, w, ansi.Strip(text))
		}
		for _, s := range spots {
			if s.To > w {
				t.Errorf("%s ends at %d of %d", s.Binding.Keys, s.To, w)
			}
		}
	}
}

// keeper is a page with a key of its own that is always shown, as those of the wizard.
type keeper struct{ paper }

func (k *keeper) Keys(e *frame.Env) []frame.Binding {
	return append(k.paper.Keys(e), frame.Binding{Keys: []string{"esc"}, Show: "Esc", Word: "ui.key.back", Keep: true})
}

// A note in the footer never touches the keys, however long it is: what is always shown has its place, and a gap.
func TestFooter_NotesKeepTheirDistance(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for _, n := range []int{1, 20, 50, 200} {
			for _, w := range []int{80, 81, 120} {
				a := New(&keeper{paper{name: "a", do: map[string]func() tea.Cmd{"n": func() tea.Cmd {
					return frame.Send(frame.Note{Text: strings.Repeat("N", n)})
				}}}}, Options{Lang: lang})
				uitest.Drive(t, a, tea.WindowSizeMsg{Width: w, Height: 24})
				uitest.Keys(t, a, "n")
				lines := strings.Split(uitest.Screen(a), "\n")
				foot := lines[len(lines)-1]
				keys, note, is := strings.Cut(foot, "  N")
				help := a.Env().P.T("ui.key.help")
				if !is || !strings.Contains(keys, "? "+help) || note == "" && n > 1 {
					t.Errorf("%s, %d cells, a note of %d: %q", lang, w, n, foot)
				}
			}
		}
	}
}

// Without colours none is written, and what is chosen is told by more than one.
func TestWithoutColours(t *testing.T) {
	a := New(watch(t, 3).stack[0], Options{Lang: i18n.English, Mono: true})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 30})
	for _, code := range []string{"[38", ";38", "[3", "[4", "[9"} {
		if strings.Contains(a.View().Content, "\x1b"+code) {
			t.Errorf("%q is written", code)
		}
	}
	before := uitest.Screen(a)
	uitest.Keys(t, a, "right")
	if uitest.Screen(a) == before {
		t.Error("which machine is chosen is told by colour alone")
	}
}
