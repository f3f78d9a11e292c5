package phases

import (
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/hooks"
	"github.com/eggo-k8s/eggo/internal/phases/remove"
	"github.com/eggo-k8s/eggo/internal/phases/status"
)

// What callers need of the packages beneath.
type (
	Env     = env.Env
	Bundle  = env.Bundle
	Hook    = env.Hook
	Kept    = env.Kept
	Facts   = facts.Facts
	Leaving = remove.Leaving

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
	KeptPKI        = env.KeptPKI
	KeptAdminConf  = env.KeptAdminConf
	KeptKnownHosts = env.KeptKnownHosts
	KeptConfig     = env.KeptConfig
	KeptRestore    = env.KeptRestore
	KeptSnapshots  = env.KeptSnapshots
)
