package frame_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// table is a dialog of unknown host keys that is driven by keys, and what came of it.
type table struct {
	t      *testing.T
	d      frame.Dialog
	e      *frame.Env
	w, h   int
	seen   string // all that was drawn
	result []bool
	end    string // how it ended; "" while it is open
}

func openTable(t *testing.T, n, w, h int, known func(string, []ask.HostKey) ([]ask.KeyCheck, error),
	change ...func(*frame.AskKeys),
) *table {
	var keys []ask.HostKey
	for i := range n {
		keys = append(keys, ask.HostKey{Node: fmt.Sprintf("node-%d", i+1),
			Addr: fmt.Sprintf("127.0.1.%d:2222", i+1), Type: "ssh-ed25519",
			Fingerprint: fmt.Sprintf("SHA256:%043d", i+1)})
	}
	x := &table{t: t, e: &frame.Env{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}, w: w, h: h}
	m := frame.AskKeys{Title: event.M("ask.title.keys", "count", fmt.Sprint(n)),
		About: event.M("ask.keys"), Done: "ask.keys.go", Leave: "ask.keys.stop", Keys: keys, Known: known,
		Do:     func(trusted []bool) tea.Cmd { x.result, x.end = slices.Clone(trusted), "done"; return nil },
		Refuse: func() tea.Cmd { x.end = "refused"; return nil },
		Cancel: func() tea.Cmd { x.end = "cancelled"; return nil }}
	for _, c := range change {
		c(&m)
	}
	x.d, _ = frame.Open(m)
	x.draw()
	return x
}

func (x *table) draw() string {
	lines, _ := x.d.Render(x.e, x.w, x.h)
	if len(lines) > x.h {
		x.t.Fatalf("%d lines in %d", len(lines), x.h)
	}
	text := ansi.Strip(strings.Join(lines, "\n"))
	x.seen += text
	return text
}

func (x *table) keys(keys ...string) {
	for _, k := range keys {
		if x.end != "" {
			return
		}
		if c, _ := x.d.Key(uitest.Press(k), x.e); c != nil {
			c()
		}
		x.draw()
	}
}

// Machines that show one and the same key are said to, above the keys, where there is room; at each address once.
func TestSameHostKey(t *testing.T) {
	warning := "! 59 machines show the same key: clones of one image, or one machine with several addresses."
	x := openTable(t, 60, 120, 36, nil)
	if strings.Contains(x.seen, "the same key") {
		t.Error("keys that differ are said to be the same")
	}
	one := func(m *frame.AskKeys) {
		for i := range m.Keys {
			m.Keys[i].Fingerprint = m.Keys[0].Fingerprint
		}
		m.Keys[1].Addr = m.Keys[0].Addr
	}
	if x = openTable(t, 60, 120, 36, nil, one); !strings.Contains(x.seen, warning) {
		t.Errorf("it is not said:\n%s", x.seen)
	}
	for _, size := range [][2]int{{80, 20}, {60, 13}, {60, 8}} {
		x = openTable(t, 60, size[0], size[1], nil, one)
		for range 60 {
			x.keys("y")
		}
		if n := len(x.result); n != 60 || slices.Contains(x.result, false) {
			t.Errorf("%v: %d keys were trusted, %s", size, n, x.end)
		}
	}
}

// No key is trusted that was not on the screen, by whatever keys, at whatever size; with y alone all are, once all were
// shown.
func TestNoKeyIsTrustedUnseen(t *testing.T) {
	for _, size := range [][2]int{{80, 20}, {120, 36}, {60, 13}, {200, 56}} {
		for _, keys := range [][]string{{"y"}, {"G", "space", "y"}, {"pgdown", "y", "enter"}, {"end", "y"},
			{"o", "/", "k", "enter", "enter"}} {
			x := openTable(t, 60, size[0], size[1], func(_ string, list []ask.HostKey) ([]ask.KeyCheck, error) {
				return slices.Repeat([]ask.KeyCheck{ask.KeyVerified}, len(list)), nil
			})
			x.keys(keys...)
			for range 200 {
				x.keys(keys[len(keys)-1])
			}
			if x.end != "done" || keys[0] == "y" && slices.Contains(x.result, false) {
				t.Fatalf("%v %v: %s %v", size, keys, x.end, x.result)
			}
			for i := range 60 {
				if x.result[i] && !strings.Contains(x.seen, fmt.Sprintf("SHA256:%043d", i+1)) {
					t.Fatalf("%v %v: key %d is trusted and was never shown", size, keys, i+1)
				}
			}
		}
	}
	x := openTable(t, 60, 80, 20, nil)
	if strings.Contains(x.seen, "60 not shown yet") {
		t.Errorf("what is shown is told to be unseen:\n%s", x.seen)
	}
	x.keys("enter")
	if x.end != "cancelled" {
		t.Errorf("Enter alone: %s", x.end)
	}
}

// Each key is trusted by itself; a file marks those that it has, and what it has otherwise cannot be trusted here.
func TestKeysAreTrustedOneByOne(t *testing.T) {
	x := openTable(t, 4, 120, 30, func(path string, _ []ask.HostKey) ([]ask.KeyCheck, error) {
		if path != "/known" {
			return nil, event.NewFault(event.ClassUsage, "ssh.known-hosts", errors.New("no such file"), "file", path)
		}
		return []ask.KeyCheck{ask.KeyUnlisted, ask.KeyVerified, ask.KeyDiffers, ask.KeyUnlisted},
			nil
	})
	x.keys("o", "/", "x", "enter")
	if text := x.draw(); !strings.Contains(text, "/x") || !strings.Contains(text, "no such file") {
		t.Errorf("the file's fault is not told:\n%s", text)
	}
	x.keys("o", "backspace", "k", "n", "o", "w", "n", "enter")
	text := x.draw()
	if !strings.Contains(text, "1 of 4 trusted") || !strings.Contains(text, "✔ verified") ||
		!strings.Contains(text, "✘ differs from the file") {
		t.Errorf("the file is not told:\n%s", text)
	}
	x.keys("home", "space", "down", "space", "space", "space", "enter")
	if want := []bool{true, true, false, false}; !slices.Equal(x.result, want) {
		x.draw()
		t.Errorf("%v, want %v:\n%s", x.result, want, x.draw())
	}
	x = openTable(t, 4, 120, 30, nil)
	x.keys("n")
	if x.end != "refused" {
		t.Errorf("%s", x.end)
	}
}

// A table of no keys, as a caller's mistake or a list that emptied meanwhile makes one, takes every key and trusts
// nothing.
func TestATableWithoutKeys(t *testing.T) {
	for _, key := range []string{"space", "up", "down", "pgup", "pgdown", "home", "end", "o"} {
		x := openTable(t, 0, 80, 24, nil)
		x.keys(key)
		_, _ = x.d.Click(4, 3)
		x.keys("enter")
		if x.end != "cancelled" {
			t.Errorf("%s: %q", key, x.end)
		}
	}
	x := openTable(t, 0, 80, 24, nil)
	if x.keys("y"); x.end != "cancelled" {
		t.Errorf("y: %q", x.end)
	}
}
