package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// upgraded is an upgrade over two versions, after so many seconds.
func upgraded(seconds int) (*state.State, time.Time) {
	s := state.New()
	for _, r := range uitest.Upgrade(seconds) {
		s.Apply(r)
	}
	return s, uitest.Start.Add(time.Duration(seconds) * time.Second)
}

// An upgrade has far more phases than there is room for, and a step that only lasts: the board shows it at every size.
func TestGoldensOfAnUpgrade(t *testing.T) {
	for name, seconds := range map[string]int{"soak": 400, "nodes": 980, "reverted": 5000} {
		for _, shape := range uitest.Crossed() {
			file := fmt.Sprintf("upgrade-%s-%s", name, shape)
			t.Run(file, func(t *testing.T) {
				s, now := upgraded(seconds)
				b := &Board{P: i18n.NewPrinter(shape.Lang),
					Theme: theme.New(theme.Options{Dark: true, ASCII: shape.ASCII})}
				lines := b.Render(s, now, shape.W, shape.H)
				fills(t, lines, shape.W, shape.H)
				uitest.GoldenText(t, ansi.Strip(strings.Join(lines, "\n"))+"\n", file)
			})
		}
	}
}

// The summary says which control plane was reverted, and the timeline of the control host how far the soak is.
func TestEndAndTimelineOfAnUpgrade(t *testing.T) {
	for _, shape := range uitest.Crossed() {
		p := i18n.NewPrinter(shape.Lang)
		look := theme.New(theme.Options{Dark: true, ASCII: shape.ASCII})
		s, _ := upgraded(5000)
		end := Summary{P: p, Theme: look}.Screen(s, shape.W, shape.H)
		uitest.GoldenText(t, ansi.Strip(strings.Join(end, "\n"))+"\n", "upgrade-end-"+shape.String())
		s, now := upgraded(400)
		b := &Board{P: p, Theme: look}
		lines := b.Timeline(&Timeline{}, s, now, shape.W, shape.H)
		fills(t, lines, shape.W, shape.H)
		uitest.GoldenText(t, ansi.Strip(strings.Join(lines, "\n"))+"\n", "upgrade-timeline-"+shape.String())
	}
}
