package backend

import (
	"slices"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// MenuEntry is an entry of the menu, on the screen and in the line interface: an operation on clusters.
type MenuEntry struct {
	ID  string                // of its sentences: menu.ID, menu.ID.what
	Of  []request.ClusterRuns // the clusters that allow it; none if it is about no cluster, or not possible
	Why string                // i18n key of the reason why it is not possible now; "": it is
}

// Key returns the key that chooses the entry. The order of the entries depends on the clusters, their keys do not.
func (o MenuEntry) Key() string {
	ids := []string{"runs", "install", "file", "resume", "add", "remove", "upgrade", "cleanup", "status", "bundle"}
	for i, id := range ids {
		if o.ID == id {
			return strconv.Itoa(i)
		}
	}
	switch o.ID {
	case "build":
		return "b"
	case "demo":
		return "d"
	case "upgrade-on":
		return "u"
	case "upgrade-back":
		return "t"
	}
	return "w" // to watch, or decide about, what runs
}

// MenuEntries lists the operations that these clusters allow, in the order of the menu: the likeliest first. Runs that
// wait for a decision come before other runs.
func MenuEntries(clusters []request.ClusterRuns) []MenuEntry {
	with := func(fits func(request.ClusterRuns) bool) []request.ClusterRuns {
		return slices.DeleteFunc(slices.Clone(clusters), func(c request.ClusterRuns) bool { return !fits(c) })
	}
	waiting := func(c request.ClusterRuns) bool { return c.Said() == request.Waiting }
	asks := with(waiting)
	running := append(asks, with(func(c request.ClusterRuns) bool {
		return c.Status == request.Running && !waiting(c)
	})...)
	stopped := with(func(c request.ClusterRuns) bool { // an upgrade is continued first
		return c.Broken() && (!c.Upgrade.Under() || c.Runs[0].Verb == "cleanup")
	})
	still := with(func(c request.ClusterRuns) bool {
		return c.File != "" && c.Status != request.Running && c.Status != request.Removed && c.Status != request.Moved
	})
	begun := slices.DeleteFunc(slices.Clone(still), func(c request.ClusterRuns) bool { return !c.Upgrade.Under() })
	idle := slices.DeleteFunc(slices.Clone(still), func(c request.ClusterRuns) bool { return c.Upgrade.Under() })
	back := slices.DeleteFunc(slices.Clone(begun), func(c request.ClusterRuns) bool { return c.Upgrade.Committed })
	known := with(func(c request.ClusterRuns) bool { return c.File != "" })

	busy, none, ran := "menu.why.no-cluster", "menu.why.none-stopped", ""
	switch {
	case len(running) > 0:
		busy = "menu.why.busy"
	case len(begun) > 0:
		busy = "menu.why.upgrading"
	}
	if slices.ContainsFunc(clusters, func(c request.ClusterRuns) bool {
		return c.File == "" && c.Tried == "" && c.Status == request.Failed
	}) {
		none = "menu.why.not-begun"
	}
	if !slices.ContainsFunc(clusters, func(c request.ClusterRuns) bool { return len(c.Runs) > 0 }) {
		ran = "menu.why.no-run"
	}
	of := func(id string, of []request.ClusterRuns, why string) MenuEntry {
		if len(of) > 0 {
			why = ""
		}
		return MenuEntry{id, of, why}
	}
	resume, status := of("resume", stopped, none), of("status", known, "menu.why.no-cluster")
	all := []MenuEntry{{ID: "install"}, {ID: "file"}, resume, of("add", idle, busy), of("remove", idle, busy),
		of("upgrade", idle, busy), of("cleanup", still, busy), status, {ID: "build"},
		{ID: "bundle"}, {ID: "runs", Why: ran}, {ID: "demo"}}
	if len(begun) > 0 {
		all = append([]MenuEntry{{ID: "upgrade-on", Of: begun}, of("upgrade-back", back, "menu.why.committed")}, all...)
	}
	first := all[0]
	switch {
	case len(asks) > 0:
		first = MenuEntry{ID: "decide", Of: running}
	case len(running) > 0:
		first = MenuEntry{ID: "watch", Of: running}
	case len(begun) > 0:
	case len(stopped) > 0:
		first = resume
	case len(known) > 0:
		first = status
	}
	return append([]MenuEntry{first}, slices.DeleteFunc(all, func(x MenuEntry) bool { return x.ID == first.ID })...)
}
