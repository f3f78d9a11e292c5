// Package backend is what the front ends know of the machine that they run on: its clusters, their runs, and what can
// be begun. The screens and the line interface are written against it, and main fills it in. It knows no terminal.
// Every function takes its time and is called in commands, never in Update.
//
// It may import event, i18n, document, run/state, operation/request and, for DraftServices, draft and what draft stands
// on.
package backend

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Services is what main hands in. A function that is nil is not there, and what needs it is shown as not possible.
type Services struct {
	// Clusters that this machine knows, by name.
	Clusters func(ctx context.Context) ([]Cluster, error)
	// Open gives the board of a run: live when it goes on, else as it ended; replay above 0 plays it again at that
	// speed.
	Open func(ctx context.Context, r Ref, replay float64) (Board, error)
	// Launch begins a run in a process of its own, which goes on when this one ends. It asks what has to be known
	// before, of ask, and returns when the run's event log is there.
	Launch func(ctx context.Context, s Start, ask Asker) (Ref, error)
	// Read inspects and changes nothing. That something is not well is no error: the answer says it. An answer beside
	// an error is what was found all the same.
	Read func(ctx context.Context, q Query, ask Asker) (Answer, error)
	// List reads a directory: its directories, and its files with one of the suffixes. dir "" is where the program
	// was started; the directory that was read comes back absolute.
	List func(ctx context.Context, dir string, suffix []string) (string, []Entry, error)
	// Check reads a deploy.yaml and says what is wrong with it.
	Check func(ctx context.Context, file string) (Checked, error)
	// Demo plays a recorded run to show the program. It needs nothing of this machine.
	Demo func(ctx context.Context) (Board, error)
	// Bundle reads the manifest of a bundle, and Verify every byte of it.
	Bundle func(ctx context.Context, path string) (Bundle, error)
	Verify func(ctx context.Context, path string, progress func(done, total int64)) error
	// Upgrades finds what a cluster can be upgraded with, in the usual places and where the paths lead. Of each bundle
	// the manifest is read; nothing is verified.
	Upgrades func(ctx context.Context, cluster string, paths []string) (Upgrades, error)
	// Way is what an upgrade of a cluster with bundles comes to, or why it cannot be.
	Way func(ctx context.Context, cluster string, bundles []string) (Way, error)
	// Builds makes bundles; nil: this program cannot.
	Builds Builds
}

// Entry of a directory.
type Entry struct {
	Name    string
	Dir     bool
	Size    int64
	Changed time.Time
}

// Checked is what a deploy.yaml says. Cluster has no name when the file cannot be read at all.
type Checked struct {
	Cluster  Cluster
	Facts    []event.Msg // its bundle, its version, its network
	Problems []Problem
	Errors   int // of the problems
}

// Problem of a deploy.yaml.
type Problem struct {
	Line, Col int
	Key       string
	Error     bool
	Fault     *event.Fault
}

// Bundle is what is told of one.
type Bundle struct {
	Name, Kubernetes, Arch, OS, ID, Base string
	Size                                 int64
	Groups                               []Group
}

// Group of members of one kind.
type Group struct {
	Kind    string // images, or as the manifest has it
	Size    int64
	Members []Member
}

// Member of a bundle, or an image in it.
type Member struct {
	Name, Version string
	Size          int64
}

// Status of a cluster, from its last run.
const (
	Running     = request.Running
	Waiting     = request.Waiting
	Installed   = request.Installed
	Failed      = request.Failed
	Interrupted = request.Interrupted
	Removed     = request.Removed
	Unknown     = request.Unknown
)

// Cluster that the machine knows of.
type Cluster struct {
	Name    string
	Status  string
	Masters int
	Workers int
	Nodes   []Node
	File    string // its own deploy.yaml; "" if it has none
	// the deploy.yaml of its last run, if it has none of its own: the run ended before anything was touched
	Tried string
	Runs  []Run // newest first
	// Upgrading is the upgrade under way, if there is one.
	Upgrading Upgrading
}

// Node of a cluster as its deploy.yaml says.
type Node struct {
	Name, Addr, Arch string
	Roles            []string
}

// What operations tell of runs, as it is.
type (
	Ref  = request.Ref
	Run  = request.Run
	Wait = request.Wait
)

// Broken says whether the newest run did not end well and can be gone on with.
func (c Cluster) Broken() bool {
	if c.Status != Interrupted && c.Status != Failed || c.File == "" && c.Tried == "" || len(c.Runs) == 0 {
		return false
	}
	v := c.Runs[0].Verb
	return v == "deploy" || v == "join" || c.Leaves()
}

// Leaves says whether the newest run took something away. It does not say of which machines, so what is left is
// shown and confirmed again.
func (c Cluster) Leaves() bool {
	return c.File != "" && len(c.Runs) > 0 && (c.Runs[0].Verb == "cleanup" || c.Runs[0].Verb == "delete")
}

// Said is the status as a person is told it.
func (c Cluster) Said() string {
	if c.Status == Running && len(c.Runs) > 0 && c.Runs[0].Said() == Waiting {
		return Waiting
	}
	return c.Status
}

// Asker asks the person at the screen. An error is the end of what was to be begun.
type Asker interface {
	// Secret asks for a password or passphrase.
	Secret(ctx context.Context, what event.Msg) (string, error)
	// HostKeys shows unknown host keys and asks which of them are right. known compares them with a known_hosts file.
	HostKeys(ctx context.Context, keys []HostKey, known KnownHosts) (trusted []bool, err error)
	// Signer shows who signed a bundle and asks whether that key is to be trusted from now on.
	Signer(ctx context.Context, s Signer) (bool, error)
	// Doing says what is waited for.
	Doing(what event.Msg)
}

// Signer of a bundle that nobody has said anything about.
type Signer struct{ Bundle, Name, Arch, Type, Fingerprint string }

// HostKey of a node that is contacted for the first time, or of a bastion.
type HostKey struct {
	Node, Addr, Type, Fingerprint string
	Serves                        int // of a bastion: how many machines are reached through it
}

// GroupKeys gives each key once, those of bastions first, then in the order of the names, and the place there of each
// key of the list. A bastion is asked about once, however many machines are behind it.
func GroupKeys(list []HostKey) (groups []HostKey, of []int) {
	type id struct{ addr, fingerprint string }
	counts := map[id]int{}
	for _, k := range list {
		x := id{k.Addr, k.Fingerprint}
		if counts[x]++; counts[x] == 1 {
			groups = append(groups, k)
		}
	}
	for i := range groups {
		if g := &groups[i]; g.Serves > 0 {
			g.Serves = max(g.Serves, counts[id{g.Addr, g.Fingerprint}])
		}
	}
	slices.SortStableFunc(groups, func(a, b HostKey) int {
		if (a.Serves > 0) != (b.Serves > 0) {
			return b.Serves - a.Serves
		}
		return byName(a.Node, b.Node)
	})
	for _, k := range list {
		of = append(of, slices.IndexFunc(groups, func(g HostKey) bool {
			return g.Addr == k.Addr && g.Fingerprint == k.Fingerprint
		}))
	}
	return groups, of
}

// SameKey is at how many addresses the key is shown that is shown at most of them; 0 when each has its own.
func SameKey(keys []HostKey) (most int) {
	addrs := map[string]map[string]bool{}
	for _, k := range keys {
		if addrs[k.Fingerprint] == nil {
			addrs[k.Fingerprint] = map[string]bool{}
		}
		addrs[k.Fingerprint][k.Addr] = true
		if n := len(addrs[k.Fingerprint]); n > 1 {
			most = max(most, n)
		}
	}
	return most
}

// KeyCheck is what a known_hosts file says of a key.
type KeyCheck string

// The checks. A key that differs from the file's cannot be trusted here.
const (
	KeyUnlisted KeyCheck = ""
	KeyVerified KeyCheck = "verified"
	KeyDiffers  KeyCheck = "differs"
)

// KnownHosts says what a known_hosts file has of keys.
type KnownHosts = func(path string, keys []HostKey) ([]KeyCheck, error)
