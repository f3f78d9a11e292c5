package draft

import (
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Saved is a draft that was left, with all that is kept of it: it is offered again when a new one begins.
type Saved struct {
	Draft config.Draft `json:"draft"`
	Step  string       `json:"step"`
	File  string       `json:"file"`
	When  time.Time    `json:"when"`
	// Typed has the texts of fields that are no part of the draft yet, by the field.
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

// Probe is the current knowledge of a machine.
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

// The words for probes that fail, in the order in which they are counted.
const (
	Unreachable = "wizard.look.failed"
	AuthFailed  = "wizard.look.refused"
	NoPassword  = "wizard.look.password"
	NoKey       = "wizard.look.no-key"
	KeyRefused  = "wizard.look.key-refused"
	NoSudo      = "wizard.look.no-sudo"
)

// FailedWord is the word for a probe that failed, by how far it came: that has to be fixed.
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
	Signed   event.Msg // who signed it, or that it is not signed
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

// Planned is the work planned for a machine; "" is the control host, the API server and etcd.
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
