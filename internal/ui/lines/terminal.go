package lines

import (
	"context"
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Terminal is the line at whose other end a person is. What is nil is not there.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer // of programs that get the terminal for a while
	Printer *i18n.Printer
	// ASCII: signs beyond it that our sentences have are written with it.
	ASCII bool
	// Hush takes the echo of what is typed away, until back is called.
	Hush func() (back func(), err error)
	// Interrupts gives a channel that the next interrupt closes, until end is called.
	Interrupts func() (stop <-chan struct{}, end func())
	// Turned takes the printer of the language that the person has turned to.
	Turned func(*i18n.Printer)
	// Reported says whether the person has been told of an error already.
	Reported func(error) bool
}

// Services are what main hands in besides: what every front end has, and the drafts.
type Services struct {
	backend.Services
	// Path is a path of this machine as it was typed, absolute.
	Path func(typed string) string
	// Usual is the deploy.yaml that is offered where one is asked for; "": it is not there.
	Usual func() string
	// Draft are the services of the draft of a new cluster.
	Draft func() backend.DraftServices
	// Joining is the draft of a cluster that is there, for machines that join it, and its services.
	Joining func(c backend.Cluster) (config.Draft, backend.DraftServices, error)
}

// Menu shows what can be done and does it, until the person leaves.
func Menu(ctx context.Context, t Terminal, svc Services) error {
	m := &menu{svc: svc, conversation: newConversation(t)}
	m.say("plain.welcome")
	for {
		err := m.interruptible(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF), errors.Is(err, errQuit):
			return nil
		case err != nil && !errors.Is(err, errLeft):
			m.fault(err)
		}
	}
}

// Watch tells of a run until it has ended or the person leaves; replay above 0 plays it again at that speed.
func Watch(ctx context.Context, t Terminal, svc backend.Services, ref backend.Ref, replay float64) error {
	return stayed(watch(ctx, svc, newConversation(t), ref, replay))
}

// Play tells of a run that is on no list of this machine, after notes about it.
func Play(ctx context.Context, t Terminal, b backend.Board, notes ...string) error {
	p := newConversation(t)
	p.print(notes...)
	return stayed(newRunView(p, b).follow(ctx))
}

// stayed is an error but that the person has left.
func stayed(err error) error {
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}
