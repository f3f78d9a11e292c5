package wizard

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// Terminals send CR between pasted lines, files have LF or both: a list of machines is a list of machines, wherever it
// is dropped.
func TestAPastedListIsAList(t *testing.T) {
	for _, end := range []string{"\r", "\n", "\r\n"} {
		for _, last := range []string{"", end} {
			for _, half := range []string{"", "192.168.0.15 "} {
				a, p, _ := open(t, i18n.English, false, 100, 30)
				uitest.Keys(t, a, "ctrl+n", "ctrl+n")
				uitest.Type(t, a, half)
				uitest.Drive(t, a, tea.PasteMsg{Content: strings.TrimPrefix(strings.Join([]string{"192.168.0.15 master",
					"192.168.0.16", "w3 192.168.0.17"}, end), half) + last})
				if got := fmt.Sprint(len(p.g.Draft.Machines), p.g.Draft.Machines); len(p.g.Draft.Machines) != 3 {
					t.Errorf("%q, after %q: %s\n%s", end, half, got, uitest.Screen(a))
				}
			}
		}
	}
}

// A block that is being typed gets a line a line; a field of one line gets blanks, and nothing is lost.
func TestPastedLinesStandInFields(t *testing.T) {
	for _, end := range []string{"\r", "\n", "\r\n"} {
		a, p, _ := open(t, i18n.English, false, 100, 30)
		uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+v")
		uitest.Drive(t, a, tea.PasteMsg{Content: "one" + end + "two" + end + "three"})
		if got := p.steps[p.g.At].(*nodes).area.Value(); got != "one\ntwo\nthree" {
			t.Errorf("%q in a block: %q", end, got)
		}
		a, p, _ = open(t, i18n.English, false, 100, 30)
		before := p.g.Draft.Value("cluster-id")
		uitest.Drive(t, a, tea.PasteMsg{Content: "-a" + end + "b" + end})
		if got := p.g.Draft.Value("cluster-id"); got != before+"-a b" {
			t.Errorf("%q in a field: %q", end, got)
		}
	}
}
