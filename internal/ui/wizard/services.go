// Package wizard is the wizard on the screen. It draws the session of internal/config/guide, which has the steps, the
// fields and all decisions, and turns keys into its methods. What takes time or connects to something is a function of
// Services, which main passes in.
package wizard

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// Services are those of the draft, with what only a screen needs. They are called in commands, never from Update.
type Services struct {
	backend.DraftServices
	// Known is KnownHosts of the DraftServices; nil: keys are not compared with a file.
	Known ask.KnownHosts
	// Run is the page that installs what was written, or lets the new machines join.
	Run func(file string, d config.Draft) frame.Page
	// Build is the page that builds bundles and has use take them; nil: there is none.
	Build func(use func(files []string)) frame.Page
	// Beat is how often what is waited for moves on the screen; nil: it does not.
	Beat func() time.Duration
	// After sends the message when the time is over; nil is the clock's own.
	After func(d time.Duration, m tea.Msg) tea.Cmd
}

// news are what a service that tells has told since.
type news struct {
	list []tea.Msg
	more tea.Cmd
}

// tells runs a service that tells. What it tells comes in batches, so that a hundred machines do not draw a hundred
// screens.
func tells(ctx context.Context, work func(tell func(tea.Msg))) tea.Cmd {
	ch := make(chan tea.Msg, 256)
	var listen tea.Cmd
	listen = func() tea.Msg {
		m, ok := <-ch
		if !ok {
			return nil
		}
		n := news{list: []tea.Msg{m}, more: listen}
		for len(n.list) < 256 {
			select {
			case m, ok := <-ch:
				if !ok {
					n.more = nil
					return n
				}
				n.list = append(n.list, m)
				continue
			default:
			}
			break
		}
		return n
	}
	return func() tea.Msg {
		go func() {
			defer close(ch)
			work(func(m tea.Msg) {
				select {
				case ch <- m:
				case <-ctx.Done():
				}
			})
		}()
		return listen()
	}
}
