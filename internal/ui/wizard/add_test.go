package wizard

import (
	"context"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// openAdd opens the page that adds nodes to a cluster of one machine.
func openAdd(t *testing.T, w *world, lang i18n.Lang) (*ui.App, *Page) {
	t.Helper()
	d := config.Draft{KeepSecrets: true,
		Machines: []config.Machine{{Name: "m1", IP: "10.0.0.1",
			Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "password": "geheim",
		"package-src.x86src": "/srv/x.tar.gz"})
	p := NewAdd(context.Background(), w.services(), d, "/state/deploy.yaml")
	a := ui.New(p, ui.Options{Lang: lang})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 30})
	uitest.Run(t, a, a.Init())
	return a, p
}

// What was typed for machines that have not joined outlives the terminal: machines of the table, and a line that
// was not taken. Nothing else of the cluster is in that draft.
func TestNodesToAddOutliveTheTerminal(t *testing.T) {
	for lang, title := range map[i18n.Lang]string{i18n.English: "Unfinished draft", i18n.Chinese: "未完成的草稿"} {
		w := &world{files: map[string]string{}, written: map[string]config.Draft{}}
		a, p := openAdd(t, w, lang)
		p.Close()
		if w.has {
			t.Error("nothing was typed, and something is kept")
		}
		uitest.Type(t, a, "web-1 10.0.0.20")
		uitest.Keys(t, a, "enter")
		uitest.Type(t, a, "web-2 10.0.0.")
		if s := w.saved; len(s.Draft.Machines) != 1 || s.Draft.Count() > 0 ||
			s.Typed["machine"] != "web-2 10.0.0." {
			t.Fatalf("%+v", s)
		}
		a, p = openAdd(t, w, lang)
		uitest.Has(t, a, title, "prod")
		uitest.Keys(t, a, "c")
		uitest.Has(t, a, "m1", "web-1", "web-2 10.0.0.")
		if len(p.g.Draft.Machines) != 2 || p.g.Draft.Value("password") != "geheim" {
			t.Errorf("%+v", p.g.Draft)
		}
		uitest.Type(t, a, "21")
		uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "enter", "y")
		if w.has {
			t.Error("machines that join are offered again")
		}
		w.saved, w.has = draft.Saved{Draft: config.Draft{Machines: p.g.Draft.Machines[:1]}}, true
		a, _ = openAdd(t, w, lang)
		uitest.Lacks(t, a, title)
	}
}

// What is pasted while the draft is offered is not there twice when the draft is taken.
func TestNodesPastedWhileTheDraftIsOffered(t *testing.T) {
	w := &world{files: map[string]string{}, written: map[string]config.Draft{}, has: true}
	w.saved = draft.Saved{Draft: config.Draft{Machines: []config.Machine{
		{Name: "web-1", IP: "10.0.0.20", Roles: []bundle.Role{bundle.Worker}},
		{Name: "web-2", IP: "10.0.0.21", Port: "22", Roles: []bundle.Role{bundle.Worker}},
		{Name: "web-3", IP: "10.0.0.21", Port: "2222", Roles: []bundle.Role{bundle.Worker}},
		{Name: "web-5", IP: "10.0.0.22", Roles: []bundle.Role{bundle.Worker}}}}}
	a, p := openAdd(t, w, i18n.English)
	uitest.Run(t, a, p.Paste("web-1 10.0.0.20\nweb-2 10.0.0.21\nweb-4 10.0.0.22:2222\n",
		&frame.Env{P: i18n.NewPrinter(i18n.English)}))
	uitest.Keys(t, a, "c")
	var names []string
	for _, m := range p.g.Draft.Machines {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"m1", "web-1", "web-2", "web-4", "web-3", "web-5"}) {
		t.Errorf("%q", names)
	}
}
