package phases

import (
	"context"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// judgeRestore refuses what would end in half a restore: every member of etcd and every control plane must be there and
// ours.
func (r *run) judgeRestore(ctx context.Context, snap *SnapshotFile) error {
	var all []event.Finding
	for _, n := range r.Cluster.Nodes {
		f, taking := r.Fact(n.Name), n.Has(bundle.Etcd) || n.Has(bundle.ControlPlane)
		switch {
		case f == nil && taking:
			all = append(all, r.Failure(n.Name, n.Name))
		case f == nil:
			all = append(all, finding(event.Warning, n.Name, "restore-without"))
		case f.Cluster != r.Cluster.Name:
			all = append(all, finding(event.Error, n.Name, "restore-not-deployed", "cluster", r.Cluster.Name))
		default:
			all = append(all, r.judgeAuthority(n, f, false)...)
			more, err := r.judgeMember(ctx, n, f, snap)
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
	}
	// A member that the file no longer names would go on with the old data, and its API server with it: two clusters of
	// one name.
	all = append(all, r.judgeLost()...)
	if err := r.OpenPKI(ctx); err != nil {
		f := event.AsFault(err)
		all = append(all, event.Finding{Severity: event.Error, Fault: *f})
	} else if snap.Foreign(r.PKI().CA.Cert) {
		all = append(all, finding(event.Error, "", "snapshot-foreign", "path", snap.Path, "cluster", r.Cluster.Name))
	}
	return r.tell(all)
}

func (r *run) judgeMember(ctx context.Context, n config.Node, f *facts.Facts, snap *SnapshotFile) ([]event.Finding,
	error) {
	if !n.Has(bundle.Etcd) {
		return nil, nil
	}
	var out []event.Finding
	if has, err := r.Node(n.Name).Query(ctx, "[ ! -x "+node.Quote(r.ProgramPath(n, "etcdutl"))+
		" ] || echo yes"); err != nil {
		return nil, err
	} else if strings.TrimSpace(has) == "" {
		out = append(out, finding(event.Error, n.Name, "restore-no-etcdutl"))
	}
	// The file, the new data with a first log of 64 MiB, and room to work in.
	if need := 2*snap.Size + 256<<20; f.Free["/var/lib/etcd"].Bytes < need {
		out = append(out, finding(event.Error, n.Name, "restore-space", "need", strconv.FormatInt(need>>20, 10), "free",
			strconv.FormatInt(f.Free["/var/lib/etcd"].Bytes>>20, 10)))
	}
	return out, nil
}
