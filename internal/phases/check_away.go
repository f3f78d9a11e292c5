package phases

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// judgeAway is the finding of a machine that could not be looked at. Others leave a cluster without it if it does
// nothing but run workloads; one that would have to learn who is left must be there, or leave too. A run that is
// limited to other machines does without it likewise.
func (r *run) judgeAway(n config.Node) event.Finding {
	why := r.Failure(n.Name, n.Name)
	outside := len(r.Limit) > 0 && !slices.Contains(r.Limit, n.Name)
	switch {
	case len(r.Removing) == 0 && !outside, why.Fault.Class == event.ClassLocked, why.Fault.Class == event.ClassAuth:
		return why
	case outside && !r.Skip(n.Name):
		return why
	case outside:
		return finding(event.Warning, n.Name, "limit-without", "cause", event.Clean(why.Fault.Error()))
	case r.Skip(n.Name):
		return finding(event.Warning, n.Name, "leave-without", "cause", event.Clean(why.Fault.Error()), "cluster",
			r.Cluster.Name)
	}
	return finding(event.Error, n.Name, "leave-needs", "cause", event.Clean(why.Fault.Error()), "cluster",
		r.Cluster.Name)
}
