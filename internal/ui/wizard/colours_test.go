package wizard

import (
	"fmt"
	"image/color"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/ui/uitest"
)

// The steps as each kind of terminal gets them, with escape sequences: cat shows the goldens. The text is the same in
// all of them but for the signs that stand for grey, and without colours there is none.
func TestColourGoldens(t *testing.T) {
	for _, c := range []struct {
		name    string
		profile colorprofile.Profile
		back    color.Color
		has     string
		lacks   []string
	}{
		{"dark", colorprofile.TrueColor, color.Black, "38;2;", []string{"38;5;"}},
		{"light", colorprofile.TrueColor, color.White, "38;2;", []string{"38;5;"}},
		{"16-dark", colorprofile.ANSI, color.Black, "\x1b[9", []string{"38;"}},
		{"16-light", colorprofile.ANSI, color.White, "\x1b[3", []string{"38;"}},
		{"none", colorprofile.ASCII, color.Black, "\x1b[1m", []string{"38;", "\x1b[3", "\x1b[9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, p, _ := open(t, i18n.English, false, 120, 40)
			uitest.Drive(t, a, tea.ColorProfileMsg{Profile: c.profile})
			uitest.Drive(t, a, tea.BackgroundColorMsg{Color: c.back})
			for i, s := range p.steps {
				id := s.id()
				if i > 0 {
					uitest.Keys(t, a, "ctrl+n")
				}
				if id == "nodes" {
					uitest.Type(t, a, "192.168.1.[10-12]")
					uitest.Keys(t, a, "enter", "enter", "home", "down")
				}
				uitest.Fills(t, a, 120, 40)
				uitest.GoldenText(t, a.View().Content+"\n", fmt.Sprintf("colours-%s-%s", id, c.name))
				content := a.View().Content
				if !strings.Contains(content, c.has) {
					t.Errorf("%s has no %q", id, c.has)
				}
				for _, x := range c.lacks {
					if strings.Contains(content, x) {
						t.Errorf("%s has %q", id, x)
					}
				}
				for l := range strings.SplitSeq(content, "\n") { // nothing runs on into the next line
					if at := strings.LastIndex(l, "\x1b["); at >= 0 && !strings.HasPrefix(l[at:], "\x1b[m") {
						t.Errorf("%s: an ink does not end: %q", id, ansi.Strip(l))
					}
				}
			}
		})
	}
}
