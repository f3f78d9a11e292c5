package wizard

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
)

// Tab completes a path, in the background, and goes to the next field where nothing is to be completed. What was typed
// meanwhile stays.
func TestTabCompletesPaths(t *testing.T) {
	wo := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	p := New(context.Background(), wo.services())
	a := ui.New(p, ui.Options{Lang: i18n.English, Complete: func(text string) (string, []string) {
		switch text {
		case "/r":
			return "/root/", []string{"root/"}
		case "/root/":
			return "/root/id_", []string{"id_ed25519", "id_rsa"}
		}
		return text, nil
	}})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 120, Height: 40})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "ctrl+n", "down")
	key := func() string { return p.g.Draft.Get("private-key-path") }
	uitest.Type(t, a, "/r")
	uitest.Keys(t, a, "tab")
	if key() != "/root/" {
		t.Fatalf("completed to %q", key())
	}
	uitest.Keys(t, a, "tab")
	if uitest.Has(t, a, "id_ed25519  id_rsa"); key() != "/root/id_" {
		t.Errorf("completed to %q", key())
	}
	uitest.Keys(t, a, "tab")
	uitest.Type(t, a, "x")
	if key() != "/root/id_" {
		t.Errorf("Tab with nothing to complete stays in the field: %q", key())
	}
	uitest.Keys(t, a, "up", "ctrl+u")
	uitest.Type(t, a, "/r")
	_, late := a.Update(uitest.Press("tab"))
	uitest.Type(t, a, "un")
	uitest.Run(t, a, late)
	if key() != "/run" {
		t.Errorf("what was typed meanwhile became %q", key())
	}
}
