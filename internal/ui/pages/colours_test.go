package pages

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// TestColourGoldens: pages as each kind of terminal gets them.
func TestColourGoldens(t *testing.T) {
	c := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "rack-7", Status: request.Installed, Masters: 3,
		Workers: 5,
		File:    "/var/lib/eggo/rack-7/deploy.yaml"},
		Nodes: nodes(8)}
	w := &world{clusters: clusters(), nodes: 8}
	for name, x := range map[string]struct {
		page func() frame.Page
		keys []string
	}{
		"menu":   {func() frame.Page { return NewMenu(w.deps()) }, nil},
		"runs":   {func() frame.Page { return NewRuns(w.deps(), "") }, []string{"down"}},
		"bundle": {func() frame.Page { return NewLook(w.deps(), "/srv/eggo/eggo-1.34-amd64.tar.gz") }, nil},
		"review": {func() frame.Page { return NewReview(w.deps(), "/srv/eggo/bad.yaml") }, nil},
		"status": {func() frame.Page {
			return NewTell(w.deps(), "menu.status", "rack-7", backend.Status{Common: request.OfCluster("rack-7")})
		}, nil},
		"remove":  {func() frame.Page { return NewRemove(w.deps(), c) }, []string{"space", "down", "space"}},
		"cleanup": {func() frame.Page { return NewCleanup(w.deps(), c) }, []string{"enter"}},
		"upgrade": {func() frame.Page { return NewUpgrade(w.deps(), c) }, []string{"space", "down", "space", "down",
			"down", "down"}},
		"help": {func() frame.Page { return NewRuns(w.deps(), "") }, []string{"?"}},
	} {
		for _, p := range uitest.Palettes() {
			t.Run(name+"-"+p.Name, func(t *testing.T) {
				a := begin(t, x.page(), i18n.English, false, 120, 40)
				p.Begin(t, a)
				uitest.Keys(t, a, x.keys...)
				uitest.Fills(t, a, 120, 40)
				p.Golden(t, a, name)
			})
		}
	}
}
