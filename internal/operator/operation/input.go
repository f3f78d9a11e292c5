package operation

import (
	"cmp"
	"path"
	"time"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Options returns what the requests of a Cluster have in common: the policies of its spec.
func Options(c *eggov1.Cluster, args *eggov1.OperationArgs) request.Common {
	out := request.OfCluster(c.Name)
	out.HostKeys = "strict"
	switch c.Spec.OnFailure {
	case eggov1.OnFailureSkip:
		out.OnFailure.Do = event.LeaveOut
	case eggov1.OnFailureAsk:
		out.OnFailure.Ask = true
	case eggov1.OnFailureAbort, "":
		out.OnFailure.Do = event.Abort
	}
	if args != nil {
		out.TakeOver = uint64(max(args.TakeOver, 0))
	}
	return out
}

// Drain returns how long the eviction of a node's pods may take, and whether the run continues after that.
func Drain(c *eggov1.Cluster, args *eggov1.OperationArgs) (limit time.Duration, force bool) {
	limit = request.DrainTimeout
	if d := c.Spec.Drain; d != nil {
		force = d.Force
		if d.Timeout != nil && d.Timeout.Duration > 0 {
			limit = d.Timeout.Duration
		}
	}
	return limit, force || args != nil && args.Force
}

// usualBackups is how many backups are kept unless spec.backup.keep has another number.
const usualBackups = 7

// Request returns the request of an Operation that a person has made: it is about the cluster as its state describes
// it. The faults are operator.verb and operator.no-claim.
func Request(o *eggov1.Operation, c *eggov1.Cluster) (request.Request, error) {
	args := cmp.Or(o.Spec.Args, &eggov1.OperationArgs{})
	common := Options(c, args)
	drain, force := Drain(c, args)
	claim := func(has bool, field string) error {
		if has {
			return nil
		}
		return event.NewFault(event.ClassUsage, "operator.no-claim", nil, "cluster", c.Name, "verb",
			string(o.Spec.Verb), "field", field)
	}
	switch o.Spec.Verb {
	case eggov1.VerbDeploy, eggov1.VerbPlan, eggov1.VerbPreflight:
		return request.Deploy{Common: common, Drain: drain, Force: force}, nil
	case eggov1.VerbDelete:
		return request.Delete{Common: common, Names: args.Nodes, Drain: drain, Force: force, Purge: args.Purge}, nil
	case eggov1.VerbRenew:
		return request.Renew{Common: common}, nil
	case eggov1.VerbSnapshot:
		return request.Snapshot{Common: common}, claim(c.Spec.SnapshotClaim != "", "spec.snapshotClaim")
	case eggov1.VerbRestore:
		return request.Restore{Common: common, Snapshot: path.Join(pod.SnapshotsDir, path.Base(args.Snapshot))},
			claim(c.Spec.SnapshotClaim != "", "spec.snapshotClaim")
	case eggov1.VerbUpgradeBack:
		return request.Back{Common: common, Drain: drain, Force: force},
			claim(c.Spec.SnapshotClaim != "", "spec.snapshotClaim")
	case eggov1.VerbCleanup:
		return request.Cleanup{Common: common, Nodes: args.Nodes, Purge: args.Purge}, nil
	case eggov1.VerbBackup:
		b := cmp.Or(c.Spec.Backup, &eggov1.BackupPolicy{})
		return request.Backup{Common: common, Dir: pod.BackupsDir, Keep: int(cmp.Or(b.Keep, usualBackups)),
			Recipients: b.Recipients, By: request.Schedule}, claim(b.Claim != "", "spec.backup")
	case eggov1.VerbJoin, eggov1.VerbUpgrade: // they follow from the spec of the Cluster
	}
	return nil, event.NewFault(event.ClassUsage, "operator.verb", nil, "verb", string(o.Spec.Verb))
}
