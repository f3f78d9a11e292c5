package frame

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// The list of keys has a column for each group where there is room, and is one column else; each key is in it once, and
// those that do the same are together.
func TestTheHelpIsInColumns(t *testing.T) {
	list := []Binding{{Keys: []string{"up"}, Show: "↑ ↓", Word: "ui.key.move"}, {Keys: []string{"k"}, Help: true},
		{Keys: []string{"f"}, Word: "ui.key.filter"}, {Keys: []string{"j"}, Word: "ui.key.move", Help: true},
		{Keys: []string{"w"}, Word: "ui.edit.words", Group: OfFields},
		{Keys: []string{"q"}, Word: "ui.key.quit", Group: OfAll}}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		e := &Env{P: i18n.NewPrinter(lang), Theme: theme.New(theme.Options{})}
		for _, c := range []struct{ w, h, lines int }{{100, 10, 2}, {100, 1, 1}, {50, 10, 2}, {40, 10, 4},
			{20, 10, 4}, {8, 2, 4}} {
			got := Help(e, list, c.w, c.h)
			text := ansi.Strip(strings.Join(got, "\n"))
			if c.w > 8 && len(got) > c.lines && c.h > 1 {
				t.Errorf("%s, %+v: %d lines\n%s", lang, c, len(got), text)
			}
			for _, word := range []string{"ui.key.move", "ui.key.filter", "ui.edit.words", "ui.key.quit"} {
				if n := strings.Count(text, e.P.T(word)); n != 1 {
					t.Errorf("%s, %+v: %q is there %d times\n%s", lang, c, e.P.T(word), n, text)
				}
			}
			if !strings.Contains(text, "↑ ↓ j  "+e.P.T("ui.key.move")) {
				t.Errorf("keys that do the same are not together:\n%s", text)
			}
			for _, l := range got {
				if c.w >= 40 && widget.Width(l) > c.w {
					t.Errorf("%s, %+v: %d cells: %s", lang, c, widget.Width(l), fmt.Sprintf("%q", l))
				}
			}
		}
	}
}
