// Package wizard is the way from nothing to a deploy.yaml that can be installed: a draft, steps that fill it in, and the judgement of
// machines, bundles and preflight beside it. It holds no rule of its own about what is right: that is internal/config's word. Whatever takes
// time or touches the world is a function of Services, which main hands in.
package wizard

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// Saved is what is kept of a wizard that was left: offered again when it is opened.
type Saved struct {
	Draft config.Draft `json:"draft"`
	Step  string       `json:"step"`
	File  string       `json:"file"`
	When  time.Time    `json:"when"`
	// Typed is what stands in fields and is no part of the draft yet, by the field.
	Typed map[string]string `json:"typed,omitempty"`
}

// Services are called in commands, never from Update. One that is nil is not there, and what needs it is not shown.
type Services struct {
	// Load gives what was kept, if something was. Where machines join a cluster, what is kept is of that cluster.
	Load func() (Saved, bool)
	Save func(Saved) error
	// Forget takes it away: it has become a deploy.yaml.
	Forget func() error
	// Read gives a file's text; nil without an error when it is not there.
	Read func(path string) ([]byte, error)
	// File is where the deploy.yaml of a cluster goes when nothing else is said.
	File func(cluster string) string
	// Keys are the private keys of the person, which are offered when none is named.
	Keys func() []string
	// KeyFile says what is wrong with the file of a private key; nil when nothing is.
	KeyFile func(path string) *event.Fault
	// Probe looks at a machine and tells how far it is, the last time with an end.
	Probe func(ctx context.Context, d config.Draft, m config.Machine, tell func(Look))
	// KnownHosts compares unknown host keys with a known_hosts file.
	KnownHosts func(path string, keys []backend.HostKey) ([]backend.KeyCheck, error)
	// Bundles finds bundles in the usual places and where the paths lead, and tells each at first as found and then as it is proven.
	Bundles func(ctx context.Context, paths []string, tell func(Bundle))
	// Preflight looks at everything as the verb does.
	Preflight func(ctx context.Context, d config.Draft, file string, tell func(Check))
	// Plan is what deploy would do, machine by machine.
	Plan func(ctx context.Context, d config.Draft, file string) ([]Planned, error)
	// Write puts the deploy.yaml in its place, whole or not at all, 0600, and keeps what was there. Where machines join a cluster it writes what the
	// run needs to know of them instead: the cluster's own file is the run's to change.
	Write func(path string, d config.Draft) error
	// Run is the page that installs what was written, or lets the new machines join.
	Run func(file string, d config.Draft) frame.Page
	// Close gives back what was held for the draft.
	Close func()
	// Beat is how often what is waited for moves on the screen; nil: it does not.
	Beat func() time.Duration
	// After sends the message when the time is over; nil is the clock's own.
	After func(d time.Duration, m tea.Msg) tea.Cmd
}

// Stage is how far a look at a machine is.
type Stage string

// The stages. Asking waits for the word of the person on a host key; Failed and Seen are ends.
const (
	Reaching Stage = "reaching"
	LogIn    Stage = "login"
	Looking  Stage = "looking"
	Asking   Stage = "asking"
	Failed   Stage = "failed"
	Seen     Stage = "seen"
)

// Look is what is known of a machine by now.
type Look struct {
	Machine  config.Machine
	Stage    Stage
	Fault    *event.Fault // of Failed
	Key      *HostKey     // of Asking
	Hostname string
	OS       string // its pretty name
	OSID     string // debian, ubuntu; with those that it is like
	Codename string
	Release  string
	Arch     string
	CPUs     int
	Memory   int64 // bytes
	Disk     int64 // free bytes where images and data go
	Skew     time.Duration
	Cluster  string          // whose node it is already
	Findings []event.Finding // what preflight would say of it by itself
}

// HostKey is a key that nobody has seen before.
type HostKey struct {
	Addr, Type, Fingerprint string
	Answer                  func(trust bool)
}

// Bundle is one on this machine.
type Bundle struct {
	Path     string
	Size     int64
	Manifest *bundle.Manifest // nil when it cannot be read
	Fault    *event.Fault
	Done     int64 // bytes that are proven; Proven when all are
	Proven   bool
	Signed   event.Msg // who signed it, or that nobody did
}

// Check is news of preflight: a machine that is looked at, a finding, or the end.
type Check struct {
	Machine string // that was checked
	Linked  string // that was logged in to
	Bundle  string // whose bytes were read: Done of Total
	Done    int64
	Total   int64
	Finding *event.Finding
	Fault   *event.Fault // it could not be done
	End     bool
}

// Planned is what would be done on a machine; "" is this one, the API server and etcd.
type Planned struct {
	Node, Address string
	Roles         []string
	Upload        int64
	Changes       []PlannedChange
}

// PlannedChange is one of them; not Exact is a step of which only its doing shows what it changes.
type PlannedChange struct {
	Desc  event.Msg
	Exact bool
}

// news are what a service that tells has told since.
type news struct {
	list []tea.Msg
	more tea.Cmd
}

// tells runs a service that tells. What it tells comes in batches, so that a hundred machines do not draw a hundred screens.
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
