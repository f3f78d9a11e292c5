package logview

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

func lines(n int) backend.LogText {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-11-21T10:00:00.000Z step/n1 stdout| line %d\n", i)
	}
	return backend.LogText(b.String())
}

func view(t *testing.T, l *Log, w, h int) string {
	t.Helper()
	out := l.Render(w, h, "empty")
	if len(out) != h {
		t.Fatalf("%d lines, want %d", len(out), h)
	}
	for _, x := range out {
		if got := ansi.StringWidth(x); got != w {
			t.Fatalf("%d cells, want %d: %q", got, w, x)
		}
	}
	return ansi.Strip(strings.Join(out, "\n"))
}

// far moves as the screen does: what is not held is loaded.
func far(l *Log, src backend.NodeLog, n int) {
	if at := l.Move(n); at >= 0 {
		l.Take(Load(src, at)())
	}
}

func TestALongLogIsWalkedThrough(t *testing.T) {
	src := lines(200_000)
	l := New(theme.New(theme.Options{}))
	view(t, l, 40, 10)
	l.Take(Load(src, -1)())
	if got := view(t, l, 40, 10); !strings.Contains(got, "line 199999") || !strings.Contains(got, "line 199990") {
		t.Errorf("the end is not in sight:\n%s", got)
	}
	if got := l.StepOf(l.Chosen()); got != "step/n1" {
		t.Errorf("the last line is of the step %q", got)
	}
	for range 2000 {
		far(l, src, -9)
	}
	if got := view(t, l, 40, 10); !strings.Contains(got, fmt.Sprintf("line %d ", 199_990-18_000)) {
		t.Errorf("18,000 lines up:\n%s", got)
	}
	l.Follow = false
	l.Take(Load(src, 0)())
	if got := view(t, l, 40, 10); !strings.Contains(got, "line 0 ") || !strings.Contains(got, "line 9 ") {
		t.Errorf("the beginning:\n%s", got)
	}
	for range 2000 {
		far(l, src, 9)
	}
	if got := view(t, l, 40, 10); !strings.Contains(got, "line 18000 ") {
		t.Errorf("18,000 lines down:\n%s", got)
	}
}

func TestFinding(t *testing.T) {
	src := lines(120_000)
	l := New(theme.New(theme.Options{}))
	l.Render(40, 10, "")
	l.Take(Load(src, 0)())
	want := func(s string) func([]byte) bool { return func(b []byte) bool { return bytes.HasSuffix(b, []byte(s)) } }
	for _, tc := range []struct {
		text string
		back bool
		line string
	}{{"line 110000", false, "110000"}, {"line 7", true, "7"}, {"0099", false, "10099"}, {"0099", false, "20099"},
		{"0099", true, "10099"}, {"line 0", true, "0"}} {
		l.Take(Find(src, l.Found(), tc.back, want(tc.text))())
		if got := view(t, l, 40, 10); !strings.Contains(got, "line "+tc.line+" ") {
			t.Errorf("%q, back %v: line %s is not in sight:\n%s", tc.text, tc.back, tc.line, got)
		}
	}
	if c := Find(src, -1, false, want("no such"))(); c.Mark != -1 || c.Data != nil {
		t.Errorf("found what is not there: %+v", c.Mark)
	}
}

func TestTheEndIsFollowed(t *testing.T) {
	l := New(theme.New(theme.Options{}))
	l.Render(40, 3, "")
	for n := range 20 {
		l.Take(Load(lines(n+1), -1)())
		if got := view(t, l, 40, 3); !strings.Contains(got, fmt.Sprintf("line %d ", n)) {
			t.Fatalf("line %d is not in sight:\n%s", n, got)
		}
	}
	far(l, lines(20), -2)
	if l.Follow {
		t.Error("it follows though somebody looks up")
	}
	l.Take(Load(lines(30), l.Top())())
	if got := view(t, l, 40, 3); !strings.Contains(got, "line 15 ") {
		t.Errorf("it moved under the eyes:\n%s", got)
	}
	far(l, lines(30), 1000)
	if !l.Follow {
		t.Error("at the end it does not follow")
	}
}

// What a node prints cannot disturb the screen.
func TestHostileLines(t *testing.T) {
	for name, text := range map[string]string{
		"escape sequences": "\x1b[2J\x1b]0;title\x07\x1b[31mred", "invalid UTF-8": "\xff\xfe\xc3",
		"right to left": "\u202eabc\u2066", "zero width": "a\u200bb\u0301\u0301\u0301",
		"ten megabytes": strings.Repeat("x", 10<<20), "tabs and returns": "a\tb\rc\x00d",
		"wide": strings.Repeat("节", 300), "no line at all": "",
	} {
		t.Run(name, func(t *testing.T) {
			for _, wrap := range []bool{false, true} {
				l := New(theme.New(theme.Options{}))
				l.Wrap, l.Times = wrap, true
				l.Render(33, 7, "")
				l.Take(Load(backend.LogText("2026-11-21T10:00:00.000Z s stderr| "+text+"\nnext\n"), -1)())
				if got := view(t, l, 33, 7); strings.ContainsAny(got, "\x1b\x07\r\x00\u202e") {
					t.Errorf("%q", got)
				}
			}
		})
	}
}

func BenchmarkPageOfAMillionLines(b *testing.B) {
	src := lines(1_000_000)
	l := New(theme.New(theme.Options{}))
	l.Wrap = true
	l.Render(120, 40, "")
	l.Take(Load(src, -1)())
	for b.Loop() {
		far(l, src, -39)
		l.Render(120, 40, "")
		if l.Top() == 0 {
			l.Take(Load(src, -1)())
		}
	}
}
