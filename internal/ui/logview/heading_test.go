package logview

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// Above the lines that a step printed together stands its title; the line that is chosen is in sight in spite of it,
// and a click goes to the line, not to the heading.
func TestEachStepHasAHeading(t *testing.T) {
	var b strings.Builder
	for _, l := range []string{"a one", "a two", "b three", "b four", "a five", "c six"} {
		step, text, _ := strings.Cut(l, " ")
		b.WriteString("2026-11-21T02:00:00.000Z " + step + " stdout| " + text + "\n")
	}
	src := backend.LogText(b.String())
	l := New(theme.New(theme.Options{ASCII: true}))
	l.Heading = func(step string) string { return "step " + step }
	l.Take(Load(src, -1)())
	lines := func(h int) string {
		out := l.Render(16, h, "")
		for i := range out {
			out[i] = strings.TrimSpace(strings.Trim(ansi.Strip(out[i]), " -"))
		}
		return strings.Join(out, "|")
	}
	want := "step a|one|two|step b|three|four|step a|five|step c|six"
	if got := lines(10); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := lines(4); got != "step a|five|step c|six" {
		t.Errorf("following: %s", got)
	}
	lines(3)
	for range 6 {
		l.Choose(-1)
		if got := lines(3); !strings.Contains(got, ">") {
			t.Errorf("the chosen line is not in sight: %s", got)
		}
	}
	for range 6 {
		l.Choose(1)
		if got := lines(3); !strings.Contains(got, ">") {
			t.Errorf("the chosen line is not in sight: %s", got)
		}
	}
	l.Take(Find(src, -1, false, Printed("b"))())
	lines(10)
	if got := l.Text(l.Chosen()); got != "three" {
		t.Errorf("the first line of the step is %q", got)
	}
	if c := Find(src, -1, false, Printed("none"))(); c.Mark >= 0 {
		t.Error("a step that printed nothing is found")
	}
}

// Who follows a log sees its end, also where the lines before it take several rows.
func TestFollowingShowsTheEnd(t *testing.T) {
	src := backend.LogText(strings.Repeat(strings.Repeat("word ", 30)+"\n", 20) + "the end\n")
	l := New(theme.New(theme.Options{}))
	l.Wrap = true
	l.Take(Load(src, -1)())
	if got := strings.Join(l.Render(40, 10, ""), "\n"); !strings.Contains(got, "the end") {
		t.Errorf("its end is not in sight:\n%s", ansi.Strip(got))
	}
}
