package runview_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
)

var _ = flag.Bool("update", false, "write the goldens")

// The screens of a run as a person meets them, footer and all: a machine's log, a search in it, the question when one
// leaves, the panel, what is seen where there is no room.
func TestScreens(t *testing.T) {
	for name, keys := range map[string][]string{"log": {"esc", "o", "t", "up", "up"}, "timeline": {"esc", "enter"},
		"search": {"esc", "o", "/", "c", "o", "n", "f", "enter"}, "leaving": {"esc", "q"}, "panel": {},
		"filter": {"esc", "/", "n", "2"}, "help": {"esc", "?"}} {
		for _, shape := range uitest.Shapes() {
			file := name + "-" + shape.String()
			t.Run(file, func(t *testing.T) {
				s := begin(t, func(_ *stand, o *backend.Board) { o.NodeLog = installing })
				s.app = ui.New(s.page, ui.Options{Lang: shape.Lang, ASCII: shape.ASCII, Now: s.app.Env().Now})
				s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: shape.W, Height: shape.H} })
				s.happens(asks("n2", 1))
				for _, k := range keys {
					s.keys(k)
					uitest.Screen(s.app)
				}
				uitest.Fills(t, s.app, shape.W, shape.H)
				uitest.Golden(t, s.app, file)
				if text := uitest.Screen(s.app); shape.ASCII && strings.ContainsAny(text, "─│╭●▌✔✘…↑↓“”×→·•") {
					t.Errorf("a character that is not ASCII is drawn:\n%s", text)
				}
			})
		}
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		s := begin(t, nil)
		s.app = ui.New(s.page, ui.Options{Lang: lang, Now: s.app.Env().Now})
		s.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 40, Height: 10} })
		uitest.Fills(t, s.app, 40, 10)
		uitest.Golden(t, s.app, "small-40x10-"+string(lang))
	}
}

// installing is what a machine prints, and what a hostile one does.
func installing(string) (backend.NodeLog, error) {
	var b strings.Builder
	at := func(sec int, stream, text string) {
		fmt.Fprintf(&b, "2026-11-21T02:%02d:%02d.%03dZ infrastructure.packages/n1 %s| %s\n", sec/60, sec%60,
			sec*37%1000, stream, text)
	}
	for i := range 40 {
		at(i, "stdout", fmt.Sprintf("Preparing to unpack .../%02d-containerd_1.6.20~ds1-1+deb12u3_amd64.deb ...", i))
	}
	at(41, "stdout", "正在解压 containerd (1.6.20~ds1-1+deb12u3) …")
	at(42, "stdout", "\x1b[31m\x1b[2Jshalom \u202eשלום\u200b e\u0301\u0301\u0301\u0301 end")
	at(43, "stderr",
		"W: could not read /etc/apt/apt.conf.d/99conf, which is of no matter to what comes, but it takes a long "+
			"sentence to say so, and a screen is not that wide")
	at(44, "stderr", "dpkg: error processing archive /var/lib/eggo-node/repo/containerd.deb (--unpack):")
	at(45, "stdout", "Setting up kmod (30+20221128-1) ...")
	return backend.LogText(b.String()), nil
}
