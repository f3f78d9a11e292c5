package lines

import (
	"context"
	"errors"
	"io"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
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

// Services is the control host as the menu uses it: what every front end has, and the drafts.
type Services interface {
	backend.Services
	// Path returns a path of this host, as it was typed, as an absolute path.
	Path(typed string) string
	// Usual returns the deploy.yaml that is offered as the default; "" if it does not exist.
	Usual() string
	// Draft returns the services of the draft of a new cluster.
	Draft() backend.DraftServices
	// Joining returns the draft of a cluster, for machines that join it, and its services.
	Joining(c request.ClusterRuns) (config.Draft, backend.DraftServices, error)
}

// runner opens runs and continues them.
type runner interface {
	Open(ctx context.Context, r request.Ref, replay float64) (backend.Board, error)
	Launch(ctx context.Context, s backend.Start, to ask.Asker) (request.Ref, error)
}

// Menu shows what can be done and does it, until the person leaves.
func Menu(ctx context.Context, t Terminal, svc Services, builds backend.Builds) error {
	m := &menu{svc: svc, builds: builds, conversation: newConversation(t)}
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
func Watch(ctx context.Context, t Terminal, svc runner, ref request.Ref, replay float64) error {
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
