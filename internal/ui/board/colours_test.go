package board

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// The board as terminals of 16 and of 256 colours get it, with its escape sequences: cat shows the goldens. A healthy
// install is not red.
func TestColourGoldens(t *testing.T) {
	for kind, c := range map[string]theme.Colours{"16": theme.Sixteen, "256": theme.Hundreds} {
		for _, dark := range []bool{true, false} {
			name := fmt.Sprintf("colours-%s-%s", kind, map[bool]string{true: "dark", false: "light"}[dark])
			t.Run(name, func(t *testing.T) {
				s, now := story(3)
				b := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{Dark: dark, Colours: c}),
					Cursor: 1}
				lines := b.Render(s, now, 80, 24)
				fills(t, lines, 80, 24)
				uitest.GoldenText(t, strings.Join(lines, "\n")+"\n", name)
				for _, l := range lines[:4] {
					// the head, the bar and the phases of a run in which one node has failed, and nothing else
					for _, red := range []string{"\x1b[31m", "\x1b[91m", "\x1b[1;31m", "\x1b[1;91m", "38;5;210m",
						"38;5;124m"} {
						if strings.Contains(l, red) && !strings.Contains(l, "failed") {
							t.Errorf("red without a failure: %q", l)
						}
					}
				}
			})
		}
	}
}
