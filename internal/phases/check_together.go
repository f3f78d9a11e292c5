package phases

import "github.com/eggo-k8s/eggo/internal/event"

// judgeTogether compares the machines with each other.
func (r *run) judgeTogether() []event.Finding {
	var out []event.Finding
	seen := map[string]string{}
	for _, n := range r.Cluster.Nodes {
		f := r.Fact(n.Name)
		if f == nil {
			continue
		}
		id := f.MachineID
		if other, dup := seen[id]; dup && id != "" {
			out = append(out, finding(event.Warning, n.Name, "machine-id", "other", other))
		}
		seen[id] = n.Name
	}
	return out
}
