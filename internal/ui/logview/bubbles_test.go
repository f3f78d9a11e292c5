package logview

import (
	"fmt"
	"strings"
	"testing"

	"charm.land/bubbles/v2/viewport"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// Why a log is shown by code of our own: 100,000 lines, to which one is added and of which the end is drawn, wrapped,
// on a screen of 200×60. bubbles/viewport holds and measures all of them (decision 27).
func BenchmarkGrowingLog(b *testing.B) {
	var all []string
	for i := range 100_000 {
		all = append(all,
			fmt.Sprintf("2026-11-21T10:00:00.000Z packages/n1 stdout| Setting up something-%d ... 正在设置", i))
	}
	b.Run("own", func(b *testing.B) {
		src := backend.LogText(strings.Join(all, "\n") + "\n")
		l := New(theme.New(theme.Options{Dark: true}))
		l.Wrap = true
		for b.Loop() {
			l.Take(Load(src, -1)())
			l.Render(200, 60, "")
		}
	})
	b.Run("bubbles", func(b *testing.B) {
		v := viewport.New(viewport.WithWidth(200), viewport.WithHeight(60))
		v.SoftWrap = true
		for b.Loop() {
			v.SetContentLines(all)
			v.GotoBottom()
			_ = v.View()
		}
	})
}
