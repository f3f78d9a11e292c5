package phases

import (
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// judgeCleanup refuses a node of another cluster, one where another run is at work, and one that does not let us in;
// one that is gone does not stop the cleanup of the others.
func (r *run) judgeCleanup() error {
	all := r.judgeForgotten()
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		switch {
		case f == nil:
			if why := r.Failure(n.Name, n.Name); why.Fault.Class == event.ClassLocked ||
				why.Fault.Class == event.ClassAuth {
				all = append(all, why)
				continue
			}
			all = append(all, finding(event.Warning, n.Name, "gone"))
		case f.Cluster != "" && f.Cluster != r.Cluster.Name:
			all = append(all, finding(event.Error, n.Name, "other-cluster", "cluster", f.Cluster))
		default:
			all = append(all, judgeRecord(n, node.Beyond(f.RecordFormat, f.RecordKinds))...)
		}
	}
	return r.tell(all)
}
