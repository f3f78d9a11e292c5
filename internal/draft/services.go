package draft

import (
	"context"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/machines"
)

// Services are what editing a draft needs of the machine that it runs on; main hands them in. They take their time.
// One that is nil is not there, and what needs it is not shown.
type Services struct {
	// Load gives what was kept, if something was. Where machines join a cluster, what is kept is of that cluster.
	Load func() (Saved, bool)
	Save func(Saved) error
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
	Probe func(ctx context.Context, d config.Draft, m config.Machine, tell func(Probe))
	// Lookup finds the addresses of a host name.
	Lookup machines.Lookup
	// KnownHosts compares unknown host keys with a known_hosts file.
	KnownHosts func(path string, keys []backend.HostKey) ([]backend.KeyCheck, error)
	// Bundles finds bundles in the usual places and where the paths lead, and tells each at first as found and then
	// as it is verified.
	Bundles func(ctx context.Context, paths []string, tell func(Bundle))
	// Preflight inspects everything as the verb does.
	Preflight func(ctx context.Context, d config.Draft, file string, tell func(Check))
	// Plan is what deploy would do, machine by machine.
	Plan func(ctx context.Context, d config.Draft, file string) ([]Planned, error)
	// Past are earlier installs from this machine, newest first: what is known of how long one takes.
	Past func(ctx context.Context) []Past
	// Write puts the deploy.yaml in its place, whole or not at all, 0600, with comments in the language of the
	// person, and keeps what was there. Where machines join a cluster it writes what the run needs to know of them
	// instead: the cluster's own file is the run's to change.
	Write func(path string, d config.Draft, p *i18n.Printer) error
	// Start is the run that installs what was written to the file, or lets the new machines join.
	Start func(file string, d config.Draft) backend.Start
}

// Saved is what is kept of a draft that was left: offered again when one is begun.
type Saved struct {
	Draft config.Draft `json:"draft"`
	Step  string       `json:"step"`
	File  string       `json:"file"`
	When  time.Time    `json:"when"`
	// Typed is what stands in fields and is no part of the draft yet, by the field.
	Typed map[string]string `json:"typed,omitempty"`
}

// Stage is how far a probe of a machine is.
type Stage string

// The stages. Asking waits for the word of the person on a host key; Failed and Seen are ends.
const (
	Reaching   Stage = "reaching"
	LogIn      Stage = "login"
	Inspecting Stage = "looking"
	Asking     Stage = "asking"
	Failed     Stage = "failed"
	Seen       Stage = "seen"
)

// Probe is what is known of a machine by now.
type Probe struct {
	Machine  config.Machine
	Stage    Stage
	Fault    *event.Fault // of Failed
	Key      *KeyQuestion // of Asking
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

// Errors is how many things preflight would refuse a machine for, as far as it was inspected.
func (p *Probe) Errors() int {
	if p == nil {
		return 0
	}
	n := 0
	if p.Stage == Failed {
		n++
	}
	for _, f := range p.Findings {
		if f.Severity == event.Error {
			n++
		}
	}
	return n
}

// KeyQuestion is about an unknown host key: that of the machine, or of a bastion on the way to it.
type KeyQuestion struct {
	Node, Addr, Type, Fingerprint string
	Serves                        int // of a bastion: how many machines are reached through it; else 0
	Answer                        func(trust bool)
}

// HostKey is the key that is asked about. A bastion has no name but its address.
func (p *Probe) HostKey() backend.HostKey {
	k := backend.HostKey{Node: p.Machine.Name, Addr: p.Key.Addr, Type: p.Key.Type, Fingerprint: p.Key.Fingerprint,
		Serves: p.Key.Serves}
	if k.Serves > 0 {
		k.Node = p.Key.Node
	}
	return k
}

// The words for probes that fail, in the order in which they are counted.
const (
	Unreachable = "wizard.look.failed"
	AuthFailed  = "wizard.look.refused"
	NoPassword  = "wizard.look.password"
	NoKey       = "wizard.look.no-key"
	KeyRefused  = "wizard.look.key-refused"
	NoSudo      = "wizard.look.no-sudo"
)

// FailedWord is the word for a probe that failed, by how far it came: that is what has to be fixed.
func FailedWord(f *event.Fault) string {
	switch {
	case f == nil:
	case f.Code == "usage.secret":
		return NoPassword
	case f.Code == "ssh.key-missing":
		return NoKey
	case strings.HasPrefix(f.Code, "ssh.hostkey"):
		return KeyRefused
	case strings.HasPrefix(f.Code, "ssh.sudo"):
		return NoSudo
	case f.Class == event.ClassAuth:
		return AuthFailed
	}
	return Unreachable
}

// Bundle is one on this machine.
type Bundle struct {
	Path     string
	Size     int64
	Manifest *bundle.Manifest // nil when it cannot be read
	Fault    *event.Fault
	Done     int64 // bytes that are verified; Verified when all are
	Verified bool
	Signed   event.Msg // who signed it, or that nobody did
}

// Check is news of preflight: a machine that is inspected, a finding, or the end.
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

// Past is an install that ended well.
type Past struct {
	Cluster string
	Nodes   int
	At      time.Time
	Took    time.Duration
}
