package runview_test

import (
	"flag"
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/uitest"
)

var _ = flag.Bool("update", false, "write the goldens")

// The screens of a run as a person meets them, footer and all: a machine's log, the question when one leaves, the panel.
func TestScreens(t *testing.T) {
	for name, keys := range map[string][]string{"log": {"esc", "enter", "t", "up"}, "leaving": {"esc", "q"}, "panel": {}, "filter": {"esc", "/", "n", "2"}, "help": {"esc", "?"}} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
				for _, ascii := range []bool{false, true} {
					glyphs := "unicode"
					if ascii {
						glyphs = "ascii"
					}
					file := fmt.Sprintf("%s-%dx%d-%s-%s", name, size[0], size[1], lang, glyphs)
					t.Run(file, func(t *testing.T) {
						s := begin(t, nil)
						s.app = ui.New(s.page, ui.Options{Lang: lang, ASCII: ascii, Now: s.app.Env().Now})
						s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: size[0], Height: size[1]} })
						s.happens(asks("n2", 1))
						s.keys(keys...)
						uitest.Fills(t, s.app, size[0], size[1])
						uitest.Golden(t, s.app, file)
					})
				}
			}
		}
	}
}
