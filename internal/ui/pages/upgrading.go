package pages

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// newUpgradeCheck shows in which order what happens, and what a dry run finds; from there the upgrade begins.
func newUpgradeCheck(d *Deps, c request.ClusterRuns, w backend.Way, q request.Upgrade) *Tell {
	page := NewTell(d, "file.plan", c.Name, backend.Plan{Request: q})
	page.wrap = true
	page.above = func(e *frame.Env, wide int) []string { return ahead(e, c, w, q, wide) }
	page.then("upgrade.do", sureUpgrade(d, c, "upgrade.do", w.Sure(c), backend.Start{Request: q}))
	return page
}

// NewUpgradeOn continues the upgrade of a cluster that is under way.
func NewUpgradeOn(d *Deps, c request.ClusterRuns) *Tell {
	return newUpgrading(d, c, "upgrade-on", "upgrade.on", c.Upgrade.OnSays(), backend.UpgradeOn(c))
}

// NewUpgradeBack reverts the upgrade of a cluster that is under way.
func NewUpgradeBack(d *Deps, c request.ClusterRuns) *Tell {
	return newUpgrading(d, c, "upgrade-back", "upgrade.undo", c.Upgrade.BackSays(), backend.UpgradeBack(c))
}

func newUpgrading(d *Deps, c request.ClusterRuns, id, do string, lines []event.Msg, start backend.Start) *Tell {
	page := NewTell(d, "menu."+id, c.Name, backend.Plan{Request: start.Request})
	page.above = func(e *frame.Env, w int) []string {
		var out []string
		for _, m := range lines {
			out = append(out, wrapped(e.Theme.Text, e.P.Msg(m), w)...)
		}
		return append(out, "")
	}
	page.then(do, sureUpgrade(d, c, do, lines, start))
	page.wrap, page.even = true, true // a node that does not answer may be why the upgrade stopped
	return page
}

// sureUpgrade asks whether the run is to begin.
func sureUpgrade(d *Deps, c request.ClusterRuns, do string, lines []event.Msg, start backend.Start) func() tea.Cmd {
	return func() tea.Cmd {
		return frame.Send(frame.Ask{
			Title: event.M(do+".title", "cluster", c.Name), Lines: lines,
			Choices: []frame.Choice{
				{Key: "y", Word: do, Do: func() tea.Cmd {
					return frame.Send(frame.Replace{Page: NewLaunch(d, start)})
				}},
				{Key: "n", Word: "ui.ask.cancel"},
			},
		})
	}
}

// ahead says in which order an upgrade does what, and how long there is a way back.
func ahead(e *frame.Env, c request.ClusterRuns, w backend.Way, q request.Upgrade, wide int) []string {
	t := e.Theme
	out := []string{t.Strong.Render(e.P.T("upgrade.order"))}
	for i, m := range w.Order(c, q) {
		for j, l := range wrapped(t.Text, e.P.Msg(m), wide-4) {
			head := "    "
			if j == 0 {
				head = t.Key.Render(fmt.Sprintf("%2d", i+1)) + "  "
			}
			out = append(out, head+l)
		}
	}
	out = append(out, "", t.Strong.Render(e.P.T("upgrade.back")))
	for _, m := range w.WayBack() {
		out = append(out, indent(wrapped(t.Text, e.P.Msg(m), wide-4), 4)...)
	}
	return append(out, "")
}
