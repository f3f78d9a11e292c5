// Package request is what can be asked of an operation, and those results that name no phase: values, which go
// through a pipe as JSON. The screens and the line interface may import it, so it imports no more than config,
// bundle and event.
package request

import (
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Verb is what a run does. Runs are named by it, in logs too: a verb never changes.
type Verb string

// The verbs.
const (
	VerbDeploy   Verb = "deploy"
	VerbJoin     Verb = "join"
	VerbDelete   Verb = "delete"
	VerbCleanup  Verb = "cleanup"
	VerbRenew    Verb = "renew"
	VerbSnapshot Verb = "etcd-snapshot"
	VerbRestore  Verb = "etcd-restore"
	VerbUpgrade  Verb = "upgrade"
	VerbBack     Verb = "upgrade-back"
	VerbBackup   Verb = "backup"
)

// DrainTimeout is how long the eviction of a node's pods may take, unless somebody says otherwise.
const DrainTimeout = 5 * time.Minute

// Request is one of Deploy, Join, Delete, Cleanup, Renew, Snapshot, Restore, Upgrade, Back, Backup and Import.
type Request interface {
	Verb() Verb
	// Base is what all requests have.
	Base() Common
	// Validate refuses what no deploy.yaml can make right.
	Validate() error
	// Call is the request as a message advises it; which deploy.yaml it is for is not in it.
	Call() event.Call
	sealed()
}

// Source says which deploy.yaml is taken: that of a cluster, a file, or a text that becomes the file.
type Source struct {
	Cluster string `json:"cluster,omitempty"`
	File    string `json:"file,omitempty"` // absolute
	Text    []byte `json:"text,omitempty"`
	// Parsed is Text as a cluster, with the secrets that were typed: it stays in this process.
	Parsed *config.Cluster `json:"-"`
}

// OnFailure says what becomes of a step that failed for good.
type OnFailure struct {
	Do      event.Decision
	Retries int  // of TryAgain
	Ask     bool // somebody is asked about every such step
	// Undo ends the run, and reverts what it did on the nodes that were new to it.
	Undo bool
}

// ParseOnFailure reads what --on-failure takes: ask, abort, skip, undo, retry=N, or nothing.
func ParseOnFailure(s string) (OnFailure, error) {
	switch s {
	case "ask":
		return OnFailure{Ask: true}, nil
	case "undo":
		return OnFailure{Undo: true}, nil
	case "", "abort", "skip":
		return OnFailure{Do: event.Decision(s)}, nil
	}
	if n, ok := strings.CutPrefix(s, "retry="); ok {
		if n, err := strconv.Atoi(n); err == nil && n > 0 && n <= 100 {
			return OnFailure{Do: event.TryAgain, Retries: n}, nil
		}
	}
	return OnFailure{}, event.NewFault(event.ClassUsage, "usage.on-failure", nil, "value", s)
}

// String is what ParseOnFailure reads.
func (o OnFailure) String() string {
	switch {
	case o.Ask:
		return "ask"
	case o.Undo:
		return "undo"
	case o.Do == event.TryAgain:
		return "retry=" + strconv.Itoa(o.Retries)
	}
	return string(o.Do)
}

// MarshalText implements encoding.TextMarshaler.
func (o OnFailure) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *OnFailure) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOnFailure(string(text))
	return err
}

// Trust says which bundles may be installed.
type Trust struct {
	Signers       string `json:"signers,omitempty"` // an allowed_signers file in place of the control host's
	AllowUnsigned bool   `json:"allow_unsigned,omitempty"`
}

// Hooks are scripts, each PATH[,ROLE] as it was typed: what refuses one quotes it.
type Hooks struct {
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
	// OfNodes: they belong to the nodes that join or are removed, not to the cluster.
	OfNodes bool `json:"of_nodes,omitempty"`
}

// Common is what all requests have.
type Common struct {
	Source    Source    `json:"source"`
	Limit     []string  `json:"limit,omitempty"` // nodes and role:ROLE that the run keeps to; none: all
	OnFailure OnFailure `json:"on_failure,omitzero"`
	HostKeys  string    `json:"host_keys,omitempty"` // ask, strict, accept-new; "": as deploy.yaml says, else ask
	Trust     Trust     `json:"trust,omitzero"`
	Hooks     Hooks     `json:"hooks,omitzero"`
	// Accepted are the host keys of nodes that somebody has compared already, by host:port, as in a .pub file. They
	// are added to the known ones when the node shows one of them.
	Accepted map[string][]string `json:"accepted,omitempty"`
	// TakeOver is the number of the last run on the nodes, when another copy of the cluster's files, or another owner,
	// has begun it and this one is to continue in its place; 0: such a run is refused.
	TakeOver uint64 `json:"take_over,omitempty"`
}

// OfCluster is of a cluster's own deploy.yaml, and says nothing else.
func OfCluster(name string) Common { return Common{Source: Source{Cluster: name}} }

// OfFile is of a deploy.yaml, and says nothing else.
func OfFile(path string) Common { return Common{Source: Source{File: path}} }

// Base implements Request.
func (c Common) Base() Common { return c }

// Validate implements Request.
func (c Common) Validate() error { return nil }

func (c Common) sealed() {}

// ChangeDrain is how long the eviction of a node's pods may take when its container runtime is changed.
const ChangeDrain = 10 * time.Minute

// Deploy makes the nodes what deploy.yaml says. What it has of its own is of nodes whose container runtime changes.
type Deploy struct {
	Common
	Drain time.Duration `json:"drain_ns,omitempty"` // 0: ChangeDrain
	Force bool          `json:"force,omitempty"`
	Batch string        `json:"batch,omitempty"` // workers at a time: 3 or 10%; "": one
}

// Join is a deploy of the cluster's own deploy.yaml with nodes more.
type Join struct {
	Common
	Nodes []config.Node `json:"nodes"`          // what is not said of one is zero
	List  string        `json:"list,omitempty"` // the file that they were read from, if they were
	// Logins are those that were said of nodes, by address. One that is not the cluster's becomes the node's own.
	Logins map[string]Login `json:"logins,omitempty"`
	// Settings are labels and taints of nodes, by address.
	Settings map[string]config.NodeSettings `json:"settings,omitempty"`
}

// Login is how a node is logged in to; what is not said is the cluster's. It holds no secret.
type Login struct {
	User string `json:"user,omitempty"`
	Key  string `json:"key,omitempty"` // a private key's file, absolute
}

// Delete removes nodes from the cluster.
type Delete struct {
	Common
	Names []string      `json:"names"` // or addresses
	Drain time.Duration `json:"drain_ns"`
	Force bool          `json:"force,omitempty"`
	Purge bool          `json:"purge,omitempty"`
}

// Cleanup removes the cluster from its nodes.
type Cleanup struct {
	Common
	Nodes []string `json:"nodes,omitempty"` // these alone, by name or address; not with Limit
	Purge bool     `json:"purge,omitempty"`
}

// Renew reissues the certificates of the nodes.
type Renew struct{ Common }

// Snapshot takes a snapshot of etcd.
type Snapshot struct {
	Common
	Out string `json:"out,omitempty"` // absolute; "": in the cluster's directory
}

// Restore makes etcd what it was when the snapshot was taken.
type Restore struct {
	Common
	Snapshot string `json:"snapshot"` // absolute
}

// Kubeconfig asks for the administrator's kubeconfig. It begins no run.
type Kubeconfig struct {
	Cluster string // "": the one that the store has
}

// Upgrade brings the cluster to the version of other bundles, or over several versions to the newest of them.
type Upgrade struct {
	Common
	// Bundles are files, absolute: for each version one for each architecture. None: those of the upgrade under way.
	Bundles []string      `json:"bundles,omitempty"`
	Drain   time.Duration `json:"drain_ns"`
	Force   bool          `json:"force,omitempty"`
	Batch   string        `json:"batch,omitempty"` // workers at a time: 3 or 10%; "": one
	Soak    time.Duration `json:"soak_ns,omitempty"`
	Probe   string        `json:"probe,omitempty"`  // a shell command on the control host; see OfControlHost
	Window  string        `json:"window,omitempty"` // 22:00-06:00
	// Packages has packages upgraded that the bundles have in a newer version.
	Packages bool `json:"packages,omitempty"`
	// Said are the options that whoever asks has named: they replace those of the run that is continued, also when
	// their value is the usual one. A value that is not the usual one counts without being in it.
	Said []Option `json:"said,omitempty"`
}

// Option of an upgrade, by the name of its flag.
type Option string

// The options of an upgrade that a run which continues it takes over.
const (
	OptionDrain    Option = "drain-timeout"
	OptionSoak     Option = "soak"
	OptionBatch    Option = "batch"
	OptionProbe    Option = "probe"
	OptionWindow   Option = "window"
	OptionPackages Option = "packages"
)

// Back reverts the upgrade under way.
type Back struct {
	Common
	Drain time.Duration `json:"drain_ns,omitempty"` // bounds the eviction of a node's pods; 0: as long as usual
	Force bool          `json:"force,omitempty"`
	Batch string        `json:"batch,omitempty"` // workers at a time: 3 or 10%; "": one
}

// Verb implements Request.
func (Deploy) Verb() Verb { return VerbDeploy }

// Verb implements Request.
func (Join) Verb() Verb { return VerbJoin }

// Verb implements Request.
func (Delete) Verb() Verb { return VerbDelete }

// Verb implements Request.
func (Cleanup) Verb() Verb { return VerbCleanup }

// Verb implements Request.
func (Renew) Verb() Verb { return VerbRenew }

// Verb implements Request.
func (Snapshot) Verb() Verb { return VerbSnapshot }

// Verb implements Request.
func (Restore) Verb() Verb { return VerbRestore }

// Verb implements Request.
func (Upgrade) Verb() Verb { return VerbUpgrade }

// Verb implements Request.
func (Back) Verb() Verb { return VerbBack }

// Validate implements Request.
func (j Join) Validate() error {
	if len(j.Nodes) == 0 {
		return event.NewFault(event.ClassUsage, "join.nobody", nil)
	}
	return nil
}

// Validate implements Request.
func (d Deploy) Validate() error {
	if d.Drain < 0 {
		return event.NewFault(event.ClassUsage, "delete.drain-timeout", nil, "value", d.Drain.String())
	}
	_, err := Workers(d.Batch, 1)
	return err
}

// Validate implements Request.
func (d Delete) Validate() error {
	if len(d.Names) == 0 {
		return event.NewFault(event.ClassUsage, "delete.nobody", nil)
	}
	if d.Drain <= 0 {
		return event.NewFault(event.ClassUsage, "delete.drain-timeout", nil, "value", d.Drain.String())
	}
	return nil
}

// Ref names a run.
type Ref struct{ Cluster, Run string }

// Answers is what was asked before a run, which has nobody to ask. It holds secrets: it goes through a pipe, and
// into no log and no argument.
type Answers struct {
	Secrets   map[string]string `json:"secrets,omitempty"`    // by the ID of their question
	HostKeys  string            `json:"host_keys,omitempty"`  // in place of the request's: what could be asked was
	OnFailure *OnFailure        `json:"on_failure,omitempty"` // in place of the request's
}

// With gives the request with something else in common.
func With(q Request, c Common) Request {
	switch q := q.(type) {
	case Deploy:
		q.Common = c
		return q
	case Join:
		q.Common = c
		return q
	case Delete:
		q.Common = c
		return q
	case Cleanup:
		q.Common = c
		return q
	case Renew:
		return Renew{c}
	case Snapshot:
		q.Common = c
		return q
	case Restore:
		q.Common = c
		return q
	case Upgrade:
		q.Common = c
		return q
	case Back:
		q.Common = c
		return q
	case Backup:
		q.Common = c
		return q
	case Import:
		q.Common = c
		return q
	}
	return Deploy{Common: c}
}
