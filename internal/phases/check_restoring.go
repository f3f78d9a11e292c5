package phases

import (
	"context"
	"errors"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
)

// judgeRestoring refuses what is not the restore while one is half done: some members would start with the new data and
// others with the old. Before the first member was touched, and when all have their new data, there is nothing in the
// way.
func (r *run) judgeRestoring(ctx context.Context) []event.Finding {
	begun, err := etcd.ReadBegun(r.StateDir)
	if err != nil {
		return []event.Finding{{Severity: event.Error, Fault: *event.AsFault(err)}}
	}
	if begun.Token == "" {
		return nil
	}
	places := begun.Places(r.driver.Paths().EtcdData)
	members, touched, whole := r.Cluster.With(bundle.Etcd), 0, 0
	for _, n := range members {
		nd := r.Node(n.Name)
		if nd == nil {
			continue // told already
		}
		begun, err := places.Touched(ctx, nd)
		done, err2 := places.Exchanged(ctx, nd)
		if err = errors.Join(err, err2); err != nil {
			return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *event.AsFault(err)}}
		}
		if begun {
			touched++
		}
		if done {
			whole++
		}
	}
	if touched == 0 || whole == len(members) {
		return nil
	}
	return []event.Finding{finding(event.Error, "", "restore-half", "cluster", r.Cluster.Name, "done",
		strconv.Itoa(whole), "members", strconv.Itoa(len(members)))}
}
