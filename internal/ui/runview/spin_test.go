package runview

import (
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/theme"
)

// spun is a page that has read these records, and what it gets.
func spun(list uitest.Log, moves bool) (*Page, *frame.Env) {
	p := New(backend.Board{Feed: &backend.Live{From: &list, Over: true}}).Still()
	e := &frame.Env{P: i18n.NewPrinter(i18n.English), Theme: theme.New(theme.Options{}),
		Now: func() time.Time { return start.Add(time.Minute) }, Moves: func() bool { return moves }}
	return p, e
}

// What runs moves at most ten times a second, and only where something may move: not on a slow terminal, not where
// nobody wants it, not when the run is over.
func TestWhatRunsMoves(t *testing.T) {
	if beat < time.Second/10 {
		t.Errorf("%s between two frames", beat)
	}
	all := uitest.Records(1)
	frames := func(moves bool, some uitest.Log) map[string]bool {
		p, e := spun(nil, moves)
		p.news(newsMsg{list: some}, e)
		seen := map[string]bool{}
		for range 20 {
			p.Update(tickMsg{}, e)
			lines, _ := p.Render(e, 80, 24)
			seen[strings.Join(lines, "\n")] = true
		}
		return seen
	}
	if n := len(frames(true, all[:10])); n != 10 {
		t.Errorf("%d frames, want the ten of the spinner", n)
	}
	if n := len(frames(false, all[:10])); n != 1 {
		t.Errorf("%d frames though nothing may move", n)
	}
	if n := len(frames(true, all)); n != 1 {
		t.Errorf("%d frames when the run is over", n)
	}
}

// The screen is made of the log alone: who has watched the run, who came when it was over and who plays it again see
// the same.
func TestWhoComesLaterSeesTheSame(t *testing.T) {
	all := uitest.Records(4)
	all = all[:len(all)-1] // in the middle of the last step: RunEnded shows the summary to who was there
	watched, e := spun(nil, true)
	for i, r := range all {
		watched.news(newsMsg{list: []event.Record{r}}, e)
		if i%7 == 0 {
			watched.Update(tickMsg{}, e)
			watched.Render(e, 120, 40)
		}
	}
	came, e2 := spun(nil, false)
	came.news(newsMsg{list: all}, e2)
	watched.over, came.over = true, true
	one, _ := watched.Render(e, 120, 40)
	two, _ := came.Render(e2, 120, 40)
	if got, want := strings.Join(one, "\n"), strings.Join(two, "\n"); got != want {
		t.Errorf("who watched sees\n%s\nwho came later\n%s", got, want)
	}
}
