package phases

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/etcd"
)

// judgeQuorum counts the members of etcd that stay and answer against the quorum of the cluster without those that go.
func (r *run) judgeQuorum(ctx context.Context) []event.Finding {
	if !slices.ContainsFunc(r.Removing, func(n config.Node) bool { return n.Has(bundle.Etcd) }) {
		return nil
	}
	list, err := r.etcd.List(ctx)
	if err != nil {
		return []event.Finding{finding(event.Error, "", "leave-no-quorum", "cause",
			event.Clean(event.AsFault(err).Cause))}
	}
	size, well, going := 0, 0, 0
	var names []string
	for _, m := range list {
		if _, goes := etcd.NodeOf(m, r.Removing); goes {
			going++
			continue
		}
		if m.IsLearner {
			continue
		}
		size++
		if len(m.ClientURLs) > 0 && r.ReadThrough(ctx, m.ClientURLs[0]) == nil {
			well++
			names = append(names, event.Clean(m.Name))
		}
	}
	if quorum := size/2 + 1; well < quorum {
		return []event.Finding{finding(event.Error, "", "leave-quorum", "well", strconv.Itoa(well), "size",
			strconv.Itoa(size), "quorum", strconv.Itoa(quorum), "names", strings.Join(names, ", "))}
	}
	if size%2 == 0 && going > 0 {
		return []event.Finding{finding(event.Warning, "", "leave-even", "size", strconv.Itoa(size))}
	}
	return nil
}
