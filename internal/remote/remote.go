package remote

import (
	"context"
	"net"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Target is a node and how to log in there.
type Target struct {
	Name string // in deploy.yaml
	Addr string // address or host name; IPv6 without brackets
	Port int    // 0 means 22
	User string // "" means root; root needs no sudo

	Password     string // for SSH; "" if there is none
	SudoPassword string // "" means Password
	Keys         []string
	// Passphrase is asked for an encrypted key file, before the connection is opened. nil: such a key is a fault.
	Passphrase func(ctx context.Context, file string) (string, error)
	Agent      AgentUse
	Serves     int // of a bastion: how many machines are reached through it
}

// AgentUse says for what the agent at SSH_AUTH_SOCK is used.
type AgentUse int

// The uses of the agent.
const (
	NoAgent     AgentUse = iota
	AgentHolds           // for the private half of Keys: such a key may be public or encrypted
	AgentOffers          // its other keys are offered, too
)

// Policy says what happens with the key of a host that known_hosts does not have. A key that differs from the known one
// is always refused.
type Policy string

// The policies.
const (
	Ask       Policy = "ask"
	Strict    Policy = "strict"
	AcceptNew Policy = "accept-new"
)

// HostKeyQuestion is what a person decides on under the policy Ask.
type HostKeyQuestion struct {
	Node        string
	Addr        string // host:port
	Type        string // ssh-ed25519, …
	Fingerprint string // SHA256:…
	Serves      int    // Target.Serves
}

// Options of a way. Only KnownHosts has no default.
type Options struct {
	HostKeys   Policy // "" means Strict
	KnownHosts string // file that keys are added to; made 0600 when the first key is added
	// AlsoKnown are files that are only read. The first is the one that advice about host keys names: what is added to
	// KnownHosts is then temporary, or a draft's.
	AlsoKnown []string
	Ask       func(ctx context.Context, q HostKeyQuestion) (bool, error)
	// Accepted are host keys that somebody has compared already, by host:port, as in a .pub file. One that is not in
	// KnownHosts yet is added to it, whatever HostKeys says; one that the file contradicts is refused.
	Accepted map[string][]string
	// Added is called when a key was added to KnownHosts, before the connection is used; nil does nothing. After an
	// error, which ends the connection, the next connection calls it again.
	Added func(ctx context.Context) error

	// Emit gets Output, Notice, Waiting, Progress and HostState events. It may block. nil: nobody listens.
	Emit func(event.Event)
	// Step names the step that a context belongs to, for these events.
	Step func(context.Context) string

	// LegacyAlgorithms allows SHA-1, for nodes that can do nothing else.
	LegacyAlgorithms bool
	// Shared is what the ways of one run have in common; nil means that this one is alone.
	Shared *Shared

	Timeouts Timeouts
	// Via is the bastion that the connection goes through; nil means none.
	Via *Bastion
	// Dialer opens the TCP connection if Via does not; nil means a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// LockFile on the node; "" means /run/eggo.lock.
	LockFile string
	// Now is for tests: only the time between two of its readings counts, never the time of day.
	Now func() time.Time
	// Chunk is the least that is sent of an upload between two signs of life, in bytes; 0 means 1 MiB.
	Chunk int
}

// Timeouts are the clocks; a zero means the default in brackets.
type Timeouts struct {
	Connect   time.Duration // TCP connection (10 s)
	Handshake time.Duration // from there to the end of authentication (15 s)
	Start     time.Duration // of the privileged session, ~/.bashrc and sudo included (30 s)
	Keepalive time.Duration // between two probes of an idle connection (5 s)
	Misses    int           // unanswered intervals after which the connection is lost (3)
	User      time.Duration // TCP_USER_TIMEOUT (20 s)
	Progress  time.Duration // a transfer may stand still (60 s)
	Lease     time.Duration // the node ends its work when it hears nothing (30 s, whole seconds)
	Kill      time.Duration // between TERM and KILL for a cancelled command (3 s)
	Reconnect time.Duration // tries in all to reach a node again whose connection was lost (2 min)
	Probe     time.Duration // between two questions what a command waits for (15 s)
	Answer    time.Duration // the helper is lost when nothing came from it for so long after a question (a minute)
}

func (o *Options) fill() {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	t := &o.Timeouts
	def(&t.Connect, 10*time.Second)
	def(&t.Handshake, 15*time.Second)
	def(&t.Start, 30*time.Second)
	def(&t.Keepalive, 5*time.Second)
	def(&t.User, 20*time.Second)
	def(&t.Progress, time.Minute)
	def(&t.Lease, 30*time.Second)
	def(&t.Kill, 3*time.Second)
	def(&t.Reconnect, 2*time.Minute)
	def(&t.Probe, 15*time.Second)
	def(&t.Answer, max(time.Minute, 2*t.Lease))
	if t.Misses <= 0 {
		t.Misses = 3
	}
	if o.Shared == nil {
		o.Shared = NewShared(Limits{})
	}
	if o.HostKeys == "" {
		o.HostKeys = Strict
	}
	if o.Emit == nil {
		o.Emit = func(event.Event) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Step == nil {
		o.Step = func(context.Context) string { return "" }
	}
	if o.LockFile == "" {
		o.LockFile = "/run/eggo.lock"
	}
	if o.Chunk <= 0 {
		o.Chunk = 1 << 20
	}
	if o.Via != nil {
		o.Dialer = o.Via.Dial
	} else if o.Dialer == nil {
		o.Dialer = (&net.Dialer{}).DialContext
	}
}
