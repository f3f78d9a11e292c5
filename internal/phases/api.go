package phases

import (
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/payload/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/remove"
	"github.com/eggo-k8s/eggo/internal/phases/remove/cleanup"
	"github.com/eggo-k8s/eggo/internal/phases/status"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// What callers need of the packages beneath.
type (
	Env     = input.Env
	Bundle  = input.Bundle
	Hook    = input.Hook
	Kept    = input.Kept
	Facts   = facts.Facts
	Leaving = remove.Leaving
	Memory  = cleanup.Memory

	Status          = status.Status
	NodeStatus      = status.Node
	EtcdStatus      = status.Member
	Inventory       = status.Inventory
	NodeCertificate = status.NodeCertificate
)

// The types of hooks that a command line names.
const (
	ClusterPreHook  = hooks.ClusterPreHook
	ClusterPostHook = hooks.ClusterPostHook
	PreHook         = hooks.PreHook
	PostHook        = hooks.PostHook
)

// The parts of a cluster's files that Env.Persist is asked for.
const (
	KeptPKI        = input.KeptPKI
	KeptAdminConf  = input.KeptAdminConf
	KeptKnownHosts = input.KeptKnownHosts
	KeptConfig     = input.KeptConfig
	KeptRestore    = input.KeptRestore
	KeptUpgrade    = input.KeptUpgrade
	KeptOwner      = input.KeptOwner
	KeptFormer     = input.KeptFormer
	KeptDNS        = input.KeptDNS
	KeptSnapshots  = input.KeptSnapshots
)

// Remember keeps what the jump host has of a cluster's authorities, certificates and kubeconfig in its directory.
func Remember(stateDir string) (*Memory, error) { return cleanup.Remember(stateDir) }

// Quiet keeps the Kubernetes libraries from writing to stderr.
func Quiet() { clients.Quiet() }

// DryRun makes a plan that inspects everything and changes nothing: preflight runs as it is, then every step is
// asked whether its work is done, and the changes of one that says no are announced and not made. What comes after a
// change that was not made cannot always be told: such a step counts as changed, with what it announced until then.
// Nothing is tried twice, proved or undone.
//
// It writes to env.StateDir, so that has to be a copy that is thrown away.
func DryRun(env Env, planned func(Env) *engine.Plan) *engine.Plan {
	env.Dry = true
	return planned(env)
}
