package plan

import (
	"fmt"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The phases, named as the design's flow charts.
const (
	PhasePreflight = "preflight"
	PhaseInfra     = "infrastructure"
	PhaseEtcd      = "etcd"
	PhaseControl   = "control-plane"
	PhaseBalancer  = "loadbalance"
	PhaseBootstrap = "bootstrap"
	PhaseAddons    = "addons"
	PhaseCheck     = "check"
	PhaseClean     = "clean"
	PhaseImport    = "import"
	PhaseUndo      = "undo" // what a run that failed reverts
)

// ID of a step on a node, or of a local one when node is "".
func ID(phase, what, node string) string {
	if node == "" {
		return phase + "." + what
	}
	return fmt.Sprintf("%s.%s/%s", phase, what, node)
}

// IDs of the same step on several nodes.
func IDs(phase, what string, nodes []config.Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, ID(phase, what, n.Name))
	}
	return out
}

// StepIDs are the IDs of steps.
func StepIDs(steps []*engine.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.ID)
	}
	return out
}

// Step is one of a phase without work yet; its title is that of its ID.
func Step(phase, what, host string, needs []string) *engine.Step {
	args := []string{}
	if host != "" {
		args = append(args, "node", host)
	}
	return &engine.Step{ID: ID(phase, what, host), Phase: phase, Host: host,
		Title: event.M("step."+phase+"."+what, args...), Needs: needs}
}

// LaneBulk is the lane of transfers: they run beside a node's other steps.
const LaneBulk = "bulk"

// The names of the limits; main gives their sizes.
const (
	LimitUploads = "uploads"
	LimitLoads   = "image-loads"
)

// Checked is the step that ends preflight, as what waits for it needs it.
func Checked() []string { return []string{ID(PhasePreflight, "verdict", "")} }

// The phases of a leave beside those of a deploy.
const (
	PhaseDrain = "drain"
	PhaseLeave = "leave"
)

// The groups of programs are sent one after the other, so that etcd starts while the kubelet is on its way.
const (
	GroupEtcd    = "etcd"
	GroupControl = "control-plane"
	GroupNode    = "node"
)

// Groups of a node, in the order of sending.
func Groups(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, GroupEtcd)
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, GroupControl)
	}
	return append(out, GroupNode)
}

// GroupOf says who on the node waits for a program: the roles that need it, by the manifest.
func GroupOf(n config.Node, m bundle.Member) string {
	switch {
	case slices.Contains(m.Roles, bundle.Worker):
		return GroupNode
	case n.Has(bundle.Etcd) && slices.Contains(m.Roles, bundle.Etcd):
		return GroupEtcd
	case n.Has(bundle.ControlPlane) && slices.Contains(m.Roles, bundle.ControlPlane):
		return GroupControl
	}
	return GroupNode
}

// Programs is the step that a service's start needs.
func Programs(n config.Node, group string) string { return ID(PhaseInfra, "programs-"+group, n.Name) }

// PhaseRestore has the steps of a restore.
const PhaseRestore = "restore"

// PhaseSnapshot has the steps of a snapshot.
const PhaseSnapshot = "snapshot"

// The phases of an upgrade beside those of a deploy and of a snapshot.
const (
	PhaseSoak   = "soak"   // the new control plane runs as the old minor
	PhaseCommit = "commit" // it stops to
	PhaseNodes  = "nodes"  // the kubelets and what they need
)
