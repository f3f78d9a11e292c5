package board

import (
	"fmt"
	"testing"

	"charm.land/bubbles/v2/table"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// Why rows are drawn by code of our own: a hundred machines that change ten times a second, on a screen of 200×60.
// bubbles/table styles every cell of every row when the rows are set, seen or not (decision 27).
func BenchmarkRows(b *testing.B) {
	s, now := story(100)
	x := &Board{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{Dark: true})}
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			x.rows(s, now, x.views(s, now), 200, 55)
		}
	})
	b.Run("bubbles", func(b *testing.B) {
		t := table.New(table.WithHeight(55), table.WithWidth(200), table.WithColumns([]table.Column{
			{Title: "", Width: 1}, {Title: "name", Width: 20}, {Title: "roles", Width: 20}, {Title: "state", Width: 9},
			{Title: "steps", Width: 9}, {Title: "what", Width: 100}}))
		for b.Loop() {
			var rows []table.Row
			for _, v := range x.views(s, now) {
				rows = append(rows, table.Row{v.glyph, x.name(v.host), x.roles(v.host, 20), v.word,
					fmt.Sprint(v.host.Ended, "/", v.host.Total), event.Clean(x.doing(v))})
			}
			t.SetRows(rows)
			_ = t.View()
		}
	})
}
