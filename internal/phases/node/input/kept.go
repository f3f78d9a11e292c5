package input

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Kept names a part of a cluster's files that must not be lost once a node depends on it.
type Kept string

// The parts.
const (
	KeptPKI        Kept = "pki"         // CAs, certificates and the bootstrap token
	KeptAdminConf  Kept = "admin.conf"  // the administrator's kubeconfig
	KeptKnownHosts Kept = "known_hosts" // the host keys that were accepted
	KeptConfig     Kept = "deploy.yaml" // the cluster's own deploy.yaml
	KeptRestore    Kept = "restore"     // how far a restore of etcd is
	KeptSnapshots  Kept = "snapshots"   // snapshots of etcd
	KeptUpgrade    Kept = "upgrade"     // the upgrade under way
	KeptFormer     Kept = "endpoint"    // load balancers and endpoints that nodes may still use
	KeptDNS        Kept = "dns"         // the kind of CoreDNS that the cluster is changed from
	KeptOwner      Kept = "owner"       // the owner of the cluster and the number of its last run
	KeptSeed       Kept = "seed"        // the snapshot that the cluster begins with
)

// Keep returns when parts of the cluster's files are where they outlive this host. It is called even if this try has
// changed nothing: an earlier one may have failed in between.
func (r *Env) Keep(ctx context.Context, parts ...Kept) error {
	if r.Persist == nil || r.Dry {
		return nil
	}
	for _, what := range parts {
		if err := r.Persist(ctx, what); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	return nil
}
