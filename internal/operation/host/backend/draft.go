package backend

import (
	"context"
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DraftServices is the control host as the editors of a draft see it. Its methods may block. host.Host makes one for a
// new cluster and one for machines that join a cluster.
type DraftServices interface {
	// Load returns what was kept, if something was. Where machines join a cluster, it is of that cluster.
	Load() (draft.Saved, bool)
	Save(s draft.Saved) error
	// Forget removes it: it has become a deploy.yaml.
	Forget() error
	// Path returns a path of this host, as it was typed, as an absolute path.
	Path(typed string) string
	// Read returns the text of a file; nil without an error if the file does not exist.
	Read(path string) ([]byte, error)
	// File returns where the deploy.yaml of a cluster is written by default.
	File(cluster string) string
	// Keys returns the private keys of the user, which are offered when none is named.
	Keys() []string
	// KeyFile returns what is wrong with the file of a private key; nil if nothing is.
	KeyFile(path string) *event.Fault
	// Probe inspects a machine and reports its progress, the last time with a result.
	Probe(ctx context.Context, d config.Draft, m config.Machine, tell func(draft.Probe))
	// Lookup finds the addresses of a host name.
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
	// KnownHosts compares unknown host keys with a known_hosts file.
	KnownHosts(path string, keys []ask.HostKey) ([]ask.KeyCheck, error)
	// Bundles finds bundles in the usual places and at the paths, and reports each when it is found and while it is
	// verified.
	Bundles(ctx context.Context, paths []string, tell func(draft.Bundle))
	// Preflight inspects everything as the verb does.
	Preflight(ctx context.Context, d config.Draft, file string, tell func(draft.Check))
	// Plan returns what deploy would do, machine by machine.
	Plan(ctx context.Context, d config.Draft, file string) ([]draft.Planned, error)
	// Past returns earlier installations from this host, newest first, which tell how long one takes.
	Past(ctx context.Context) []draft.Past
	// Write writes the deploy.yaml, whole or not at all, 0600, with comments in the language of the user, and keeps
	// what was there. Where machines join a cluster it writes instead what the run needs to know of them: the run
	// changes the cluster's own file.
	Write(path string, d config.Draft, p *i18n.Printer) error
	// Start returns the run that installs what was written to the file, or joins the new machines.
	Start(file string, d config.Draft) Start
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
