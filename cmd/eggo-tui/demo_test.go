package main

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// viewer watches the demo, whose clock a test moves.
type viewer struct {
	app  *ui.App
	page *runview.Page
	now  time.Time
}

func watchDemo(t *testing.T) *viewer {
	t.Helper()
	v := &viewer{now: time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return v.now }
	board, err := demoBoard(demoSpeed, clock)
	if err != nil {
		t.Fatal(err)
	}
	v.page = runview.New(board).Still()
	v.app = ui.New(v.page, ui.Options{Lang: i18n.English, Now: clock})
	v.run(func() tea.Msg { return tea.WindowSizeMsg{Width: 120, Height: 40} })
	v.run(v.app.Init())
	return v
}

// run does a command and all that comes of it, but for what a terminal does.
func (v *viewer) run(c tea.Cmd) {
	if c == nil {
		return
	}
	switch m := c().(type) {
	case nil, tea.RawMsg:
	case tea.BatchMsg:
		for _, c := range m {
			v.run(c)
		}
	default:
		_, next := v.app.Update(m)
		v.run(next)
	}
}

// passes lets time go by, a tenth of a second after the other.
func (v *viewer) passes(d time.Duration) {
	for end := v.now.Add(d); v.now.Before(end); {
		v.now = v.now.Add(100 * time.Millisecond)
		v.run(v.page.Look())
		v.app.View()
	}
}

func (v *viewer) press(key string) {
	_, c := v.app.Update(uitest.Press(key))
	v.run(c)
}

// The demo is a story: a disk fills up, the panel says so and waits for as long as it takes; what the demo cannot do it
// says; r retries, and the cluster becomes ready.
func TestTheViewerRetriesInTheDemo(t *testing.T) {
	t.Parallel()
	v := watchDemo(t)
	v.passes(time.Minute)
	question := []string{"worker-2: action required", "space left on device", "The disk is full", "Suggested fix",
		"r retry", "the disk has been freed"}
	uitest.Has(t, v.app, question...)
	at := v.page.State().Seq
	v.now = v.now.Add(time.Hour)
	v.passes(time.Second)
	uitest.Has(t, v.app, question...)
	if got := v.page.State().Seq; got != at || v.page.Over() {
		t.Fatalf("it went on from record %d to %d with nobody there", at, got)
	}
	for _, key := range []string{"s", "e", "x", "a"} {
		v.press(key)
		uitest.Has(t, v.app, "worker-2: action required", "Not available in the demo")
	}
	v.press("r")
	v.passes(time.Second)
	uitest.Lacks(t, v.app, "action required")
	v.passes(time.Minute)
	uitest.Has(t, v.app, "Cluster demo is ready", "This was a recording")
}

// A viewer who has closed the panel is told what the recording waits for; r opens the panel again, as d does, and only
// there it decides.
func TestTheDemoSaysThatItWaits(t *testing.T) {
	t.Parallel()
	v := watchDemo(t)
	v.passes(time.Minute)
	uitest.Has(t, v.app, "In a real run the other nodes continue; the recording waits for r.")
	for _, key := range []string{"r", "d"} {
		v.press("esc")
		v.passes(time.Second)
		uitest.Has(t, v.app, "The recording waits for your decision: press d.")
		uitest.Lacks(t, v.app, "speed")
		still := uitest.Screen(v.app)
		v.passes(time.Second)
		if now := uitest.Screen(v.app); now != still {
			t.Errorf("something moves while the recording waits:\n%s", now)
		}
		v.press(key)
		v.passes(time.Second)
		uitest.Has(t, v.app, "worker-2: action required", "Press r to retry")
	}
	v.press("r")
	v.passes(time.Second)
	uitest.Lacks(t, v.app, "action required", "The recording waits")
}
