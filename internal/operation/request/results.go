package request

import (
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The names of the fields in JSON are those of --output json and do not change.

// Status of a cluster, from its last run, and of a run.
const (
	Running = "running"
	// Waiting is running, and a step that failed waits for a decision: only in words, see Run.Said.
	Waiting     = "waiting"
	Installed   = "installed"
	Failed      = "failed"
	Interrupted = "interrupted"
	Removed     = "removed"
	Moved       = "moved" // it was handed over
	Unknown     = "unknown"
)

// PlannedNode is what would be done on a node; the node "" is the control host, the API server and etcd.
type PlannedNode struct {
	Type    string          `json:"type"` // node
	Node    string          `json:"node"`
	Address string          `json:"address,omitempty"`
	Roles   []string        `json:"roles,omitempty"`
	Upload  int64           `json:"upload_bytes"`
	Changes []PlannedChange `json:"changes"`
}

// PlannedChange is one of them: the description of what is changed, or the step's title where what exactly shows only
// when it is done.
type PlannedChange struct {
	Step  string    `json:"step"`
	Desc  event.Msg `json:"desc"`
	Exact bool      `json:"exact"`
}

// ClusterInfo is a cluster that a control host knows of.
type ClusterInfo struct {
	Type    string    `json:"type"` // cluster
	Name    string    `json:"name"`
	Masters int       `json:"masters"`
	Workers int       `json:"workers"`
	Status  string    `json:"status"`              // running, installed, failed, interrupted, removed, moved, unknown
	Waits   []Wait    `json:"waits_for,omitempty"` // decisions that the run waits for, the oldest first
	LastRun string    `json:"last_run,omitempty"`
	Verb    string    `json:"verb,omitempty"`
	At      time.Time `json:"at,omitzero"`       // when the last run began
	Version string    `json:"version,omitempty"` // of the program that did the last run
	// Kubernetes is the version of the bundles that deploy.yaml names; "" when none of them can be read.
	Kubernetes string `json:"kubernetes,omitempty"`
	File       string `json:"file,omitempty"`
	// Moved is where the cluster was handed over to; "": it is here.
	Moved string `json:"moved,omitempty"`
	// Upgrade is the upgrade under way, nil if there is none.
	Upgrade *Upgrading `json:"upgrade,omitempty"`
	// Fault is why nothing can be said of it: it is of a newer program.
	Fault *event.Fault `json:"fault,omitempty"`
}

// ClusterRuns is a cluster with its runs.
type ClusterRuns struct {
	ClusterInfo
	Nodes []config.Node // of its own deploy.yaml
	Runs  []Run         // newest first
	// Tried is the deploy.yaml of the last run of a cluster that has none of its own: the file that the run was begun
	// with, else its copy.
	Tried string
}

// Broken reports whether the newest run did not end well and can be continued.
func (c ClusterRuns) Broken() bool {
	stopped := c.Status == Interrupted || c.Status == Failed
	if !stopped || c.File == "" && c.Tried == "" || len(c.Runs) == 0 {
		return false
	}
	v := Verb(c.Runs[0].Verb)
	return v == VerbDeploy || v == VerbJoin || c.Leaves()
}

// Leaves reports whether the newest run removed machines or all of the cluster. It does not record which machines, so
// what is left is shown and confirmed again.
func (c ClusterRuns) Leaves() bool {
	if c.File == "" || len(c.Runs) == 0 {
		return false
	}
	v := Verb(c.Runs[0].Verb)
	return v == VerbCleanup || v == VerbDelete
}

// Said returns the status in the words of Run.Said: a run that waits for a decision is Waiting.
func (c ClusterRuns) Said() string {
	if c.Status == Running && len(c.Runs) > 0 && c.Runs[0].Said() == Waiting {
		return Waiting
	}
	return c.Status
}

// Upgrading is an upgrade that was begun and has neither come to its end nor been reverted.
type Upgrading struct {
	From   string `json:"from"`   // version that the cluster had before the hop under way
	To     string `json:"to"`     // that of the hop
	Target string `json:"target"` // the last one of the upgrade
	// Soak is since when the control plane has run as the old minor, for its soak.
	Soak time.Time `json:"soak,omitzero"`
	// Committed: there is no way back but the snapshot, and if OneWay not even that.
	Committed bool `json:"committed,omitempty"`
	OneWay    bool `json:"one_way,omitempty"`
	// Snapshot is the file that etcd can be restored from; "": there is none.
	Snapshot string `json:"-"`
}

// Under reports whether an upgrade is in progress; nil is none.
func (u *Upgrading) Under() bool { return u != nil }

// OnSays says what continuing the upgrade does.
func (u *Upgrading) OnSays() []event.Msg {
	out := []event.Msg{event.M("upgrade.on.what", "from", u.From, "to", u.Target)}
	switch {
	case u.OneWay, u.Committed && u.Snapshot == "":
		return append(out, event.M("upgrade.on.one-way", "from", u.From))
	case u.Committed:
		return append(out, event.M("upgrade.on.committed", "from", u.From, "file", u.Snapshot))
	}
	return append(out, event.M("upgrade.on.back"))
}

// BackSays says what reverting the upgrade does.
func (u *Upgrading) BackSays() []event.Msg {
	return []event.Msg{event.M("upgrade.undo.what", "from", u.From), event.M("upgrade.undo.data")}
}

// Wait is a step of a run that goes on: it failed, and the run waits for a decision about it.
type Wait struct {
	Step  string       `json:"step"`
	Node  string       `json:"node"` // "" is the control host
	Since time.Time    `json:"since"`
	Fault *event.Fault `json:"fault"`
	Title event.Msg    `json:"-"`
}

// Run is a run of a cluster.
type Run struct {
	Ref
	Verb    string
	File    string // the deploy.yaml that it was begun with; "" if nobody knows
	Version string
	Status  string // as of a cluster
	At      time.Time
	Took    time.Duration
	Outcome event.Outcome // "" of one without an end
	Exit    int
	Fault   *event.Fault
	Waits   []Wait // of one that goes on, the oldest first
}

// Said is the status in words for users.
func (r Run) Said() string {
	if r.Status == Running && len(r.Waits) > 0 {
		return Waiting
	}
	return r.Status
}
