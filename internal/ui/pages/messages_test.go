package pages

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// A line that is good or bad as a whole has a sign before it, which takes room like its words do.
func TestALineWithASignFits(t *testing.T) {
	for _, wrap := range []bool{true, false} {
		p := NewTell(&Deps{}, "menu.status", "c", nil)
		p.wrap = wrap
		// all of it has room, but for the sign
		p.lines = document.Document{{Lines: []document.Cell{
			{Text: strings.Repeat("word ", 7) + "w", Emphasis: document.Bad},
			{Text: strings.Repeat("word ", 15) + "last", Emphasis: document.Good}}}}.Lines()
		const w = 40
		e := &frame.Env{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{})}
		rows, _ := p.Render(e, w, 20)
		for _, r := range rows {
			if widget.Width(r) > w-1 {
				t.Errorf("wrap %v: %d cells, more than %d: %q", wrap, widget.Width(r), w-1, r)
			}
		}
		if wrap {
			if text := strings.Join(rows, "\n"); strings.Count(text, "word") != 22 || !strings.Contains(text, "last") {
				t.Errorf("words are missing: %s", text)
			}
			continue
		}
		p.shift(1 << 20)()
		rows, _ = p.Render(e, w, 20)
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.HasSuffix(ansi.Strip(r), "word last") }) {
			t.Errorf("the end of the longest line cannot be reached: %q", rows)
		}
	}
}
