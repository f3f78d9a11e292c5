package wizard

import (
	"context"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// builder stands for the page that builds bundles: Enter has built one.
type builder struct {
	*Page
	use func(files []string)
}

func (b *builder) Init(*frame.Env) tea.Cmd                          { return nil }
func (b *builder) Update(tea.Msg, *frame.Env) tea.Cmd               { return nil }
func (b *builder) Type(tea.KeyPressMsg, *frame.Env) (tea.Cmd, bool) { return nil, false }
func (b *builder) Typing() bool                                     { return false }
func (b *builder) Aside(*frame.Env) string                          { return "" }
func (b *builder) Close()                                           {}
func (b *builder) Render(*frame.Env, int, int) ([]string, *tea.Cursor) {
	return []string{"building"}, nil
}
func (b *builder) Title(*frame.Env) string { return "" }

func (b *builder) Keys(*frame.Env) []frame.Binding {
	return []frame.Binding{{Keys: []string{"enter"}, Do: func() tea.Cmd {
		b.use([]string{"/built/eggo-amd64.tar.gz"})
		return frame.Send(frame.Pop{})
	}}}
}

// Where there is no bundle the wizard offers to build one; the one that was built is chosen when it comes back, though
// another one fits as well by then.
func TestTheWizardBuildsABundle(t *testing.T) {
	for _, others := range []bool{false, true} {
		w := &world{files: map[string]string{}}
		svc := w.services()
		built := ""
		svc.DraftServices.(*uitest.Draft).OnBundles = func(_ context.Context, paths []string, tell func(draft.Bundle)) {
			list := slices.Clone(paths)
			if others && built != "" {
				list = append(list, "/opt/eggo-amd64.tar.gz")
			}
			for _, path := range list {
				tell(draft.Bundle{Path: path, Size: 1, Done: 1, Manifest: exampleManifest(), Verified: true})
			}
		}
		svc.Build = func(use func([]string)) frame.Page {
			return &builder{use: func(files []string) { built = files[0]; use(files) }}
		}
		p := New(context.Background(), svc)
		a := ui.New(p, ui.Options{Lang: i18n.English, Now: time.Now})
		uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 32})
		uitest.Run(t, a, a.Init())
		threeNodes(t, a)
		uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n")
		uitest.Has(t, a, "or b to build one (needs a network)")
		uitest.Keys(t, a, "b")
		uitest.Has(t, a, "building")
		uitest.Keys(t, a, "enter")
		uitest.Has(t, a, "[•] eggo-amd64.tar.gz", "verified")
		if got := p.g.Draft.Value("package-src.x86src"); got != built || got == "" {
			t.Errorf("%q is chosen, %q was built", got, built)
		}
	}
}
