package backend

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DraftServices are the functions of the control host that editing a draft calls; main passes them in. They may block.
// A page hides the features whose function is nil.
type DraftServices struct {
	// Load gives what was kept, if something was. Where machines join a cluster, what is kept is of that cluster.
	Load func() (draft.Saved, bool)
	Save func(draft.Saved) error
	// Forget takes it away: it has become a deploy.yaml.
	Forget func() error
	// Path is a path of this machine as it was typed, absolute.
	Path func(typed string) string
	// Read gives a file's text; nil without an error when it is not there.
	Read func(path string) ([]byte, error)
	// File is where the deploy.yaml of a cluster goes when nothing else is said.
	File func(cluster string) string
	// Keys are the private keys of the person, which are offered when none is named.
	Keys func() []string
	// KeyFile says what is wrong with the file of a private key; nil when nothing is.
	KeyFile func(path string) *event.Fault
	// Probe inspects a machine and tells how far it is, the last time with an end.
	Probe func(ctx context.Context, d config.Draft, m config.Machine, tell func(draft.Probe))
	// Lookup finds the addresses of a host name.
	Lookup machines.Lookup
	// KnownHosts compares unknown host keys with a known_hosts file.
	KnownHosts func(path string, keys []ask.HostKey) ([]ask.KeyCheck, error)
	// Bundles finds bundles in the usual places and where the paths lead, and tells each at first as found and then
	// as it is verified.
	Bundles func(ctx context.Context, paths []string, tell func(draft.Bundle))
	// Preflight inspects everything as the verb does.
	Preflight func(ctx context.Context, d config.Draft, file string, tell func(draft.Check))
	// Plan is what deploy would do, machine by machine.
	Plan func(ctx context.Context, d config.Draft, file string) ([]draft.Planned, error)
	// Past are earlier installs from this machine, newest first: what is known of how long one takes.
	Past func(ctx context.Context) []draft.Past
	// Write puts the deploy.yaml in its place, whole or not at all, 0600, with comments in the language of the
	// person, and keeps what was there. Where machines join a cluster it writes what the run needs to know of them
	// instead: the cluster's own file is the run's to change.
	Write func(path string, d config.Draft, p *i18n.Printer) error
	// Start is the run that installs what was written to the file, or lets the new machines join.
	Start func(file string, d config.Draft) Start
}

// KeyOf returns the host key that a probe asks about. A bastion has no name but its address.
func KeyOf(p *draft.Probe) ask.HostKey {
	k := ask.HostKey{Node: p.Machine.Name, Addr: p.Key.Addr, Type: p.Key.Type, Fingerprint: p.Key.Fingerprint,
		Serves: p.Key.Serves}
	if k.Serves > 0 {
		k.Node = p.Key.Node
	}
	return k
}
