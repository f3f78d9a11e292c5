package runview_test

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
)

// TestColourGoldens: the board, the panel of a failure, the timeline and the log as each kind of terminal gets them.
func TestColourGoldens(t *testing.T) {
	for name, keys := range map[string][]string{"panel": {}, "board": {"esc"}, "timeline": {"esc", "enter"},
		"log": {"esc", "o", "t", "up", "up"}} {
		for _, p := range uitest.Palettes() {
			t.Run(name+"-"+p.Name, func(t *testing.T) {
				s := begin(t, func(_ *stand, o *backend.Board) { o.NodeLog = installing })
				s.app = ui.New(s.page, ui.Options{Lang: i18n.English, Now: s.app.Env().Now})
				s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 120, Height: 40} })
				p.Begin(t, s.app)
				s.happens(asks("n2", 1))
				for _, k := range keys {
					s.keys(k)
					uitest.Screen(s.app)
				}
				uitest.Fills(t, s.app, 120, 40)
				p.Golden(t, s.app, name)
			})
		}
	}
}
